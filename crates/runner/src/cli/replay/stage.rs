//! Recordings replayed one after another, each in a sandbox of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::{Attempt, Ending};
use patch::PathClasses;
use sandbox::place::{Backend, Hardening, Labels, PlaceSpec};
use sandbox::repository::Origin;
use sandbox::{Sandbox, SandboxSpec};
use tokio_util::sync::CancellationToken;

use super::report::{PatchMatch, Report};
use crate::attempt::failure::Failure;
use crate::attempt::harvest::{Harvest, harvest};
use crate::attempt::parts;
use crate::backends;
use crate::cli::error::Error;
use crate::clock::AttemptClock;
use crate::lease::Leases;
use crate::replay::{Comparison, Recorded, Recording, Watch};
use crate::repositories::Repositories;
use crate::settings::{Identity, RunSettings};
use crate::ui::Printer;
use crate::workspace::{OutputLimits, SandboxWorkspace};

/// What all replays of a command share.
pub(super) struct Stage {
    settings: RunSettings,
    backend: Arc<dyn Backend>,
    classes: Arc<PathClasses>,
    repositories: Repositories,
    pub(super) leases: Arc<Leases>,
    pub(super) cancel: CancellationToken,
}

impl Stage {
    pub(super) async fn new(settings: RunSettings, printer: &Printer) -> Result<Self, Error> {
        let backends = backends::select(&settings, &[]).await?;
        for warning in backends.warnings() {
            printer.warn(warning);
        }
        let classes = parts::path_classes(&settings.identity.paths)?;
        Ok(Self {
            classes: Arc::new(classes),
            repositories: Repositories::new(backends::root(settings.operation.scratch.as_ref()), 0),
            leases: Arc::default(),
            backend: Arc::clone(backends.of(false)),
            cancel: CancellationToken::new(),
            settings,
        })
    }

    /// Replays one recording in a sandbox of its own.
    pub(super) async fn replay(
        &self,
        recording: &Recording,
        identity: &Identity,
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
                identity,
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
        let prepared = self.repositories.get(repository, commit, None).await?;
        let spec = SandboxSpec {
            place: PlaceSpec {
                labels: Labels {
                    run: format!("replay-{}", std::process::id()),
                    instance: recording.trajectory.header.instance_id.file_name(),
                    attempt: "replay".to_owned(),
                },
                image: recorded_image(recording).or_else(|| identity.image.clone()),
                workdir: Some(recording.task.workdir.clone()),
                environment: parts::environment(secrets),
                limits: identity.sandbox_limits.clone(),
                network: identity.network.clone(),
                rights: identity.rights.alone(),
                hardening: Hardening::Full,
                hidden: Vec::new(),
            },
            repository: Origin::Host(prepared),
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
        identity: &Identity,
        sandbox: Arc<Sandbox>,
        watch: Arc<Watch>,
        cancel: CancellationToken,
    ) -> Result<Ending, Error> {
        let settings = agent::Settings {
            limits: agent::Limits {
                max_steps: None,
                max_wall_time: None,
                max_cost: None,
                max_tokens: None,
                ..identity.limits.clone()
            },
            window: agent::condense::Window::default(),
        };
        let catalog = parts::catalog(&recording.trajectory.header.tools, &settings.limits)?;
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
            checks: parts::checks(identity),
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

/// The image that it was recorded in.
fn recorded_image(recording: &Recording) -> Option<String> {
    let image = recording.trajectory.header.environment.get("image")?;
    image.as_str().map(str::to_owned)
}
