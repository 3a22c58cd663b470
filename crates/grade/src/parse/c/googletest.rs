//! `GoogleTest`, also below `ctest -V`: `[       OK ] Suite.Test (0 ms)`.
//!
//! Rules of `parse_log_googletest`, the same in SWE-bench 4.1.0 and 5.0.2: the last such word in brackets whose line ends with a parenthesis.

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::each_stripped;
use crate::parse::result::Parsed;
use crate::parse::text::{after_space, is_space, strip_end};

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    each_stripped(log, |line| {
        let text = line.strip_suffix(')')?;
        let end = before_parenthesis(text)?;
        text.rmatch_indices(']').find_map(|(close, _)| {
            let status = status(text.get(..close)?)?;
            let rest = after_space(text.get(close + 1..)?)?;
            Some((text.get(text.len() - rest.len()..end)?, status))
        })
    })
}

/// Where the white space before the last parenthesis is.
fn before_parenthesis(text: &str) -> Option<usize> {
    text.rmatch_indices('(').find_map(|(open, _)| {
        let before = text.get(..open)?;
        let space = before.chars().next_back().filter(|c| is_space(*c))?;
        Some(open - space.len_utf8())
    })
}

/// What `[ OK `, at the end of a text, means.
fn status(text: &str) -> Option<TestStatus> {
    let text = strip_end(text);
    let (before, status) = match text.strip_suffix("OK") {
        Some(before) => (before, TestStatus::Passed),
        None => (text.strip_suffix("FAILED")?, TestStatus::Failed),
    };
    strip_end(before).ends_with('[').then_some(status)
}
