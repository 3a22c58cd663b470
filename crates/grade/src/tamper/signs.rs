//! What the first run shows.

use std::sync::LazyLock;

use regex::Regex;
use schema::examination::Suspicion;
use schema::grading::{GradingSpec, TestStatus, Verdict};

use crate::log::LogParts;
use crate::parse::{Context, parser};

/// What is suspicious about the log of the first run. Each costs a second look, and says nothing by itself.
pub fn signs(spec: &GradingSpec, log: &LogParts, verdict: &Verdict) -> Vec<Suspicion> {
    let totals = totals(spec, log, verdict);
    let codes = exit_codes(log, verdict);
    let late =
        (!log.late.trim().is_empty()).then_some("something was printed after the script had ended");
    let reasons = [totals, codes, late].into_iter().flatten();
    reasons
        .map(|what| Suspicion {
            file: None,
            what: what.to_owned(),
        })
        .collect()
}

/// pytest ends with a line of totals, whatever it is told to print before.
fn totals(spec: &GradingSpec, log: &LogParts, verdict: &Verdict) -> Option<&'static str> {
    static TOTALS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?m)^(?:=+ )?(?:.*, )?(\d+) passed\b.* in [\d.:]+").ok());
    if !spec.eval_script.contains("pytest") {
        return None;
    }
    let text = log.tests()?;
    let found: Vec<_> = TOTALS.as_ref()?.captures_iter(text).collect();
    let Some(last) = found.last().and_then(|found| found.get(0)) else {
        return Some("the log has results but no totals");
    };
    let counts = found
        .iter()
        .filter_map(|found| found.get(1)?.as_str().parse::<usize>().ok());
    let passed = verdict
        .statuses
        .values()
        .filter(|status| **status == TestStatus::Passed)
        .count();
    if counts.sum::<usize>() < passed {
        return Some("more tests are shown as passed than the totals say");
    }
    let rest = text.get(last.end()..).unwrap_or_default();
    let after = rest
        .lines()
        .any(|line| line.starts_with("PASSED ") || line.ends_with(" PASSED"));
    after.then_some("results are shown after the totals")
}

fn exit_codes(log: &LogParts, verdict: &Verdict) -> Option<&'static str> {
    let failed = verdict
        .statuses
        .values()
        .any(|status| matches!(status, TestStatus::Failed | TestStatus::Error));
    match log.test_exit {
        Some(0) if failed => Some("tests failed, but the exit code is 0"),
        Some(code) if code != 0 && !failed => Some("no test failed, but the exit code is not 0"),
        Some(_) | None => None,
    }
}

/// The test that something reported after the script had ended, which is none of the script's work: all that it waited for was over.
pub fn late_results(spec: &GradingSpec, log: &LogParts) -> Option<String> {
    let parser = parser(&spec.log_parser).ok()?;
    if log.late.trim().is_empty() {
        return None;
    }
    let parsed = parser(&log.late, &Context::from(spec));
    let mut shown = parsed.tests().iter().chain(&parsed.official);
    let expected = |name: &str| {
        spec.fail_to_pass
            .iter()
            .chain(&spec.pass_to_pass)
            .any(|test| test == name)
    };
    shown
        .find(|test| expected(&test.name))
        .map(|test| test.name.clone().into_owned())
}
