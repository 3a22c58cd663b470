//! What results mean for each dataset: its own harness's word to the letter, and which results count for us.
//!
//! `docs/design/grading.md` has the rules side by side.

mod live;
mod multi_swe_bench;
mod pro;
mod r2e_gym;
mod swe_smith;

use schema::grading::{
    Criterion, EvalType, GradingSpec, OfficialVerdict, Resolution, TestStatus, TestTally,
};

use crate::evaluation::{Expected, Kind, evaluate, resolution};
use crate::reading::Reading;

/// What a dataset's own harness makes of a log that it can read.
pub(crate) struct Official {
    pub(crate) verdict: OfficialVerdict,
    /// Why that is no, where neither list of tests says so.
    pub(crate) objection: Option<String>,
}

/// The word of the harness whose rules are the specification's.
pub(crate) fn official(spec: &GradingSpec, reading: &Reading<'_>) -> Official {
    let of = |sorted: Sorted| Official {
        verdict: OfficialVerdict {
            harness: spec.harness,
            log_readable: true,
            resolution: sorted.resolution,
            fail_to_pass: sorted.fail_to_pass,
            pass_to_pass: sorted.pass_to_pass,
        },
        objection: sorted.objection,
    };
    match spec.criterion {
        Criterion::SweBench => Official {
            verdict: evaluate(&reading.map(), &expected(spec)),
            objection: None,
        },
        Criterion::SweBenchLive => of(live::sorted(spec, &reading.map())),
        Criterion::SweBenchPro => of(pro::sorted(spec, reading.official())),
        Criterion::MultiSweBench => of(multi_swe_bench::sorted(spec, reading.official())),
        Criterion::SweSmith => of(swe_smith::sorted(spec, &reading.map())),
        Criterion::R2eGym => of(r2e_gym::sorted(spec, &reading.map())),
    }
}

fn expected(spec: &GradingSpec) -> Expected<'_> {
    Expected {
        fail_to_pass: &spec.fail_to_pass,
        pass_to_pass: &spec.pass_to_pass,
        eval_type: spec.eval_type,
        harness: spec.harness,
    }
}

/// The expected tests by what they did, and what follows.
struct Sorted {
    fail_to_pass: TestTally,
    pass_to_pass: TestTally,
    resolution: Resolution,
    objection: Option<String>,
}

impl Sorted {
    /// Those that `met` says did what they should, resolved as SWE-bench has it.
    fn by(spec: &GradingSpec, met: impl Fn(&str) -> Option<bool>) -> Self {
        let fail_to_pass = tally(&spec.fail_to_pass, &met);
        let pass_to_pass = tally(&spec.pass_to_pass, &met);
        Self {
            resolution: resolution(&fail_to_pass, &pass_to_pass),
            fail_to_pass,
            pass_to_pass,
            objection: None,
        }
    }
}

/// Sorts tests by whether they did what they should; those of which that cannot be said are in neither list.
fn tally(tests: &[String], met: impl Fn(&str) -> Option<bool>) -> TestTally {
    let mut tally = TestTally::default();
    for test in tests {
        match met(test) {
            Some(true) => tally.success.push(test.clone()),
            Some(false) => tally.failure.push(test.clone()),
            None => {}
        }
    }
    tally
}

/// Whether a test did what it should, for us: as the dataset's harness has it, but that what was skipped did not turn. `None` stands for a test
/// that the log does not show.
pub(crate) fn is_met(spec: &GradingSpec, kind: Kind, status: Option<TestStatus>) -> bool {
    use TestStatus::{Error, Failed, Passed, Skipped, Xfail, Xpass};
    let met = |status| kind.is_met_by(status);
    match (spec.criterion, kind) {
        (Criterion::SweBench, _) => match spec.eval_type {
            EvalType::PassAndFail => status.is_some_and(met),
            EvalType::FailOnly => status != Some(Failed),
        },
        (Criterion::SweBenchLive, Kind::MustStay) => match status {
            Some(Failed | Error | Xfail) => false,
            None | Some(Passed | Skipped | Xpass) => true,
        },
        (Criterion::SweBenchLive, Kind::MustTurn)
        | (Criterion::SweBenchPro | Criterion::R2eGym, _) => status == Some(Passed),
        (Criterion::MultiSweBench, _) => matches!(status, Some(Passed | Xfail)),
        (Criterion::SweSmith, _) => status.is_none_or(met),
    }
}

/// Whether a test that the log does not show may count as one that turned, so that a log without any would be a fix.
pub(crate) fn may_be_missing(criterion: Criterion) -> bool {
    match criterion {
        Criterion::SweSmith => true,
        Criterion::SweBench
        | Criterion::SweBenchLive
        | Criterion::SweBenchPro
        | Criterion::MultiSweBench
        | Criterion::R2eGym => false,
    }
}
