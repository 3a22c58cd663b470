//! The test suite of redis and valkey: `[ok]: name (12 ms)`.
//!
//! Rules of `parse_log_redis`, the same in SWE-bench 4.1.0 and 5.0.2. A failure's name loses the file that it ends with.

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::{after_word, each_stripped, present};
use crate::parse::result::Parsed;
use crate::parse::text::{after_space, is_space, strip_end, without_duration};

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    each_stripped(log, |line| {
        let words = [
            ("[ok]:", TestStatus::Passed),
            ("[err]:", TestStatus::Failed),
            ("[skip]:", TestStatus::Skipped),
            ("[ignore]:", TestStatus::Skipped),
        ];
        let (rest, status) = after_word(line, &words)?;
        let name = without_duration(present(after_space(rest)?)?);
        let failed = status == TestStatus::Failed;
        Some((if failed { without_file(name) } else { name }, status))
    })
}

/// Takes ` in tests/x.tcl` off the end.
fn without_file(name: &str) -> &str {
    let before = || {
        let rest = name.trim_end_matches(|c| !is_space(c));
        let bare = strip_end(rest);
        if rest.len() == name.len() || bare.len() == rest.len() {
            return None;
        }
        let before = bare.strip_suffix("in")?;
        let name = strip_end(before);
        (name.len() < before.len()).then_some(name)
    };
    before().unwrap_or(name)
}
