//! `runner replay`.

mod describe;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::{Attempt, Ending};
use dataset::{LoadOptions, Row};
use patch::PathClasses;
use sandbox::place::{Backend, Labels, PlaceSpec};
use sandbox::{Sandbox, SandboxSpec};
use schema::{FailureKind, Outcome};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::arguments::{Once, Replay};
use super::error::Error;
use super::resolve::{self, Solver};
use crate::attempt::context::{self, Failure};
use crate::attempt::harvest::{Harvest, harvest};
use crate::backends;
use crate::clock::AttemptClock;
use crate::exit::Exit;
use crate::layers::{Options, Table};
use crate::lease::{Leases, REMOVAL_LIMIT};
use crate::replay::{Comparison, Recorded, Recording, Watch};
use crate::repositories::Repositories;
use crate::settings::RunSettings;
use crate::signals::{Signal, Signals};
use crate::store::RunDirectory;
use crate::ui::Printer;
use crate::workspace::{OutputLimits, SandboxWorkspace};

/// How a final patch compares with the one that the run wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum PatchMatch {
    /// Byte for byte the same.
    Same,
    /// It differs.
    Differs,
    /// No patch lies beside the trajectory.
    Unknown,
    /// The replay did not come to the end.
    Unreached,
}

/// What came of replaying one file.
#[derive(Debug, Serialize)]
struct Report {
    file: PathBuf,
    instance_id: String,
    #[serde(flatten)]
    comparison: Comparison,
    patch: PatchMatch,
    /// How the replay ended where it ended before the recording did.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<Outcome>,
}

impl Report {
    fn is_same(&self) -> bool {
        self.comparison.divergence.is_none()
            && self.comparison.whole
            && self.patch != PatchMatch::Differs
    }

    /// Whether the sandbox, not the replay, is what went wrong.
    fn broke(&self) -> bool {
        matches!(
            self.ended,
            Some(Outcome::Failed {
                reason: FailureKind::EnvironmentStart
                    | FailureKind::EnvironmentLost
                    | FailureKind::EnvironmentDisk,
                ..
            })
        )
    }
}

/// Runs the command.
pub(super) fn replay(command: &Replay, negated: Table, printer: &Printer) -> Result<Exit, Error> {
    let flags = Options {
        selection: crate::layers::options::Selection {
            dataset: command.dataset.clone(),
            repos: command.repos.clone(),
            ..Default::default()
        },
        sandbox: command.sandbox.clone(),
        acting: command.acting.clone(),
        ..Options::default()
    };
    let flags = resolve::flags(&flags, negated)?;
    let resolved = super::load(&command.config, flags, printer)?;
    let options = resolved.options()?;
    let recordings = command
        .files
        .iter()
        .map(|path| Recording::read(path))
        .collect::<Result<Vec<_>, _>>()?;
    let settled = resolve::settle(
        &resolved,
        &options,
        &Once::default(),
        Solver::Named("replay"),
    )?;
    let mut settings = RunSettings {
        run_directory: PathBuf::from("replay"),
        identity: settled.identity,
        operation: settled.operation,
        secrets: settled.secrets,
    };
    settings.operation.best_effort_limits = true;
    let repositories = recordings
        .iter()
        .map(|recording| repository(command, &options, recording))
        .collect::<Result<Vec<_>, _>>()?;
    super::runtime()?.block_on(async {
        let mut signals = Signals::listen().map_err(|source| Error::Runtime { source })?;
        let stage = Stage::new(settings, printer).await?;
        let mut reports = Vec::new();
        let mut interrupted = None;
        for (recording, (path, commit)) in recordings.iter().zip(&repositories) {
            let replayed = stage.replay(recording, path, commit.as_deref());
            tokio::pin!(replayed);
            let report = tokio::select! {
                report = &mut replayed => report,
                signal = signals.next() => {
                    interrupted = signal;
                    stage.cancel.cancel();
                    replayed.await
                }
            };
            if interrupted.is_some() {
                break;
            }
            let report = report?;
            if !printer.is_json() {
                printer.data(&describe::text(&report, printer));
            }
            reports.push(report);
        }
        stage.leases.clean(REMOVAL_LIMIT).await;
        if printer.is_json() {
            let object = serde_json::json!({"replays": reports});
            printer.data(&format!("{object:#}"));
        }
        Ok(exit(&reports, interrupted))
    })
}

