//! Gradle's lines of tests: `Class > method PASSED`.
//!
//! Rules of `parse_log_gradle_custom` of SWE-bench 4.1.0 and 5.0.2. Generation 5 also joins a name to a status on a later line of its own.

use schema::grading::{Harness, TestStatus};

use crate::parse::context::Context;
use crate::parse::lines::numbered;
use crate::parse::result::Parsed;
use crate::parse::text::{before_space, strip, words};

pub(in crate::parse) fn parse<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    let mut waiting = None;
    for (number, line) in numbered(log) {
        let line = strip(line);
        if let Some((name, status)) = whole(line) {
            parsed.found(name, status, number);
            waiting = None;
        } else if context.harness == Harness::V4 {
            // Lines are not joined.
        } else if is_name(line) {
            waiting = Some(line);
        } else if let Some(name) = waiting
            && let Some(status) = status(line)
        {
            parsed.found(name, status, number);
            waiting = None;
        }
    }
    parsed
}

fn status(word: &str) -> Option<TestStatus> {
    match word {
        "PASSED" => Some(TestStatus::Passed),
        "FAILED" => Some(TestStatus::Failed),
        _ => None,
    }
}

/// A name of two characters at least, white space, a status.
fn whole(line: &str) -> Option<(&str, TestStatus)> {
    let ends = ["PASSED", "FAILED"];
    let (before, end) = ends
        .into_iter()
        .find_map(|end| Some((line.strip_suffix(end)?, end)))?;
    let name = before_space(before)?;
    let long = name.chars().nth(1).is_some() && !name.starts_with('>');
    long.then_some((name, status(end)?))
}

/// `Class > method`, three words.
fn is_name(line: &str) -> bool {
    if line.starts_with('>') || !line.contains('>') {
        return false;
    }
    let mut words = words(line);
    let second = words.by_ref().nth(1);
    second == Some(">") && words.next().is_some() && words.next().is_none()
}
