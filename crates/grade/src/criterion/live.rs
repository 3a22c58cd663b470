//! SWE-bench-Live. Rules of its `evaluation/evaluation.py`: what passed, and what failed; anything else is neither.

use schema::grading::{GradingSpec, Resolution, TestStatus};

use super::{Sorted, tally};
use crate::parse::Word;
use crate::status_map::StatusMap;

/// Resolved when every test that had to turn passed, and none that had to stay failed.
pub(super) fn sorted(spec: &GradingSpec, map: &StatusMap<'_>) -> Sorted {
    let met = |name: &str| map.get(name).and_then(met);
    let fail_to_pass = tally(&spec.fail_to_pass, met);
    let pass_to_pass = tally(&spec.pass_to_pass, met);
    let all_turned = fail_to_pass.success.len() == spec.fail_to_pass.len();
    let resolution = if !pass_to_pass.failure.is_empty() {
        Resolution::No
    } else if all_turned {
        Resolution::Full
    } else if fail_to_pass.success.is_empty() {
        Resolution::No
    } else {
        Resolution::Partial
    };
    Sorted {
        fail_to_pass,
        pass_to_pass,
        resolution,
        objection: None,
    }
}

/// A failure that was expected is one there.
fn met(word: &Word<'_>) -> Option<bool> {
    match word {
        Word::Status(TestStatus::Passed) => Some(true),
        Word::Status(TestStatus::Failed | TestStatus::Error | TestStatus::Xfail) => Some(false),
        Word::Status(TestStatus::Skipped | TestStatus::Xpass) | Word::Other(_) => None,
    }
}
