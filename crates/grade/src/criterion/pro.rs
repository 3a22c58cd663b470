//! SWE-bench Pro. Rules of its `swe_bench_pro_eval.py`: the names with a result `PASSED`, whatever else a name is reported as.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use schema::grading::{GradingSpec, TestStatus};

use super::Sorted;
use crate::parse::{TestResult, Word};

/// Resolved when all tests are among the passed ones, byte for byte.
pub(super) fn sorted(spec: &GradingSpec, results: &[TestResult<'_>]) -> Sorted {
    let passed: HashSet<&str, RandomState> = results
        .iter()
        .filter(|result| result.word == Word::Status(TestStatus::Passed))
        .map(|result| &*result.name)
        .collect();
    Sorted::by(spec, |name| Some(passed.contains(name)))
}
