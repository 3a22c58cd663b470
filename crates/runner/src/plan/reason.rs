//! Why an attempt is made.

use schema::{FailureKind, InstanceId, Outcome};

use crate::settings::RetrySelector;
use crate::store::ledger::{Attempt, End, Sample, settles};

/// Why an attempt is planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The sample has no attempt.
    New,
    /// Its last attempt never ended: its runner died.
    Unfinished,
    /// Its last attempt was cancelled.
    Cancelled,
    /// Its last attempt failed in a way that may not happen again.
    Failed,
    /// A retry selector names it.
    Selected,
}

impl Reason {
    /// One word for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Unfinished => "unfinished",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Selected => "retry",
        }
    }
}

/// Why the sample needs an attempt, `None` when it is done.
pub(super) fn reason(id: &InstanceId, sample: &Sample, retry: &[RetrySelector]) -> Option<Reason> {
    let Some((number, attempt, end)) = sample.counting() else {
        return Some(if sample.attempts.is_empty() {
            Reason::New
        } else {
            Reason::Unfinished
        });
    };
    if retry
        .iter()
        .any(|selector| selects(selector, id, attempt, end))
    {
        return Some(Reason::Selected);
    }
    if settles(&end.outcome) {
        return None;
    }
    if sample.next_attempt() > number + 1 {
        return Some(Reason::Unfinished);
    }
    match &end.outcome {
        Outcome::Cancelled => Some(Reason::Cancelled),
        Outcome::Failed { reason, .. } => may_pass(*reason).then_some(Reason::Failed),
        Outcome::Completed | Outcome::Stopped { .. } => None,
    }
}

/// Whether a later runner may have more luck: the kind is retried by itself, or whoever started the runner could mend it (a key, an account).
fn may_pass(kind: FailureKind) -> bool {
    let handling = kind.handling();
    handling.stops_run || handling.retry != schema::failure::Retry::Never
}

fn selects(selector: &RetrySelector, id: &InstanceId, attempt: &Attempt, end: &End) -> bool {
    match (selector, &end.outcome) {
        (RetrySelector::Instance(wanted), _) => wanted == id.as_str(),
        (RetrySelector::Infra, Outcome::Failed { reason, .. }) => reason.handling().infrastructure,
        (RetrySelector::Failed, Outcome::Failed { .. })
        | (RetrySelector::Stopped(None), Outcome::Stopped { .. })
        | (RetrySelector::Cancelled, Outcome::Cancelled) => true,
        (RetrySelector::Stopped(Some(wanted)), Outcome::Stopped { reason }) => wanted == reason,
        (RetrySelector::Empty, Outcome::Completed | Outcome::Stopped { .. }) => {
            end.patch.bytes == 0
        }
        (RetrySelector::Unresolved, _) => attempt.grade().is_some_and(|grade| !grade.resolved),
        (
            RetrySelector::Infra
            | RetrySelector::Failed
            | RetrySelector::Empty
            | RetrySelector::Stopped(_)
            | RetrySelector::Cancelled,
            _,
        ) => false,
    }
}