fn exit(reports: &[Report], interrupted: Option<Signal>) -> Exit {
    let replays = reports.iter().map(|report| match report {
        report if report.broke() => Exit::Infrastructure,
        report if report.is_same() => Exit::Success,
        _ => Exit::Gate,
    });
    let signal = match interrupted {
        Some(Signal::Interrupt) => Exit::Interrupted,
        Some(Signal::Terminate) => Exit::Terminated,
        None => Exit::Success,
    };
    replays.fold(signal, Exit::or)
}

/// The repository of a recording, and the commit that it started from.
fn repository(
    command: &Replay,
    options: &Options,
    recording: &Recording,
) -> Result<(PathBuf, Option<String>), Error> {
    let recorded = &recording.trajectory.header.start_commit;
    let recorded = (!recorded.is_empty()).then(|| recorded.clone());
    if let Some(path) = &command.repo {
        return Ok((path.clone(), recorded));
    }
    let of_run = dataset_of_run(&recording.path);
    let (dataset, repos) = match (&options.selection.dataset, of_run) {
        (Some(dataset), _) => (dataset.clone(), options.selection.repos.clone()),
        (None, Some((dataset, repos))) => (dataset, options.selection.repos.clone().or(repos)),
        (None, None) => {
            return Err(Error::usage(
                format!(
                    "nothing says which repository `{}` was recorded in",
                    recording.path.display()
                ),
                "name it with --repo, or the dataset that holds its instance with --dataset",
            ));
        }
    };
    let id = &recording.trajectory.header.instance_id;
    let selection = dataset::Selection {
        ids: vec![id.to_string()],
        ..dataset::Selection::default()
    };
    let rows: Vec<Row> =
        dataset::load_selected(&dataset, &LoadOptions::default(), &selection)?.rows;
    let Some(row) = rows.first() else {
        return Err(Error::usage(
            format!("no row for {id}"),
            "name another --dataset",
        ));
    };
    let directory = resolve::directory_of(Some(&dataset));
    let path = dataset::repository_path(row, &directory, repos.as_deref())?;
    Ok((path, row.instance.base_commit.clone().or(recorded)))
}

/// The dataset and the repositories of the run that a trajectory lies in.
fn dataset_of_run(trajectory: &Path) -> Option<(PathBuf, Option<PathBuf>)> {
    let absolute = std::path::absolute(trajectory).ok()?;
    let mut roots = absolute.ancestors().skip(1).take(4);
    let file = roots.find_map(|root| RunDirectory::new(root).read_run_file().ok().flatten())?;
    Some((file.operation.dataset?, file.operation.repositories))
}

/// What all replays of a command share.
struct Stage {
    settings: RunSettings,
    backend: Arc<dyn Backend>,
    classes: Arc<PathClasses>,
    repositories: Repositories,
    leases: Arc<Leases>,
    cancel: CancellationToken,
}

impl Stage {
    async fn new(settings: RunSettings, printer: &Printer) -> Result<Self, Error> {
        let selected = backends::select(&settings).await?;
        if let Some(warning) = &selected.warning {
            printer.warn(warning);
        }
        let classes = context::path_classes(&settings.identity.paths)?;
        Ok(Self {
            classes: Arc::new(classes),
            repositories: Repositories::new(backends::root(settings.operation.scratch.as_ref()), 0),
            leases: Arc::default(),
            backend: selected.backend,
            cancel: CancellationToken::new(),
            settings,
        })
    }

    /// Replays one recording in a sandbox of its own.
    async fn replay(
        &self,
        recording: &Recording,
        repository: &Path,
        commit: Option<&str>,
    ) -> Result<Report, Error> {
        let header = &recording.trajectory.header;
        let mut report = Report {
            file: recording.path.clone(),
            instance_id: header.instance_id.to_string(),
            comparison: Comparison::default(),
            patch: PatchMatch::Unreached,
            ended: None,
        };
        let lease = match self.start(recording, repository, commit).await {
            Ok(lease) => lease,
            Err(failure) => {
                report.ended = Some(failure.into());
                return Ok(report);
            }
        };
        let cancel = self.cancel.child_token();
        let watch = Arc::new(Watch::new(
            recording,
            lease.sandbox().workdir(),
            cancel.clone(),
        ));
        let driven = self
            .drive(
                recording,
                Arc::clone(lease.sandbox()),
                Arc::clone(&watch),
                cancel,
            )
            .await;
        report.comparison = watch.comparison();
        let outcome = driven?.outcome;
        if report.comparison.whole {
            match harvest(lease.sandbox(), &self.classes).await {
                Ok(harvest) => report.patch = compare_patch(recording, &harvest),
                Err(failure) => report.ended = Some(failure.into()),
            }
        } else if report.comparison.divergence.is_none() {
            report.ended = Some(outcome);
        }
        lease.end().await;
        Ok(report)
    }

