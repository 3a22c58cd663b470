//! test-unit's verbose lines: `test: name: .: (0.01)`.
//!
//! Rules of `parse_log_ruby_unit`, the same in SWE-bench 4.1.0 and 5.0.2: the last colon that white space and an outcome follow ends the name.

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::{each_stripped, present};
use crate::parse::result::Parsed;
use crate::parse::text::{is_word, strip_start};

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    each_stripped(log, |line| {
        let inner = line.strip_prefix("test: ").and_then(test);
        inner.or_else(|| test(line))
    })
}

fn test(line: &str) -> Option<(&str, TestStatus)> {
    line.rmatch_indices(':').find_map(|(at, _)| {
        let rest = line.get(at + 1..)?;
        let outcome = strip_start(rest);
        if outcome.len() == rest.len() {
            return None;
        }
        Some((present(line.get(..at)?)?, status(outcome)?))
    })
}

/// A dot, or a letter that is a word of its own.
fn status(outcome: &str) -> Option<TestStatus> {
    let mut characters = outcome.chars();
    let status = match characters.next()? {
        '.' => return Some(TestStatus::Passed),
        'E' | 'F' => TestStatus::Failed,
        'O' => TestStatus::Skipped,
        _ => return None,
    };
    (!characters.next().is_some_and(is_word)).then_some(status)
}
