//! Multi-SWE-bench. Rules of its `harness/report.py` and `harness/gen_report.py`.
//!
//! A test has three results: as the project was (`run`), with the tests of the fix (`test`), with the fix too (`fix`). The first two are the
//! dataset's, the third is the log's. Since a test's class follows from `test` and `fix`, it is in its class again when it passes.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use schema::grading::{GradingSpec, Resolution, TestStatus};

use super::{Sorted, tally};
use crate::evaluation::resolution;
use crate::parse::TestResult;

/// What it knows of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Pass,
    Skip,
    Fail,
}

type Fates<'r> = HashMap<&'r str, Fate, RandomState>;

/// Resolved when the report is valid and every test is in its class again.
pub(super) fn sorted(spec: &GradingSpec, results: &[TestResult<'_>]) -> Sorted {
    let fixed = fates(results);
    let met = |name: &str| Some(fixed.get(name) == Some(&Fate::Pass));
    let fail_to_pass = tally(&spec.fail_to_pass, met);
    let pass_to_pass = tally(&spec.pass_to_pass, met);
    let objection = objection(spec, results, &fixed);
    let resolution = match objection {
        Some(_) => Resolution::No,
        None => resolution(&fail_to_pass, &pass_to_pass),
    };
    Sorted {
        fail_to_pass,
        pass_to_pass,
        resolution,
        objection,
    }
}

/// The worst of each name: its parsers keep a failure, whatever comes after it.
fn fates<'r>(results: &'r [TestResult<'_>]) -> Fates<'r> {
    let mut fates = Fates::default();
    for result in results {
        if let Some(found) = result.word.status().map(fate) {
            let kept = fates.entry(&*result.name).or_insert(found);
            *kept = std::cmp::max_by_key(*kept, found, |fate| *fate as u8);
        }
    }
    fates
}

fn fate(status: TestStatus) -> Fate {
    match status {
        TestStatus::Passed | TestStatus::Xfail => Fate::Pass,
        TestStatus::Skipped => Fate::Skip,
        TestStatus::Failed | TestStatus::Error | TestStatus::Xpass => Fate::Fail,
    }
}

/// Why a report is invalid, in its order: nothing ran, something broke, nothing was fixed, something is odd.
fn objection(spec: &GradingSpec, results: &[TestResult<'_>], fixed: &Fates<'_>) -> Option<String> {
    if fixed.is_empty() {
        return Some("no test ran with the patch".to_owned());
    }
    let earlier = |name: &str| spec.earlier.get(name).copied().unwrap_or_default();
    let passed = |status: Option<TestStatus>| status.map(fate) == Some(Fate::Pass);
    // In the log's order, so that the same log is told the same way.
    let failed = || {
        let names = results.iter().map(|result| &*result.name);
        names.filter(|name| fixed.get(name) == Some(&Fate::Fail))
    };
    if let Some(name) = failed().find(|name| passed(earlier(name).test)) {
        return Some(format!(
            "`{name}` passed without the patch, and fails with it"
        ));
    }
    let fixes = |(name, fate): (&&str, &Fate)| *fate == Fate::Pass && !passed(earlier(name).test);
    if !fixed.iter().any(fixes) {
        return Some("no test passes with the patch that did not pass without it".to_owned());
    }
    let odd = |name: &&str| {
        let earlier = earlier(name);
        let idle = matches!(earlier.test.map(fate), None | Some(Fate::Skip));
        idle && passed(earlier.run)
    };
    let name = failed().find(odd)?;
    Some(format!(
        "`{name}` passed before, did not run with the new tests, and fails with the patch"
    ))
}
