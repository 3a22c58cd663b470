//! jest: `--verbose`'s lines `✓ name (12 ms)`, and its JSON made into lines `[PASSED] name`.
//!
//! Rules of `parse_log_jest` and `parse_log_jest_json` of SWE-bench 4.1.0 and 5.0.2. Officially a test has no suite in the verbose form, so tests
//! of the same name are one; whole names hold the suites. Generation 5 trims names.

use schema::grading::{Harness, TestStatus};

use crate::parse::context::Context;
use crate::parse::lines::{after_word, each_stripped, numbered, present};
use crate::parse::result::Parsed;
use crate::parse::suites::{Room, Suites};
use crate::parse::text::{after_space, strip, without_duration};

pub(in crate::parse) fn parse<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::with_whole_names();
    let (mut suites, mut room) = (Suites::default(), Room::of(log));
    for (number, line) in numbered(log) {
        let Some((name, status)) = test(strip(line)) else {
            if !strip(line).is_empty() {
                suites.leave(line);
                suites.enter(line);
            }
            continue;
        };
        let trimmed = strip(name);
        match context.harness {
            Harness::V4 => parsed.found(name, status, number),
            Harness::V5 => parsed.found(trimmed, status, number),
        }
        suites.leave(line);
        if let Some(name) = suites.name(trimmed, " > ", &mut room) {
            parsed.found_whole(name, status, number);
        }
    }
    parsed
}

fn test(line: &str) -> Option<(&str, TestStatus)> {
    let marks = [
        ("✓", TestStatus::Passed),
        ("✕", TestStatus::Failed),
        ("○", TestStatus::Skipped),
    ];
    let (rest, status) = after_word(line, &marks)?;
    Some((without_duration(present(after_space(rest)?)?), status))
}

pub(in crate::parse) fn parse_json<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    each_stripped(log, |line| {
        let words = [
            ("[PASSED]", TestStatus::Passed),
            ("[FAILED]", TestStatus::Failed),
        ];
        let (rest, status) = after_word(line, &words)?;
        Some((present(after_space(rest)?)?, status))
    })
}