    async fn start(
        &self,
        recording: &Recording,
        repository: &Path,
        commit: Option<&str>,
    ) -> Result<crate::lease::Lease, Failure> {
        let RunSettings {
            identity,
            operation,
            secrets,
            ..
        } = &self.settings;
        let prepared = self.repositories.get(repository, commit).await?;
        let spec = SandboxSpec {
            place: PlaceSpec {
                labels: Labels {
                    run: format!("replay-{}", std::process::id()),
                    instance: recording.trajectory.header.instance_id.file_name(),
                    attempt: "replay".to_owned(),
                },
                image: None,
                workdir: Some(recording.task.workdir.clone()),
                environment: context::environment(secrets),
                limits: identity.sandbox_limits.clone(),
                network: identity.network,
                hidden: Vec::new(),
            },
            repository: prepared,
            setup_commands: identity.setup_commands.clone(),
            setup_timeout: operation.start_timeout,
        };
        let backend = Arc::clone(&self.backend);
        let started = self.leases.start(backend, spec, operation.start_timeout);
        Ok(started.await?)
    }

    /// Lets the agent do it again, with limits out of the way: the recording says when it ends.
    async fn drive(
        &self,
        recording: &Recording,
        sandbox: Arc<Sandbox>,
        watch: Arc<Watch>,
        cancel: CancellationToken,
    ) -> Result<Ending, Error> {
        let identity = &self.settings.identity;
        let window = agent::condense::Window::default();
        let mut settings = context::machine_settings(&identity.limits, window);
        settings.limits.max_steps = None;
        settings.limits.max_wall_time = None;
        settings.limits.max_cost = None;
        settings.limits.max_tokens = None;
        let catalog = context::catalog(&recording.trajectory.header.tools, &settings.limits)?;
        let model = Recorded::new(recording, sandbox.workdir());
        let task = schema::Task {
            workdir: sandbox.workdir().to_owned(),
            ..recording.task.clone()
        };
        // Nobody reads the outputs of a replay: they go with this directory.
        let outputs = tempfile::tempdir().map_err(|source| Error::Runtime { source })?;
        let limits = OutputLimits {
            memory: identity.limits.max_observation_bytes.max(16 << 10) * 2,
            stored: self.settings.operation.max_output_bytes,
        };
        let workspace = SandboxWorkspace::new(
            sandbox,
            Arc::clone(&self.classes),
            outputs.path().to_owned(),
            limits,
        );
        let attempt = Attempt {
            settings,
            catalog: Arc::new(catalog),
            model: Arc::new(model),
            workspace: Arc::new(workspace),
            recorder: Box::new(Nowhere),
            clock: Arc::new(AttemptClock::start()),
            cancel,
            observer: watch,
            task,
            system: recording.system.clone(),
            prompt: recording.prompt.clone(),
            checks: context::checks(identity),
            resumed: Vec::new(),
        };
        Ok(agent::driver::run(attempt).await)
    }
}

/// A replay leaves no record of its own.
struct Nowhere;

impl agent::ports::Recorder for Nowhere {
    fn append(&mut self, _record: &schema::Record) -> std::io::Result<()> {
        Ok(())
    }
}

fn compare_patch(recording: &Recording, harvest: &Harvest) -> PatchMatch {
    let read = |path: Option<PathBuf>| path.and_then(|path| std::fs::read(path).ok());
    let same = match (read(recording.patch()), read(recording.model_patch())) {
        (Some(full), _) => full == harvest.full,
        // What a run publishes is the one or the other, as `--patch` said.
        (None, Some(published)) => published == harvest.model || published == harvest.full,
        (None, None) => return PatchMatch::Unknown,
    };
    if same {
        PatchMatch::Same
    } else {
        PatchMatch::Differs
    }
}
