//! jq's shell tests under automake: `PASS: tests/x`.
//!
//! Rules of `parse_log_jq`, the same in SWE-bench 4.1.0 and 5.0.2.

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::{after_word, each_stripped, present};
use crate::parse::result::Parsed;
use crate::parse::text::after_space;

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    each_stripped(log, |line| {
        let words = [("PASS:", TestStatus::Passed), ("FAIL:", TestStatus::Failed)];
        let (rest, status) = after_word(line, &words)?;
        Some((present(after_space(rest)?)?, status))
    })
}
