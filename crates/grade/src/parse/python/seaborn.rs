//! pytest as seaborn's old versions print it: status first, or name, status and percentage.
//!
//! Rules of `parse_log_seaborn` of SWE-bench 4.1.0 and 5.0.2; only passed and failed tests count.

use schema::grading::{Harness, TestStatus};

use crate::parse::context::Context;
use crate::parse::lines::{find, numbered};
use crate::parse::result::Parsed;
use crate::parse::text::first_word;

use super::pytest_names;

pub(in crate::parse) fn parse<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::with_whole_names();
    for (number, line) in numbered(log) {
        read(line, number, context, &mut parsed);
        if let Some((name, status)) = pytest_names::read(line) {
            parsed.found_whole(name, status, number);
        }
    }
    parsed
}

fn read<'a>(line: &'a str, number: usize, context: &Context<'_>, parsed: &mut Parsed<'a>) {
    let failed = line.starts_with("FAILED");
    let inside = !failed && find(line, " PASSED ").is_some();
    if !failed && !inside && !line.starts_with("PASSED") {
        return;
    }
    let words = first_word(line);
    let (first, rest) = words.unwrap_or_default();
    let Some((second, _)) = first_word(rest) else {
        if context.harness == Harness::V4 {
            parsed.breaks_officially(number, "a status word without a name");
        }
        return;
    };
    if failed {
        parsed.found(second, TestStatus::Failed, number);
    } else if inside {
        if second == "PASSED" {
            parsed.found(first, TestStatus::Passed, number);
        }
    } else {
        parsed.found(second, TestStatus::Passed, number);
    }
}
