//! pytest as seaborn's old versions print it: status first, or name, status and percentage.
//!
//! Rules of `parse_log_seaborn` of SWE-bench 4.1.0 and 5.0.2; only passed and failed tests count.

use schema::grading::{Harness, TestStatus};

use crate::parse::context::Context;
use crate::parse::lines::{Ahead, numbered};
use crate::parse::result::Parsed;
use crate::parse::text::first_word;

use super::pytest_names;

/// How a line tells a result.
enum Form {
    /// `FAILED name`.
    Failed,
    /// `PASSED name`.
    Passed,
    /// `name PASSED`, and maybe more.
    NameFirst,
}

pub(in crate::parse) fn parse<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::with_whole_names();
    let mut passed = Ahead::of(log, " PASSED ");
    for (number, line) in numbered(log) {
        let form = if line.starts_with("FAILED") {
            Some(Form::Failed)
        } else if passed.find(line).is_some() {
            Some(Form::NameFirst)
        } else {
            line.starts_with("PASSED").then_some(Form::Passed)
        };
        if let Some(form) = form {
            read(line, &form, number, context, &mut parsed);
        }
        if let Some((name, status)) = pytest_names::read(line) {
            parsed.found_whole(name, status, number);
        }
    }
    parsed
}

fn read<'a>(
    line: &'a str,
    form: &Form,
    number: usize,
    context: &Context<'_>,
    parsed: &mut Parsed<'a>,
) {
    let (first, rest) = first_word(line).unwrap_or_default();
    let Some((second, _)) = first_word(rest) else {
        if context.harness == Harness::V4 {
            parsed.breaks_officially(number, "a status word without a name");
        }
        return;
    };
    match form {
        Form::Failed => parsed.found(second, TestStatus::Failed, number),
        Form::Passed => parsed.found(second, TestStatus::Passed, number),
        Form::NameFirst if second == "PASSED" => parsed.found(first, TestStatus::Passed, number),
        Form::NameFirst => {}
    }
}
