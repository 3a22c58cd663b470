//! `vitest --reporter=verbose`: `✓ file > suite > name 12ms`.
//!
//! Rules of `parse_log_vitest`, the same in SWE-bench 4.1.0 and 5.0.2.

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::{after_word, each_stripped, present};
use crate::parse::result::Parsed;
use crate::parse::text::{after_space, before_digits, before_space, strip_end};

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    each_stripped(log, |line| {
        let marks = [
            ("✓", TestStatus::Passed),
            ("×", TestStatus::Failed),
            ("↓", TestStatus::Skipped),
        ];
        let (rest, status) = after_word(line, &marks)?;
        Some((without_end(present(after_space(rest)?)?), status))
    })
}

/// Takes a time, with or without a unit, or `[skipped]` off the end: something must stand before it.
fn without_end(text: &str) -> &str {
    let name = || {
        let before = if let Some(before) = text.strip_suffix("[skipped]") {
            before
        } else {
            let number = text.strip_suffix('s').unwrap_or(text);
            let number = number.strip_suffix('m').unwrap_or(number);
            before_digits(strip_end(number))?
        };
        before_space(before).filter(|name| !name.is_empty())
    };
    name().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_marks_are_taken_off() {
        for (text, name) in [
            ("a > b 12ms", "a > b"),
            ("a 12 m", "a"),
            ("a 12", "a"),
            ("a  12s", "a "),
            ("a 1 2", "a 1"),
            ("a [skipped]", "a"),
            (" 12ms", " 12ms"),
            ("a12ms", "a12ms"),
        ] {
            assert_eq!(without_end(text), name, "{text}");
        }
    }
}
