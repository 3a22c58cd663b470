//! Fakes of the ports: a model that is strict about the conversation, a workspace in memory, a log in memory.

mod model;
mod workspace;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::ports::{Clock, Observer, Recorder, Workspace};
use agent::{Attempt, Catalog, Check, Ending, Limits, Settings, ToolName};
use schema::{Elapsed, Event, FinishReason, InstanceId, Record, Reply, Task, ToolCall, Usage};
use tokio_util::sync::CancellationToken;

pub(crate) use self::model::{Conversation, StrictModel};
pub(crate) use self::workspace::MemoryWorkspace;

/// Records in memory; fails or "dies" after a number of records.
#[derive(Clone, Default)]
pub(crate) struct MemoryLog {
    pub(crate) records: Arc<Mutex<Vec<Record>>>,
    /// Records after which nothing can be written any more.
    pub(crate) fail_after: Option<usize>,
    /// Records after which nothing is kept any more and `killed` is cancelled.
    pub(crate) die_after: Option<usize>,
    pub(crate) killed: CancellationToken,
    pub(crate) error: Option<std::io::ErrorKind>,
}

impl MemoryLog {
    pub(crate) fn events(&self) -> Vec<Event> {
        let records = self.records.lock().unwrap();
        records.iter().map(|record| record.event.clone()).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.records.lock().unwrap().len()
    }

    pub(crate) fn finishes(&self) -> usize {
        let finished = |event: &&Event| matches!(event, Event::Finished { .. });
        self.events().iter().filter(finished).count()
    }
}

impl Recorder for MemoryLog {
    fn append(&mut self, record: &Record) -> std::io::Result<()> {
        let mut records = self.records.lock().unwrap();
        if self.fail_after.is_some_and(|limit| records.len() >= limit) {
            let kind = self.error.unwrap_or(std::io::ErrorKind::StorageFull);
            return Err(kind.into());
        }
        if self.die_after.is_some_and(|limit| records.len() >= limit) {
            self.killed.cancel();
            return Ok(());
        }
        assert_eq!(record.seq, records.last().map_or(0, |last| last.seq) + 1);
        // What is written must be what is read.
        let text = serde_json::to_string(record).unwrap();
        records.push(serde_json::from_str(&text).unwrap());
        if self.die_after.is_some_and(|limit| records.len() >= limit) {
            self.killed.cancel();
        }
        Ok(())
    }
}

pub(crate) struct TokioClock(tokio::time::Instant);

impl TokioClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(tokio::time::Instant::now()))
    }
}

impl Clock for TokioClock {
    fn elapsed(&self) -> Elapsed {
        Elapsed(u64::try_from(self.0.elapsed().as_millis()).unwrap())
    }
}

#[derive(Default)]
pub(crate) struct Counting {
    pub(crate) seen: AtomicUsize,
    pub(crate) panics: bool,
}

impl Observer for Counting {
    fn on_record(&self, _: &Record) {
        self.seen.fetch_add(1, Ordering::Relaxed);
        assert!(!self.panics, "an observer that panics");
    }
}

pub(crate) const WORKDIR: &str = "/repo";

/// An attempt over fakes; tests change what they care about.
pub(crate) fn attempt(
    model: &Arc<StrictModel>,
    workspace: &Arc<impl Workspace + 'static>,
    log: &MemoryLog,
) -> Attempt {
    let limits = Limits {
        command_timeout: Duration::from_secs(10),
        ..Limits::default()
    };
    Attempt {
        catalog: Arc::new(Catalog::new(&ToolName::ALL, &limits)),
        settings: Settings {
            limits,
            ..Settings::default()
        },
        model: Arc::clone(model) as _,
        workspace: Arc::clone(workspace) as _,
        recorder: Box::new(log.clone()),
        clock: TokioClock::new(),
        cancel: CancellationToken::new(),
        observer: Arc::new(Counting::default()),
        task: Task {
            id: InstanceId::new("a__b-1"),
            statement: "Mend it.".into(),
            images: vec![],
            workdir: WORKDIR.into(),
        },
        system: "system".into(),
        prompt: "prompt".into(),
        checks: vec![Check::NonEmptyPatch],
        resumed: log.records.lock().unwrap().clone(),
    }
}

/// Runs an attempt and checks what must hold for every one.
pub(crate) async fn run(attempt: Attempt, model: &StrictModel, log: &MemoryLog) -> Ending {
    let ending = agent::driver::run(attempt).await;
    assert_eq!(model.rejections(), Vec::<String>::new());
    assert_eq!(log.finishes(), 1, "{:#?}", log.events());
    let Some(Event::Finished { outcome }) = log.events().pop() else {
        panic!("something follows the end");
    };
    assert_eq!(outcome, ending.outcome);
    ending
}

/// Tokens that every reply of the fakes costs.
pub(crate) const USAGE: Usage = Usage {
    input: 100,
    cached: 10,
    cache_write: 0,
    output: 7,
    reasoning: 1,
    cost: Some(0.25),
};

pub(crate) fn text(text: &str) -> Reply {
    Reply {
        text: text.into(),
        reasoning: None,
        tool_calls: vec![],
        finish_reason: FinishReason::Stop,
        usage: USAGE,
        model: None,
        raw: None,
        retries: vec![],
        elapsed_ms: 3,
        waited_ms: 0,
    }
}

pub(crate) fn calls(calls: &[(&str, &str)]) -> Reply {
    Reply {
        tool_calls: calls
            .iter()
            .enumerate()
            .map(|(position, (name, arguments))| ToolCall {
                id: format!("call_{position}"),
                name: (*name).into(),
                arguments: (*arguments).into(),
            })
            .collect(),
        finish_reason: FinishReason::ToolCalls,
        ..text("")
    }
}

pub(crate) fn bash(command: &str) -> (&'static str, String) {
    let arguments = serde_json::json!({ "command": command }).to_string();
    ("bash", arguments)
}

/// One reply with one command.
pub(crate) fn runs(command: &str) -> Reply {
    let (name, arguments) = bash(command);
    calls(&[(name, &arguments)])
}

pub(crate) const DONE: (&str, &str) = ("task_done", "{}");

pub(crate) fn done() -> Reply {
    calls(&[DONE])
}
