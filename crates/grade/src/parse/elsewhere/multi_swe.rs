//! Multi-SWE-bench: parsers that sort tests into those that passed, failed and were skipped.
//!
//! Rules of the classes in Multi-SWE-bench (`multi_swe_bench/harness/repos`, December 2025) for the repositories of its first release, those
//! without a `number_interval`. A test that is in two of the three sets breaks the original off.

pub(in crate::parse) mod gradle;
pub(in crate::parse) mod jest;
pub(in crate::parse) mod lists;
pub(in crate::parse) mod mocha_json;
mod sets;
pub(in crate::parse) mod surefire;

use std::borrow::Cow;

use crate::parse::context::Context;
use crate::parse::pattern::Pattern;
use crate::parse::result::Parsed;
use crate::parse::text::{python_lines, strip};
use sets::{Set, Sets};

/// Reads each line, white space around it taken off, by patterns whose first group is a test's name.
fn by_lines<'a>(log: &'a str, patterns: &[(&Pattern, Set)]) -> Parsed<'a> {
    let mut sets = Sets::default();
    for (at, line) in python_lines(log).enumerate() {
        let line = strip(line);
        for (pattern, set) in patterns {
            if let Some(name) = pattern.first(line) {
                sets.add(*set, Cow::Borrowed(name), at + 1);
            }
        }
    }
    sets.into_parsed()
}

/// The number of the pull request, which ends the instance's id; 0 where none does.
fn pull_request(context: &Context<'_>) -> u64 {
    let id = context.instance_id;
    let digits = id.len() - id.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let number = id.get(id.len() - digits..).map(str::parse);
    number.and_then(Result::ok).unwrap_or_default()
}
