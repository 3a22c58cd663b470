//! What the dispatcher has done for it, and what it hears back.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use sandbox::place::{KeptPlace, RemovedImage};
use schema::journal::{GradeSummary, NetworkUse, PatchSummary, Seconds};
use schema::{AttemptKey, FailureKind, Outcome, Usage};
use tokio::sync::mpsc;

use super::cause::Cause;
use super::live::AttemptStatus;
use crate::plan::{GradeJob, Job};
use crate::signals::Signal;

/// Does the work. Its futures may panic: the dispatcher makes an outcome of it.
pub trait Executor: Send + Sync {
    /// Lives the whole life of one attempt: when the future ends, its files are on disk and its sandbox is gone or given up to [`Executor::clean`].
    fn attempt(
        self: Arc<Self>,
        job: Job,
        status: Arc<AttemptStatus>,
        reports: Reports,
    ) -> BoxFuture<'static, AttemptEnd>;

    /// Grades one patch.
    fn grade(self: Arc<Self>, job: GradeJob, reports: Reports) -> BoxFuture<'static, GradeEnd>;

    /// A job of this row is planned; told once for each.
    fn need(&self, row: usize) {
        let _ = row;
    }

    /// A job of this row has ended.
    fn release(&self, row: usize) {
        let _ = row;
    }

    /// A job of this row starts soon: what takes long and needs no sandbox may begin.
    fn expect(&self, row: usize) {
        let _ = row;
    }

    /// Looks after what the run depends on, and reports what becomes of it, until it is dropped.
    fn watch(self: Arc<Self>, reports: Reports) -> BoxFuture<'static, ()> {
        let _ = reports;
        Box::pin(std::future::ready(()))
    }

    /// Removes what attempts that were torn down left behind, within `limit`.
    fn clean(&self, limit: Duration) -> BoxFuture<'_, ()>;
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptEnd {
    /// Its outcome.
    pub outcome: Outcome,
    /// Model replies received.
    pub steps: u32,
    /// Tokens and cost.
    pub usage: Usage,
    /// Where the time went.
    pub seconds: Seconds,
    /// What it left.
    pub patch: PatchSummary,
    /// What went out of its sandbox, where only some hosts could be reached.
    pub network: Option<NetworkUse>,
    /// What its failure comes from, where that is known.
    pub cause: Option<Cause>,
}

impl AttemptEnd {
    /// The end of an attempt that has nothing to show.
    pub fn bare(outcome: Outcome) -> Self {
        Self {
            outcome,
            steps: 0,
            usage: Usage::default(),
            seconds: Seconds::default(),
            patch: PatchSummary {
                empty_reason: Some(schema::journal::EmptyReason::Failed),
                ..PatchSummary::default()
            },
            network: None,
            cause: None,
        }
    }
}

/// How a grading ended.
#[derive(Debug, Clone, PartialEq)]
pub enum GradeEnd {
    /// With a verdict.
    Finished {
        /// The verdict.
        grade: GradeSummary,
        /// Seconds it took.
        seconds: f64,
    },
    /// Without one.
    Failed {
        /// Row of the failure table.
        kind: FailureKind,
        /// What happened.
        message: String,
        /// What it comes from, where that is known.
        cause: Option<Cause>,
    },
    /// The run was told to end.
    Cancelled,
}

/// A sandbox that is left on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The attempt that it served, or whose patch was graded in it.
    pub key: AttemptKey,
    /// Grading, where it served one.
    pub grading: Option<u32>,
    /// Name of its backend.
    pub backend: &'static str,
    /// How it is found again.
    pub place: KeptPlace,
    /// Shell text that starts shells there where the agent's started.
    pub shell_init: String,
}

/// What the dispatcher hears.
#[derive(Debug)]
pub(crate) enum Message {
    /// A sandbox stands.
    Ready {
        key: AttemptKey,
        backend: String,
        place: String,
        start_commit: String,
    },
    /// A sandbox is left on purpose.
    Kept(Kept),
    /// An attempt ended.
    Ended { job: Job, end: Box<AttemptEnd> },
    /// A grading ended.
    Graded { job: GradeJob, end: GradeEnd },
    /// An image was removed to make room.
    ImageRemoved(RemovedImage),
    /// An engine stayed away for too long.
    EngineGone { reason: String, hint: String },
    /// Something that people should know.
    Warning(String),
    /// A signal came.
    Signal(Signal),
    /// The time that running attempts have after a first signal is over.
    GraceOver,
    /// Whatever still runs is given up.
    GiveUp,
    /// The run spent what it may.
    BudgetSpent,
}

/// The way from an attempt to the dispatcher. The channel is bounded: an attempt waits, the dispatcher never does.
#[derive(Debug, Clone)]
pub struct Reports {
    pub(crate) sender: mpsc::Sender<Message>,
}

impl Reports {
    /// A sandbox stands, sealed.
    pub async fn ready(&self, key: &AttemptKey, backend: &str, place: &str, start_commit: &str) {
        self.send(Message::Ready {
            key: key.clone(),
            backend: backend.to_owned(),
            place: place.to_owned(),
            start_commit: start_commit.to_owned(),
        })
        .await;
    }

    /// A sandbox is left on purpose.
    pub async fn kept(&self, kept: Kept) {
        self.send(Message::Kept(kept)).await;
    }

    /// Something that people should know although the attempt goes on.
    pub async fn warn(&self, message: impl Into<String>) {
        self.send(Message::Warning(message.into())).await;
    }

    /// An image was removed to make room.
    pub async fn image_removed(&self, image: RemovedImage) {
        self.send(Message::ImageRemoved(image)).await;
    }

    /// An engine stayed away for too long: the run ends.
    pub async fn engine_gone(&self, reason: String, hint: String) {
        self.send(Message::EngineGone { reason, hint }).await;
    }

    /// The run spent what it may.
    pub async fn budget_spent(&self) {
        self.send(Message::BudgetSpent).await;
    }

    pub(super) async fn send(&self, message: Message) {
        // Nobody listens any more only when the run is given up.
        let _ = self.sender.send(message).await;
    }
}
