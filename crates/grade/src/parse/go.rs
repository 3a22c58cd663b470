//! `go test -v`.
//!
//! Rules of `parse_log_gotest`, the same in SWE-bench 4.1.0 and 5.0.2: `--- PASS: Name (time)`, subtests as `Name/sub`. What happens to a whole
//! package (a panic, a failed build) names no test.

use schema::grading::TestStatus;

use super::context::Context;
use super::lines::{after_word, each_stripped};
use super::result::Parsed;

pub(super) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    each_stripped(log, |line| {
        let line = line.strip_prefix("--- ")?;
        let (rest, status) = after_word(
            line,
            &[
                ("PASS: ", TestStatus::Passed),
                ("FAIL: ", TestStatus::Failed),
                ("SKIP: ", TestStatus::Skipped),
            ],
        )?;
        Some((before_parenthesis(rest)?, status))
    })
}

/// The name before the last ` (…)`, which is not empty and ends the line.
fn before_parenthesis(text: &str) -> Option<&str> {
    let inside = text.strip_suffix(')')?;
    // Something must stand in the parenthesis, so one that opens at the very end does not count.
    let last = inside.char_indices().next_back()?.0;
    let open = inside.get(..last)?.rfind(" (")?;
    let name = text.get(..open)?;
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_before_the_last_parenthesis() {
        for (text, name) in [
            ("TestA (0.00s)", Some("TestA")),
            ("TestA/b_(c) (0.00s)", Some("TestA/b_(c)")),
            ("TestA (x) ()", Some("TestA")),
            ("TestA ()", None),
            (" (1s)", None),
            ("TestA", None),
            ("TestA (ä)", Some("TestA")),
        ] {
            assert_eq!(before_parenthesis(text), name, "{text}");
        }
    }
}
