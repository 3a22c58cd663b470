//! jest's lines of whole files: `PASS src/a.test.js (1.2 s)`.
//!
//! Rules of `parse_log_react_pdf`, the same in SWE-bench 4.1.0 and 5.0.2, and of `parse_log_carbon` of 5.0.2, which `lighthouse` uses too. What
//! follows the time does not count; of the three forms of a time the first that is there is taken, and of it the last.

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::{after_word, numbered};
use crate::parse::result::Parsed;
use crate::parse::text::{after_space, before_space, is_digit};

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    let words = [("PASS", TestStatus::Passed), ("FAIL", TestStatus::Failed)];
    for (number, line) in numbered(log) {
        if let Some((rest, status)) = after_word(line, &words)
            && let Some(name) = after_space(rest)
        {
            parsed.found(without_time(name), status, number);
        }
    }
    parsed
}

fn without_time(text: &str) -> &str {
    let forms: [fn(&str) -> bool; 3] = [
        |unit| unit.starts_with("ms)"),
        |unit| after_space(unit).is_some_and(|unit| unit.starts_with("s)")),
        |unit| unit.starts_with("s)"),
    ];
    let name = forms.into_iter().find_map(|form| {
        text.rmatch_indices('(').find_map(|(open, _)| {
            let inside = text.get(open + 1..)?;
            let unit = inside.trim_start_matches(|c| c == '.' || is_digit(c));
            if unit.len() == inside.len() || !form(unit) {
                return None;
            }
            before_space(text.get(..open)?)
        })
    });
    name.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_taken_off() {
        for (text, name) in [
            ("a.js (12ms)", "a.js"),
            ("a.js (1.2 s) x", "a.js"),
            ("a.js (1.2s) (3s)", "a.js (1.2s)"),
            ("a.js (12ms) (3s)", "a.js"),
            ("a.js(12ms)", "a.js(12ms)"),
            ("a.js", "a.js"),
        ] {
            assert_eq!(without_time(text), name, "{text}");
        }
    }
}
