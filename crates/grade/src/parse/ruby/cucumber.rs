//! cucumber's progress: `feature ...F`.
//!
//! Rules of `parse_log_cucumber`, the same in SWE-bench 4.1.0 and 5.0.2: after the last space that dots follow, at least one before an `F`, else
//! at least two.

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::each_stripped;
use crate::parse::result::Parsed;

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    each_stripped(log, test)
}

pub(super) fn test(line: &str) -> Option<(&str, TestStatus)> {
    line.rmatch_indices(" .").find_map(|(at, _)| {
        let dotted = line.get(at + 1..)?;
        let after = dotted.trim_start_matches('.');
        let dots = dotted.len() - after.len();
        let status = if after.starts_with('F') {
            TestStatus::Failed
        } else if dots > 1 {
            TestStatus::Passed
        } else {
            return None;
        };
        Some((line.get(..at)?, status))
    })
}
