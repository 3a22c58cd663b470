//! `ctest`, `GoogleTest` and their like.

use schema::grading::TestStatus;

use super::counted::{count, number};
use crate::parse::context::Context;
use crate::parse::lines::{Places, numbered};
use crate::parse::pattern::{group, pattern};
use crate::parse::result::Parsed;
use crate::parse::text::{is_digit, python_lines, strip};

pattern!(
    CTEST,
    r"(?i)\d+/\d+\s+Test\s+#\d+:\s+([\w\-/.]+)\s+\.+\s+(Passed|Failed)"
);
pattern!(
    CTEST_FAILED,
    r"The following tests FAILED:\n((?:\s+\d+\s+-\s+[\w\-/.]+.*\n?)+)"
);
pattern!(CTEST_NAME, r"\d+\s+-\s+([\w\-/.]+)");
pattern!(
    CTEST_TOTALS,
    r"(?i)\d+%\s+tests\s+passed,\s+(\d+)\s+tests\s+failed\s+out\s+of\s+(\d+)"
);

/// ctest: its lines of results, then the list of what failed; its totals where there is neither.
pub(in crate::parse) fn parse_ctest<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    let mut places = Places::of(log);
    for found in CTEST.all(log) {
        if let (Some(name), Some(word)) = (found.get(1), group(&found, 2)) {
            let status = match &*word.to_lowercase() {
                "passed" => TestStatus::Passed,
                _ => TestStatus::Failed,
            };
            parsed.found(name.as_str(), status, places.line(name.start()));
        }
    }
    if let Some(list) = CTEST_FAILED.captures(log).and_then(|found| found.get(1)) {
        let first = Places::of(log).line(list.start());
        for (at, line) in python_lines(list.as_str()).enumerate() {
            if let Some(name) = CTEST_NAME.first(line) {
                parsed.found(name, TestStatus::Failed, first + at);
            }
        }
    }
    if parsed.is_empty()
        && let Some(found) = CTEST_TOTALS.captures(log)
    {
        let [failed, all] = [1, 2].map(|at| group(&found, at).map_or(0, number));
        let passed = all.saturating_sub(failed);
        count(
            &mut parsed,
            "synthetic_pass_",
            0,
            passed,
            TestStatus::Passed,
        );
        count(
            &mut parsed,
            "synthetic_fail_",
            0,
            failed,
            TestStatus::Failed,
        );
    }
    parsed
}

pattern!(GTEST_PASSED, r"^\[\s*(?:OK|PASSED)\s*\]\s+([\w:/.]+)");
pattern!(GTEST_FAILED, r"^\[\s*FAILED\s*\]\s+([\w:/.]+)(?:\s+\(|$)");
pattern!(
    GTEST_SKIPPED,
    r"^\[\s*(?:SKIPPED|DISABLED)\s*\]\s+([\w:/.]+)"
);
pattern!(GTEST_TOTAL, r"\d+\s+tests?[.,]");
pattern!(GTEST_RAN, r"\[\s*=+\s*\]\s*(\d+)\s+tests?\s+from");
pattern!(GTEST_ALL_PASSED, r"\[\s*PASSED\s*\]\s*(\d+)\s+tests?");
pattern!(GTEST_ALL_FAILED, r"\[\s*FAILED\s*\]\s*(\d+)\s+tests?");

/// `GoogleTest`: `[       OK ] Suite.Test (0 ms)`; its totals where no test is named.
pub(in crate::parse) fn parse_gtest<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    for (number, line) in numbered(log) {
        let line = strip(line);
        let kinds = [
            (&GTEST_PASSED, TestStatus::Passed),
            (&GTEST_FAILED, TestStatus::Failed),
            (&GTEST_SKIPPED, TestStatus::Skipped),
        ];
        let mut found = kinds.into_iter();
        let found = found.find_map(|(pattern, status)| Some((pattern.first(line)?, status)));
        if let Some((name, status)) = found
            && !(name.chars().all(counts) || GTEST_TOTAL.is_in(line))
        {
            parsed.found(name, status, number);
        }
    }
    if parsed.is_empty() && GTEST_RAN.is_in(log) {
        let passed = GTEST_ALL_PASSED.first(log).map_or(0, number);
        let failed = GTEST_ALL_FAILED.first(log).map_or(0, number);
        count(&mut parsed, "test_passed_", 1, passed, TestStatus::Passed);
        count(&mut parsed, "test_failed_", 1, failed, TestStatus::Failed);
    }
    parsed
}

/// What Python's `str.isdigit` takes, as far as logs may have it.
fn counts(character: char) -> bool {
    is_digit(character)
        || matches!(
            character,
            '²' | '³' | '¹' | '⁰' | '⁴'..='⁹' | '₀'..='₉' | '①'..='⑨'
        )
}

pattern!(AIRSIM_PASSED, r"\[\s+PASSED\s+\]\s+([\w.]+)");
pattern!(AIRSIM_FAILED, r"\[\s+FAILED\s+\]\s+([\w.]+)");
pattern!(AIRSIM_RAN, r"Running \d+ test");

/// The runner of `AirSim`: what passed, then what failed; one test where it only says that it ran.
pub(in crate::parse) fn parse_airsim<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    for (pattern, status) in [
        (&AIRSIM_PASSED, TestStatus::Passed),
        (&AIRSIM_FAILED, TestStatus::Failed),
    ] {
        let mut places = Places::of(log);
        for name in pattern.all(log).filter_map(|found| found.get(1)) {
            parsed.found(name.as_str(), status, places.line(name.start()));
        }
    }
    if parsed.is_empty() && AIRSIM_RAN.is_in(log) {
        parsed.found("AirLibUnitTests.Main", TestStatus::Passed, 0);
    }
    parsed
}
