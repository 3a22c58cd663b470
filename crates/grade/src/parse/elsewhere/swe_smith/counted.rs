//! Logs that tell how many tests passed, not which: SWE-smith numbers those.

use std::borrow::Cow;

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::numbered;
use crate::parse::pattern::{Pattern, group, pattern};
use crate::parse::result::Parsed;
use crate::parse::text::is_digit;

/// Tests of which a log tells the number alone that are named at most: far more than any project has, few enough to fit into memory.
const MAX_COUNTED: u64 = 200_000;

/// Names `count` tests `NAME1`, `NAME2` and so on, from `first`.
pub(super) fn count(
    parsed: &mut Parsed<'_>,
    name: &str,
    first: u64,
    count: u64,
    status: TestStatus,
) {
    for number in first..first + count.min(MAX_COUNTED) {
        parsed.found(format!("{name}{number}"), status, 0);
    }
    if count > MAX_COUNTED {
        let note = format!("{count} tests are counted in the log, {MAX_COUNTED} of them are named");
        parsed.notes.push(note);
    }
}

/// A number in the digits of any script, as Python reads them.
pub(in crate::parse) fn number(digits: &str) -> u64 {
    let values = digits.chars().filter(|c| is_digit(*c)).map(digit);
    values.fold(0, |number, digit| {
        number.saturating_mul(10).saturating_add(digit)
    })
}

/// Digits of a script stand in a row of ten, which begins after what is no digit.
fn digit(character: char) -> u64 {
    let ascii = character.to_digit(10).map(u64::from);
    ascii.unwrap_or_else(|| {
        let below = (1..10).take_while(|below| {
            let before = u32::from(character).checked_sub(*below);
            before.and_then(char::from_u32).is_some_and(is_digit)
        });
        below.count() as u64
    })
}

pattern!(KARMA_PASSED, r"Executed\s+(\d+)\s+of\s+\d+\s+SUCCESS");
pattern!(
    KARMA_FAILED,
    r"Executed\s+\d+\s+of\s+\d+\s+\((\d+)\s+FAILED\)"
);
pattern!(
    KARMA_SKIPPED,
    r"Executed\s+\d+\s+of\s+\d+\s+\((\d+)\s+skipped\)"
);

/// karma: the highest of each number in `Executed 3 of 4 (1 FAILED)`.
pub(in crate::parse) fn parse_karma<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let highest = |pattern: &Pattern| {
        let found = log.split('\n').filter_map(|line| pattern.first(line));
        found.map(number).max().unwrap_or_default()
    };
    let mut parsed = Parsed::default();
    for (name, pattern, status) in [
        ("karma_unit_test_", &KARMA_PASSED, TestStatus::Passed),
        ("karma_unit_test_failed_", &KARMA_FAILED, TestStatus::Failed),
        (
            "karma_unit_test_skipped_",
            &KARMA_SKIPPED,
            TestStatus::Skipped,
        ),
    ] {
        count(&mut parsed, name, 1, highest(pattern), status);
    }
    parsed
}

pattern!(
    JASMINE,
    r"(\d+)\s+specs?,\s+(\d+)\s+failures?(?:,\s+(\d+)\s+pending\s+specs?)?"
);

/// jasmine: the first `4 specs, 1 failure, 1 pending spec`.
pub(in crate::parse) fn parse_jasmine<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    let mut lines = numbered(log);
    let Some(found) = lines.find_map(|(_, line)| JASMINE.captures(line)) else {
        return parsed;
    };
    let [specs, failed, pending] = [1, 2, 3].map(|at| group(&found, at).map_or(0, number));
    let passed = specs.saturating_sub(failed.saturating_add(pending));
    count(&mut parsed, "jasmine_spec_", 1, passed, TestStatus::Passed);
    count(
        &mut parsed,
        "jasmine_spec_failed_",
        1,
        failed,
        TestStatus::Failed,
    );
    count(
        &mut parsed,
        "jasmine_spec_pending_",
        1,
        pending,
        TestStatus::Skipped,
    );
    parsed
}

pattern!(OK, r"OK \((\d+)\)");
pattern!(
    FAILURES,
    r"FAILURES!!!(?s:.*?)Tests run: (\d+),\s+Failures: (\d+)"
);

/// `CppUnit`: `OK (3)`, or the numbers below `FAILURES!!!`.
pub(in crate::parse) fn parse_cppunit<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    if let Some(passed) = OK.first(log) {
        count(&mut parsed, "test_", 0, number(passed), TestStatus::Passed);
    }
    if let Some(found) = FAILURES.captures(log) {
        let [all, failed] = [1, 2].map(|at| group(&found, at).map_or(0, number));
        let passed = all.saturating_sub(failed);
        count(&mut parsed, "test_", 0, passed, TestStatus::Passed);
        count(&mut parsed, "test_fail_", 0, failed, TestStatus::Failed);
    }
    parsed
}

pattern!(PASSING, r"(\d+)\s+passing");
pattern!(FAILING, r"(\d+)\s+failing");

/// mocha, and its totals where the log names no test.
pub(in crate::parse) fn parse_mocha<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    let mut parsed = super::javascript::parse_mocha(log, context);
    if parsed.is_empty() {
        let total = |pattern: &Pattern| pattern.first(log).map_or(0, number);
        count(&mut parsed, "test_", 0, total(&PASSING), TestStatus::Passed);
        count(
            &mut parsed,
            "test_failed_",
            0,
            total(&FAILING),
            TestStatus::Failed,
        );
    }
    parsed
}

pattern!(TASK, r"^\s*(\S+?:test\S*)\s*:");
pattern!(TASKS, r"Tasks:\s+(\d+)\s+successful,\s+(\d+)\s+total");

/// turbo's tasks: `name:test: …` passed unless a line of it has `ERROR`; else its totals.
pub(in crate::parse) fn parse_turbo<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    let mut known = std::collections::HashSet::new();
    for (number, line) in numbered(log) {
        if let Some(task) = TASK.first(line)
            && known.insert(task)
        {
            parsed.found(task, TestStatus::Passed, number);
        }
        if let Some((task, _)) = line.split_once(':')
            && line.contains("ERROR")
        {
            let task = crate::parse::text::strip(task);
            if task.to_lowercase().contains("test") {
                known.insert(task);
                parsed.found(Cow::Borrowed(task), TestStatus::Failed, number);
            }
        }
    }
    if let Some(found) = TASKS.captures(log)
        && parsed.is_empty()
    {
        let [passed, all] = [1, 2].map(|at| group(&found, at).map_or(0, number));
        let failed = all.saturating_sub(passed);
        count(&mut parsed, "turbo_task_", 0, passed, TestStatus::Passed);
        count(
            &mut parsed,
            "turbo_task_failed_",
            0,
            failed,
            TestStatus::Failed,
        );
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_any_script() {
        assert_eq!(number("0042"), 42);
        assert_eq!(number("٣٠"), 30);
        assert_eq!(number("99999999999999999999999"), u64::MAX);
    }

    #[test]
    fn a_log_cannot_ask_for_more_tests_than_fit() {
        let parsed = parse_jasmine("99999999999 specs, 0 failures", &Context::default());
        assert_eq!(parsed.official.len() as u64, MAX_COUNTED);
        assert_eq!(parsed.notes.len(), 1);
    }
}
