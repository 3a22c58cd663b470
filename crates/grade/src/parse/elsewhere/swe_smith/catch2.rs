//! Catch2 and Boost.Test.

use std::collections::HashSet;

use schema::grading::TestStatus;

use super::counted::{count, number};
use crate::parse::context::Context;
use crate::parse::lines::Places;
use crate::parse::pattern::{Pattern, group, pattern};
use crate::parse::result::Parsed;
use crate::parse::text::strip;

pattern!(
    CASE,
    r#"(?s)<TestCase\s+name="([^"]+)"[^>]*>.*?<OverallResult\s+success="(true|false)""#
);
pattern!(LINE, r"(?im)^([^.:\[\]]+?)\s*\.\.\.\s*(PASSED|FAILED)");
pattern!(
    TOTALS,
    r"(?i)test cases:\s*\d+\s*\|\s*(\d+)\s*passed\s*\|\s*(\d+)\s*failed"
);
pattern!(
    ALL_PASSED,
    r"(?i)All tests passed\s*\(.*?(\d+)\s+test cases?\)"
);

/// Catch2: its XML, else lines `name ... PASSED`, else its totals.
pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    results(log, &CASE, &mut parsed);
    if parsed.is_empty() {
        results(log, &LINE, &mut parsed);
    }
    if !parsed.is_empty() {
        return parsed;
    }
    if let Some(found) = TOTALS.captures(log) {
        let [passed, failed] = [1, 2].map(|at| group(&found, at).map_or(0, number));
        count(&mut parsed, "test_passed_", 1, passed, TestStatus::Passed);
        count(&mut parsed, "test_failed_", 1, failed, TestStatus::Failed);
    } else if let Some(passed) = ALL_PASSED.first(log) {
        count(
            &mut parsed,
            "test_passed_",
            1,
            number(passed),
            TestStatus::Passed,
        );
    }
    parsed
}

/// A name and a word that tells whether it passed.
fn results<'a>(log: &'a str, pattern: &Pattern, parsed: &mut Parsed<'a>) {
    let mut places = Places::of(log);
    for found in pattern.all(log) {
        let (Some(name), Some(word)) = (found.get(1), group(&found, 2)) else {
            continue;
        };
        let (text, status) = match &*word.to_uppercase() {
            "TRUE" => (name.as_str(), TestStatus::Passed),
            "FALSE" => (name.as_str(), TestStatus::Failed),
            "PASSED" => (strip(name.as_str()), TestStatus::Passed),
            _ => (strip(name.as_str()), TestStatus::Failed),
        };
        if !text.is_empty() {
            parsed.found(text, status, places.line(name.start()));
        }
    }
}

pattern!(BOOST_ERROR, r#"(?i)error(?:\s+in)?\s+"([^"]+)""#);
pattern!(BOOST_ENTERED, r#"Entering test (?:case|suite) "([^"]+)""#);
pattern!(
    BOOST_PASSED,
    r"(?i)(\d+)\s+test cases?\s+(?:out of \d+ )?passed"
);
pattern!(BOOST_FAILED, r"\*\*\* (\d+) failures? detected");

/// Boost.Test: what was entered passed unless an error names it; its totals where nothing is named.
pub(in crate::parse) fn parse_boost<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    let mut known = HashSet::new();
    for (pattern, status) in [
        (&BOOST_ERROR, TestStatus::Failed),
        (&BOOST_ENTERED, TestStatus::Passed),
    ] {
        let mut places = Places::of(log);
        for name in pattern.all(log).filter_map(|found| found.get(1)) {
            if known.insert(name.as_str()) {
                parsed.found(name.as_str(), status, places.line(name.start()));
            }
        }
    }
    if !parsed.is_empty() {
        return parsed;
    }
    if log.contains("*** No errors detected") {
        match BOOST_PASSED.first(log) {
            Some(passed) => count(
                &mut parsed,
                "test_passed_",
                1,
                number(passed),
                TestStatus::Passed,
            ),
            None => parsed.found("boost_test_suite", TestStatus::Passed, 0),
        }
    } else if let Some(failed) = BOOST_FAILED.first(log) {
        count(
            &mut parsed,
            "test_failed_",
            1,
            number(failed),
            TestStatus::Failed,
        );
    }
    parsed
}
