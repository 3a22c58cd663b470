//! A run with one instance for each way to end.

use schema::grading::Profile;
use schema::journal::{EmptyReason, GradeSummary, PatchSummary, Seconds};
use schema::{AttemptKey, FailureKind, InstanceId, Outcome, RunEvent, StopReason, Usage};

use super::Repositories;
use crate::store::ledger::Ledger;

fn key(id: &str, attempt: u32) -> AttemptKey {
    AttemptKey {
        instance_id: InstanceId::new(id),
        sample: 1,
        attempt,
    }
}

fn finished(key: AttemptKey, outcome: Outcome, empty_reason: Option<EmptyReason>) -> RunEvent {
    let empty = empty_reason.is_some();
    RunEvent::AttemptFinished {
        key,
        outcome,
        steps: 12,
        usage: Usage {
            input: 4000,
            cached: 1000,
            output: 500,
            cost: Some(0.0125),
            ..Usage::default()
        },
        seconds: Seconds {
            setup: 0.25,
            model: 10.5,
            tool: 3.125,
            total: 14.0,
        },
        patch: PatchSummary {
            bytes: if empty { 0 } else { 812 },
            files: if empty { 0 } else { 2 },
            empty_reason,
            ..PatchSummary::default()
        },
        network: None,
    }
}

fn graded(key: AttemptKey, resolved: bool, tamper_reason: Option<&str>) -> RunEvent {
    RunEvent::GradeFinished {
        key,
        grading: 1,
        grade: GradeSummary {
            resolved,
            official_resolved: resolved || tamper_reason.is_some(),
            tamper_reason: tamper_reason.map(str::to_owned),
            profile: Profile::Sealed,
            note: None,
            ..GradeSummary::default()
        },
        seconds: 2.5,
    }
}

pub(super) fn ledger() -> Ledger {
    let lost = Outcome::Failed {
        reason: FailureKind::EnvironmentLost,
        message: "lost the sandbox while trying to run a command: \"gone\",\nline 2".into(),
    };
    let stuck = Outcome::Stopped {
        reason: StopReason::Stuck,
    };
    Ledger::fold(&[
        finished(key("a__done-1", 1), lost.clone(), Some(EmptyReason::Failed)),
        finished(key("a__done-1", 2), Outcome::Completed, None),
        graded(key("a__done-1", 2), true, None),
        finished(key("b__tampered-2", 1), Outcome::Completed, None),
        graded(key("b__tampered-2", 1), false, Some("tests edited")),
        finished(key("c__stuck-3", 1), stuck, Some(EmptyReason::NeverEdited)),
        finished(key("d__lost-4", 1), lost, Some(EmptyReason::Failed)),
        finished(key("e__cancelled-5", 1), Outcome::Cancelled, None),
        finished(key("f\x1b[31m,hostile", 1), Outcome::Completed, None),
        RunEvent::GradeFailed {
            key: key("f\x1b[31m,hostile", 1),
            grading: 1,
            kind: "environment:start".into(),
            message: "no space left".into(),
        },
    ])
}

pub(super) fn repositories() -> Repositories {
    [(InstanceId::new("a__done-1"), "a/done".to_owned())].into()
}
