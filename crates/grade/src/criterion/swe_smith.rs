//! SWE-smith. Rules of its `swesmith/harness/grading.py`: it runs some of the tests only, and takes what is not in the log for passed.

use schema::grading::{GradingSpec, TestStatus};

use super::Sorted;
use crate::parse::Word;
use crate::status_map::StatusMap;

/// Resolved when no test failed. One that was skipped counts for nothing.
pub(super) fn sorted(spec: &GradingSpec, map: &StatusMap<'_>) -> Sorted {
    let met = |name: &str| match map.get(name) {
        None | Some(Word::Status(TestStatus::Passed | TestStatus::Xfail)) => Some(true),
        Some(Word::Status(TestStatus::Failed | TestStatus::Error)) => Some(false),
        Some(Word::Status(TestStatus::Skipped | TestStatus::Xpass) | Word::Other(_)) => None,
    };
    Sorted::by(spec, met)
}
