//! `MicroPython`'s `run-tests.py`: `pass  basics/x.py`.
//!
//! Rules of `parse_log_micropython_test`, the same in SWE-bench 4.1.0 and 5.0.2.

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::{after_word, each_stripped, present};
use crate::parse::result::Parsed;
use crate::parse::text::strip_start;

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    each_stripped(log, |line| {
        let words = [
            ("pass", TestStatus::Passed),
            ("FAIL", TestStatus::Failed),
            ("skip", TestStatus::Skipped),
        ];
        let (rest, status) = after_word(line, &words)?;
        let name = strip_start(rest);
        let name = (name.len() < rest.len()).then_some(name)?;
        Some((present(name)?, status))
    })
}
