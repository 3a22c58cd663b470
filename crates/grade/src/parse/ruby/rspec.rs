//! `RSpec`'s JSON, made into lines `name - passed` by the evaluation script.
//!
//! Rules of `parse_log_rspec_transformed_json`, the same in SWE-bench 4.1.0 and 5.0.2; pending tests do not count.

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::{each_stripped, present};
use crate::parse::result::Parsed;

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    each_stripped(log, |line| {
        let ends = [
            (" - passed", TestStatus::Passed),
            (" - failed", TestStatus::Failed),
        ];
        let found = ends.map(|(end, status)| (line.rfind(end), status));
        let (at, status) = found.into_iter().max_by_key(|(at, _)| *at)?;
        Some((present(line.get(..at?)?)?, status))
    })
}
