//! Which bucket a verdict belongs to.

use schema::Bucket;
use schema::grading::{PatchApplication, Verdict};

/// The bucket of a verdict. A grading that ended without one has [`of_failure`]'s.
pub fn of(verdict: &Verdict) -> Bucket {
    let ran = verdict.timed_out || verdict.exit_code.is_some() || verdict.log_readable;
    match verdict.application {
        PatchApplication::Rejected => return Bucket::PatchRejected,
        // A patch of nothing but test files is run without them, an empty one is not run.
        PatchApplication::Empty if !ran => return Bucket::EmptyPatch,
        PatchApplication::Applied
        | PatchApplication::AppliedWith3way
        | PatchApplication::AppliedWithFuzz
        | PatchApplication::AlreadyApplied
        | PatchApplication::Empty => {}
    }
    if verdict.timed_out {
        Bucket::Timeout
    } else if verdict.resolved {
        Bucket::Resolved
    } else if verdict.tamper_reason.is_some() {
        Bucket::Tampered
    } else if partial(verdict).is_some() {
        Bucket::Partial
    } else if !verdict.log_readable && verdict.statuses.is_empty() {
        Bucket::NoTestsRan
    } else {
        Bucket::Unresolved
    }
}

/// The share of the tests that had to turn and did: where that is some but not all of them, and all that had to stay did; and where the tests were
/// stopped because their time was over, as far as they got.
pub fn partial(verdict: &Verdict) -> Option<f64> {
    let turned = verdict.fail_to_pass.share();
    if verdict.timed_out {
        return (!verdict.statuses.is_empty()).then_some(turned);
    }
    let some = turned > 0.0 && turned < 1.0;
    let kept = verdict.pass_to_pass.failure.is_empty();
    (verdict.log_readable && some && kept).then_some(turned)
}

/// The expected tests that did not do what they should: those that failed, and those that the log does not show.
pub fn failures(verdict: &Verdict) -> (Vec<String>, Vec<String>) {
    let lists = [&verdict.fail_to_pass, &verdict.pass_to_pass];
    let tests = lists.iter().flat_map(|tally| tally.failure.iter().cloned());
    tests.partition(|test| !verdict.absent.contains(test))
}

/// The bucket of a grading that failed for a reason of the failure table.
pub fn of_failure(kind: schema::FailureKind) -> Bucket {
    use schema::FailureKind::{
        Check, EnvironmentDisk, EnvironmentImage, EnvironmentLost, EnvironmentRegistry,
        EnvironmentStart, Internal, Model,
    };
    match kind {
        EnvironmentImage => Bucket::ImageMissing,
        Model(_) | EnvironmentRegistry | EnvironmentStart | EnvironmentLost | EnvironmentDisk
        | Check | Internal => Bucket::InfraFailure,
    }
}
