//! The life of one attempt: sandbox, trajectory, driver, harvest, removal.

pub mod context;
mod drive;
pub mod failure;
pub mod harvest;
mod interpreter;
mod paper;
pub mod parts;
pub mod rerun;

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use sandbox::Sandbox;
use schema::journal::{NetworkUse, OnBase, PatchSummary, Seconds};
use schema::{AttemptKey, FailureKind, ModelFailureKind, Outcome, Usage};

use self::context::{Context, Purpose, permit};
use self::failure::{Failure, Traced};
use self::harvest::{Harvest, harvest};
use self::rerun::Rerun;
use crate::clock::AttemptClock;
use crate::dispatcher::{AttemptEnd, AttemptStatus, Cause, Phase, Reports};
use crate::engine;
use crate::error::chain;
use crate::lease::Lease;
use crate::plan::Job;
use crate::recorder::{AttemptLog, SharedLog, SharedTrajectory};
use crate::settings::ResumeMode;
use crate::store::AttemptDirectory;
use crate::workspace::SandboxWorkspace;

/// Lives the life of one attempt. Whatever happens, its files are written and its sandbox is given back.
pub async fn live(
    context: &Context,
    job: &Job,
    status: &Arc<AttemptStatus>,
    reports: &Reports,
) -> AttemptEnd {
    let directory = context.run.attempt(&job.key);
    let log = match open(context, &directory) {
        Ok(log) => log,
        Err(failure) => return AttemptEnd::bare(failure.into()),
    };
    let mut life = Life {
        context,
        job,
        status,
        reports,
        directory,
        log,
        clock: AttemptClock::start(),
        lease: None,
        trajectory: None,
        harvest: None,
        workspace: None,
        rerun: rerun(context, job),
        spent: Spent::default(),
        outages: 0,
        cause: None,
    };
    let now = context.stop.now.cancelled();
    let outcome = tokio::select! {
        biased;
        () = now => Outcome::Cancelled,
        outcome = life.work() => outcome,
    };
    life.end(outcome).await
}

fn open(context: &Context, directory: &AttemptDirectory) -> Result<SharedLog, Failure> {
    let root = directory.root();
    let parent = root.parent().unwrap_or(root);
    fs::create_dir_all(parent)
        // An attempt's files are its own: a directory that exists belongs to another.
        .and_then(|()| fs::create_dir(root))
        .map_err(|error| Failure::file("create", root, &error))?;
    let path = directory.log();
    AttemptLog::create(&path, context.redactor.clone())
        .map(SharedLog::new)
        .map_err(|error| Failure::file("create", &path, &error))
}

/// The record of the attempt that this one goes on with, where that is asked for.
fn rerun(context: &Context, job: &Job) -> Option<Arc<Rerun>> {
    if context.operation.resume != ResumeMode::Replay {
        return None;
    }
    let key = AttemptKey {
        attempt: job.unfinished?,
        ..job.key.clone()
    };
    Rerun::read(&context.run.attempt(&key).trajectory()).map(Arc::new)
}

/// What an attempt used up.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    steps: u32,
    usage: Usage,
    seconds: Seconds,
}

struct Life<'a> {
    context: &'a Context,
    job: &'a Job,
    status: &'a Arc<AttemptStatus>,
    reports: &'a Reports,
    directory: AttemptDirectory,
    log: SharedLog,
    clock: AttemptClock,
    lease: Option<Lease>,
    trajectory: Option<SharedTrajectory>,
    harvest: Option<Harvest>,
    workspace: Option<Arc<SandboxWorkspace>>,
    rerun: Option<Arc<Rerun>>,
    spent: Spent,
    /// How often the engine had gone away when the sandbox was to be started.
    outages: u64,
    /// What its failure comes from.
    cause: Option<Cause>,
}

