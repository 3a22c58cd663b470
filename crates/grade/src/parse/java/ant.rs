//! ant with `JUnit`: `[junit] [PASS] name`.
//!
//! Rules of `parse_log_ant`, the same in SWE-bench 4.1.0 and 5.0.2.

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::{after_word, each_stripped};
use crate::parse::result::Parsed;
use crate::parse::text::strip_start;

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    each_stripped(log, |line| {
        let words = [
            ("[PASS]", TestStatus::Passed),
            ("[FAIL]", TestStatus::Failed),
            ("[ERR]", TestStatus::Failed),
        ];
        let (name, status) = after_word(after_spaces(line.strip_prefix("[junit]")?)?, &words)?;
        Some((after_spaces(name)?, status))
    })
}

/// The text after the white space that it begins with, of which there must be some.
fn after_spaces(text: &str) -> Option<&str> {
    let rest = strip_start(text);
    (rest.len() < text.len()).then_some(rest)
}
