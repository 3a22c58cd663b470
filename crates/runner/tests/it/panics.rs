//! Panics inside real attempts: a bug of ours ends the attempt that met it, and nothing else.

use std::path::Path;
use std::sync::Arc;

use agent::ports::{Fragment, Head, Model, Request, Shape};
use dataset::LoadOptions;
use futures_util::future::BoxFuture;
use model::{Choice, Provider};
use runner::batch::Batch;
use runner::dispatcher::Audience;
use runner::settings::{RunSettings, Secrets};
use runner::signals::Signals;
use runner::store::RunDirectory;
use sandbox::place::host::KeepCommand;
use schema::event::ModelFailure;
use schema::{FailureKind, InstanceId, Outcome, Reply, RunEvent, Turn};

use crate::fixture::Fixture;

/// A scripted model that panics when it is opened for one instance and when it is asked for another.
struct Buggy {
    scripted: Arc<dyn Provider>,
    when_opened: String,
    when_asked: String,
}

impl Provider for Buggy {
    fn name(&self) -> &str {
        self.scripted.name()
    }

    fn price_known(&self) -> bool {
        true
    }

    fn model(&self, instance: &InstanceId, sample: u32) -> Result<Arc<dyn Model>, model::Error> {
        assert_ne!(instance.as_str(), self.when_opened, "a bug met on opening");
        let scripted = self.scripted.model(instance, sample)?;
        if instance.as_str() == self.when_asked {
            return Ok(Arc::new(BuggyModel(scripted)));
        }
        Ok(scripted)
    }
}

struct BuggyModel(Arc<dyn Model>);

impl Model for BuggyModel {
    fn head(&self, head: &Head) -> Fragment {
        self.0.head(head)
    }

    fn turn(&self, turn: &Turn, shape: Shape) -> Fragment {
        self.0.turn(turn, shape)
    }

    fn window(&self) -> Option<u64> {
        None
    }

    fn max_output(&self) -> Option<u64> {
        None
    }

    fn query<'a>(&'a self, _request: Request) -> BoxFuture<'a, Result<Reply, ModelFailure>> {
        panic!("a bug met on asking");
    }
}

/// The settings of a run that the binary made, for another directory.
fn settings_of(run: &Path, other: &str) -> RunSettings {
    let file = RunDirectory::new(run).read_run_file().unwrap().unwrap();
    let other = run.parent().unwrap().join(other);
    let mut settings = RunSettings::new(other, file.identity, file.operation, Secrets::default());
    settings.operation.scratch = Some(run.parent().unwrap().join("scratch"));
    settings.keep = KeepCommand {
        program: env!("CARGO_BIN_EXE_runner").into(),
        ..KeepCommand::default()
    };
    settings
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bug_ends_one_attempt_and_the_batch_goes_on() {
    let fixture = Fixture::new(4);
    fixture.script(&["echo good > value.txt"]);
    assert_eq!(fixture.run(&[]).code, 0);
    let settings = settings_of(&fixture.file(""), "other");
    let rows = dataset::load(
        &fixture.place.path().join("rows.jsonl"),
        &LoadOptions::default(),
    );
    let script = fixture.place.path().join("script.jsonl");
    let (when_opened, when_asked) = (fixture.id(1), fixture.id(2));
    let open = move |_: &RunSettings| -> Result<Arc<dyn Provider>, runner::error::Error> {
        let choice = Choice::Script { path: script };
        let no_client = || -> Result<reqwest::Client, model::Error> { panic!("not needed") };
        let scripted = model::open(&choice, &model::Settings::default(), no_client).unwrap();
        Ok(Arc::new(Buggy {
            scripted,
            when_opened,
            when_asked,
        }))
    };
    let run = settings.run_directory.clone();
    let batch = Batch::open_with(settings, rows.unwrap().rows, open)
        .await
        .unwrap();
    let end = batch
        .run(Audience::default(), Signals::Never)
        .await
        .unwrap();
    assert_eq!(end.exit_code, 70);
    let outcomes: Vec<&Outcome> = end.outcomes.iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(
        (outcomes[0], outcomes[3]),
        (&Outcome::Completed, &Outcome::Completed)
    );
    for (index, said) in [(1, "on opening"), (2, "on asking")] {
        let Outcome::Failed {
            reason: FailureKind::Internal,
            message,
        } = outcomes[index]
        else {
            panic!("{:?}", outcomes[index]);
        };
        assert!(message.contains(said), "{message}");
    }
    let journal = runner::store::journal::read(&RunDirectory::new(&run)).unwrap();
    let ends = journal
        .lines
        .iter()
        .filter(|line| matches!(line.event, RunEvent::AttemptFinished { .. }));
    assert_eq!(ends.count(), 4, "a bug is not tried again");
    let predictions = std::fs::read_to_string(run.join("predictions.jsonl")).unwrap();
    assert_eq!(predictions.lines().count(), 2);
    fixture.assert_clean();
}
