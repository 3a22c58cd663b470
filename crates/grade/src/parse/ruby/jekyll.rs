//! jekyll, whose instances use one of two runners.
//!
//! Rules of `parse_log_jekyll`, the same in SWE-bench 4.1.0 and 5.0.2: the number of the pull request decides. For another one the official
//! parser breaks off; we read both.

use super::{cucumber, minitest};
use crate::parse::context::Context;
use crate::parse::lines::each_stripped;
use crate::parse::result::Parsed;

pub(in crate::parse) fn parse<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    match context.instance_id.split('-').nth(1) {
        Some("9141" | "8047" | "8167") => minitest::parse(log, context),
        Some("8761" | "8771") => cucumber::parse(log, context),
        _ => {
            let either = |line| minitest::test(line).or_else(|| cucumber::test(line));
            let mut parsed = each_stripped(log, either);
            parsed.unknown_instance(context);
            parsed
        }
    }
}
