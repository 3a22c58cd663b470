//! SWE-bench Pro. Rules of its `swe_bench_pro_eval.py`: the names with a result `PASSED`, whatever else a name is reported as.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use schema::grading::{GradingSpec, TestStatus};

use super::{Sorted, tally};
use crate::evaluation::resolution;
use crate::parse::{TestResult, Word};

/// Resolved when all tests are among the passed ones, byte for byte.
pub(super) fn sorted(spec: &GradingSpec, results: &[TestResult<'_>]) -> Sorted {
    let passed: HashSet<&str, RandomState> = results
        .iter()
        .filter(|result| result.word == Word::Status(TestStatus::Passed))
        .map(|result| &*result.name)
        .collect();
    let met = |name: &str| Some(passed.contains(name));
    let fail_to_pass = tally(&spec.fail_to_pass, met);
    let pass_to_pass = tally(&spec.pass_to_pass, met);
    Sorted {
        resolution: resolution(&fail_to_pass, &pass_to_pass),
        fail_to_pass,
        pass_to_pass,
        objection: None,
    }
}