impl Life<'_> {
    /// Everything up to the harvest.
    async fn work(&mut self) -> Outcome {
        let outcome = match self.solve().await {
            Ok(outcome) => outcome,
            Err(failure) => failure.into(),
        };
        self.status.enter(Phase::Ending);
        match self.gather(&outcome).await {
            Ok(()) => outcome,
            Err(failure) => self.without_patch(outcome, failure),
        }
    }

    /// Starts the sandbox and lets the agent work in it.
    async fn solve(&mut self) -> Result<Outcome, Failure> {
        let context = self.context;
        let entry = context.entry(self.job.row)?;
        let model = self.model()?;
        self.log.line(format!(
            "attempt {} on {}",
            self.job.key,
            context.backend(entry).capabilities().backend
        ));
        let cancel = context.stop.cancel.clone();
        let room = context.disk.pass(self.reports);
        tokio::select! {
            biased;
            () = context.stop.drain.cancelled() => return Ok(Outcome::Cancelled),
            room = room => room?,
        }
        let backend = context.backend(entry).as_ref();
        self.outages = tokio::select! {
            biased;
            () = context.stop.drain.cancelled() => return Ok(Outcome::Cancelled),
            outages = engine::up(backend) => outages,
        };
        let labels = context.labels(&self.job.key, self.label());
        let started = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(Outcome::Cancelled),
            started = context.start_sandbox(entry, labels, &context.permits.start, Purpose::Solve, self.reports) => started,
        };
        let lease = started.map_err(|Traced { failure, cause }| {
            self.cause = cause;
            failure
        })?;
        let sandbox = Arc::clone(lease.sandbox());
        self.lease = Some(lease);
        self.spent.seconds.setup = self.clock.since().as_secs_f64();
        self.announce(&sandbox).await;
        self.status.enter(Phase::Ready);
        let turn = tokio::select! {
            biased;
            () = context.stop.drain.cancelled() => return Ok(Outcome::Cancelled),
            turn = permit(&context.permits.solve) => turn?,
        };
        // The token may have been cancelled by whoever gave the permit back.
        if context.stop.drain.is_cancelled() {
            return Ok(Outcome::Cancelled);
        }
        let ending = self.drive(entry, sandbox, model).await?;
        if stops_run(&ending.outcome) {
            context.stop.drain();
        }
        drop(turn);
        self.spent.steps = ending.steps;
        self.spent.usage = ending.usage;
        self.spent.seconds.model = Duration::from_millis(ending.model_ms).as_secs_f64();
        self.spent.seconds.tool = Duration::from_millis(ending.tool_ms).as_secs_f64();
        Ok(ending.outcome)
    }

    /// Label of the sandbox: an attempt that is done again from its record gets the paths that it had.
    fn label(&self) -> String {
        self.rerun
            .as_ref()
            .and_then(|rerun| rerun.label.clone())
            .unwrap_or_else(|| self.job.key.directory_name())
    }

    fn model(&self) -> Result<Arc<dyn agent::ports::Model>, Failure> {
        let provider = self.context.provider.as_ref().ok_or_else(|| Failure {
            kind: FailureKind::Internal,
            message: "no model was opened".to_owned(),
        })?;
        let key = &self.job.key;
        provider
            .model(&key.instance_id, key.sample)
            .map_err(|error| Failure {
                kind: FailureKind::Model(ModelFailureKind::BadRequest),
                message: chain(&error),
            })
    }

    async fn announce(&self, sandbox: &Sandbox) {
        self.log.line(format!(
            "sandbox {} stands at {}, commit {}",
            sandbox.id().0,
            sandbox.workdir(),
            sandbox.start_commit()
        ));
        self.reports
            .ready(
                &self.job.key,
                sandbox.backend(),
                &sandbox.id().0,
                sandbox.start_commit(),
            )
            .await;
    }

    /// Takes the diff, where there is a sandbox to take it from.
    async fn gather(&mut self, outcome: &Outcome) -> Result<(), Failure> {
        let Some(lease) = &self.lease else {
            return Ok(());
        };
        if self.workspace.is_none() {
            // Nobody worked in it.
            self.harvest = Some(Harvest::default());
            return Ok(());
        }
        let harvest = harvest(lease.sandbox(), &self.context.classes).await?;
        self.log.line(format!(
            "{}: patch of {} bytes in {} files, {} bytes with tests",
            outcome.name(),
            harvest.model.len(),
            harvest.files,
            harvest.full.len()
        ));
        if std::str::from_utf8(&harvest.model).is_err() {
            self.reports
                .warn(format!(
                    "{}: the patch is not UTF-8: model.patch holds it as it is, predictions hold it with replacement characters",
                    self.job.key
                ))
                .await;
        }
        for omission in &harvest.omissions {
            self.log.line(format!("not in the patch: {omission}"));
        }
        self.tell_base(&harvest).await;
        self.harvest = Some(harvest);
        Ok(())
    }

    /// Says so when others, who start from the commit that the row names, could not apply the patch.
    async fn tell_base(&self, harvest: &Harvest) {
        match harvest.on_base {
            None | Some(OnBase::Start | OnBase::Other { full: true, model: true }) => {}
            Some(OnBase::Missing) => self
                .log
                .line("the repository has not got the row's base commit: whether the patch applies there is not known"),
            Some(OnBase::Other { full, model }) => {
                let which = match (full, model) {
                    (_, false) => "patch",
                    (_, true) => "full patch, tests included,",
                };
                self.reports
                    .warn(format!(
                        "{}: the {which} applies to the commit that the attempt started from and not to the row's base commit",
                        self.job.key
                    ))
                    .await;
            }
        }
    }

    /// The outcome when no diff could be had: an end of the agent's own becomes a failure, since it would look like an empty patch.
    fn without_patch(&self, outcome: Outcome, failure: Failure) -> Outcome {
        self.log
            .line(format!("no patch: {}: {}", failure.kind, failure.message));
        match outcome {
            Outcome::Completed | Outcome::Stopped { .. } => failure.into(),
            Outcome::Failed { .. } | Outcome::Cancelled => outcome,
        }
    }

    /// Writes the files, gives the sandbox back.
    async fn end(mut self, outcome: Outcome) -> AttemptEnd {
        self.status.enter(Phase::Ending);
        let outcome = match self.write(&outcome).await {
            Ok(()) => outcome,
            Err(failure) => self.without_patch(outcome, failure),
        };
        let lease = self.lease.as_ref();
        let network = lease.and_then(|lease| lease.sandbox().network_use());
        if let Some(used) = &network {
            self.log.line(network_line(used));
        }
        if self.cause.is_none()
            && let Ok(entry) = self.context.entry(self.job.row)
        {
            let backend = self.context.backend(entry).as_ref();
            self.cause = engine::outage(backend, self.outages, &outcome).await;
        }
        if let Some(lease) = self.lease.take() {
            if self.context.stop.now.is_cancelled() {
                drop(lease);
            } else {
                let failed = matches!(outcome, Outcome::Failed { .. });
                let whose = (&self.job.key, None);
                self.context
                    .give_back(lease, failed, whose, self.reports)
                    .await;
            }
        }
        let edited = self
            .workspace
            .as_ref()
            .is_some_and(|workspace| workspace.edited());
        let patch: PatchSummary = self.harvest.unwrap_or_default().summary(&outcome, edited);
        self.spent.seconds.total = self.clock.since().as_secs_f64();
        if let Outcome::Failed { reason, message } = &outcome {
            self.log.line(format!("failed: {reason}: {message}"));
        }
        self.log.line(format!(
            "{} {} after {} steps, {:.3} s",
            outcome.name(),
            outcome.reason(),
            self.spent.steps,
            self.spent.seconds.total
        ));
        self.log.flush();
        AttemptEnd {
            outcome,
            steps: self.spent.steps,
            usage: self.spent.usage,
            seconds: self.spent.seconds,
            patch,
            network,
            cause: self.cause,
        }
    }
}

/// What went out of a sandbox, for people.
fn network_line(used: &NetworkUse) -> String {
    let refused: Vec<String> = used
        .refused
        .iter()
        .map(|(host, count)| format!("{host} ({count})"))
        .collect();
    let mut line = format!(
        "network: {} connections, {} bytes sent, {} received",
        used.connections, used.sent, used.received
    );
    if !refused.is_empty() {
        line = format!("{line}; refused: {}", refused.join(", "));
    }
    if used.refused_others > 0 {
        line = format!("{line}, and {} more", used.refused_others);
    }
    line
}

fn stops_run(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed { reason, .. } if reason.handling().stops_run)
}
