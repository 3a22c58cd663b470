//! pytest, coloured or old: the lines of the short summary, and those of `-v` that end with the status.
//!
//! Rules of `parse_log_pytest_v2` of SWE-bench 4.1.0 and 5.0.2. Colours of one number and control characters are taken out first, tabs too.
//! Generation 4 cuts names at the first space; 5 keeps them whole, and a failure's up to its reason.

use std::borrow::Cow;

use schema::grading::Harness;

use crate::parse::context::Context;
use crate::parse::lines::{numbered, split};
use crate::parse::result::{Parsed, Word};
use crate::parse::text::{after_digits, any_byte, first_word, last_word, single_spaced};

use super::pytest::{ends_with_status, first_words, is_skip_count, starts_with_status};
use super::pytest_names;

pub(in crate::parse) fn parse<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::with_whole_names();
    for (number, line) in numbered(log).filter(|(_, line)| may_be_result(line)) {
        match without_colours(line) {
            Cow::Borrowed(line) => {
                if let Some((name, word)) = read(line, context) {
                    parsed.found(name, Word::official(word), number);
                }
                if let Some((name, status)) = pytest_names::read(line) {
                    parsed.found_whole(name, status, number);
                }
            }
            Cow::Owned(line) => {
                if let Some((name, word)) = read(&line, context) {
                    parsed.found(name.into_owned(), Word::official(word.into_owned()), number);
                }
                if let Some((name, status)) = pytest_names::read(&line) {
                    parsed.found_whole(name.to_owned(), status, number);
                }
            }
        }
    }
    parsed
}

/// Whether a line's first or last byte is one that a result has, or one that may be taken out.
fn may_be_result(line: &str) -> bool {
    let bytes = line.as_bytes();
    matches!(
        bytes.first(),
        Some(b'P' | b'F' | b'E' | b'S' | b'X' | b'[' | 1..=31)
    ) || matches!(
        bytes.last(),
        Some(b'D' | b'R' | b'L' | b'S' | b']' | b')' | b'm' | 1..=b' ')
    )
}

/// A line's test and word.
fn read<'a>(line: &'a str, context: &Context<'_>) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
    if starts_with_status(line) {
        return match context.harness {
            Harness::V4 => first_words(line).map(|(word, name)| (name, word)),
            Harness::V5 => whole_summary(line, context),
        };
    }
    if !ends_with_status(line) {
        return None;
    }
    match context.harness {
        Harness::V4 => {
            let (name, rest) = first_word(line)?;
            Some((name.into(), first_word(rest)?.0.into()))
        }
        Harness::V5 => {
            let (before, word) = last_word(line)?;
            let name = single_spaced(before);
            (!name.is_empty()).then_some((name, word.into()))
        }
    }
}

fn whole_summary<'a>(line: &'a str, context: &Context<'_>) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
    let reason = line
        .starts_with("FAILED")
        .then(|| split(line, " - "))
        .flatten();
    let (word, rest) = first_word(reason.map_or(line, |(before, _)| before))?;
    let name = single_spaced(rest);
    let (second, _) = first_word(&name)?;
    (!is_skip_count(context, word, second)).then_some((name, word.into()))
}

/// Takes out what is left of colours, then control characters.
fn without_colours(line: &str) -> Cow<'_, str> {
    let coloured = without_numbers(line);
    if !any_byte(&coloured, |byte| matches!(byte, 1..=31)) {
        return coloured;
    }
    let mut plain = String::with_capacity(coloured.len());
    plain.extend(coloured.split(|character| matches!(character, '\u{1}'..='\u{1f}')));
    Cow::Owned(plain)
}

/// Takes out `[12m`, for any number.
fn without_numbers(line: &str) -> Cow<'_, str> {
    let mut plain = String::new();
    let mut kept = 0;
    for bracket in memchr::memchr_iter(b'[', line.as_bytes()) {
        let number = line.get(bracket + 1..).and_then(after_digits);
        if let Some(after) = number.and_then(|after| after.strip_prefix('m')) {
            plain.reserve(line.len() - kept);
            plain.push_str(line.get(kept..bracket).unwrap_or_default());
            kept = line.len() - after.len();
        }
    }
    if kept == 0 {
        return Cow::Borrowed(line);
    }
    plain.push_str(line.get(kept..).unwrap_or_default());
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str, harness: Harness) -> Option<(String, String)> {
        let context = Context {
            harness,
            ..Context::default()
        };
        let parsed = parse(line, &context);
        let test = parsed.official.into_iter().next()?;
        Some((test.name.into_owned(), test.word.to_string()))
    }

    #[test]
    fn names_are_cut_in_generation_4_and_whole_in_5() {
        for (line, four, five) in [
            (
                "PASSED t.py::a[x y]",
                ("t.py::a[x", "PASSED"),
                ("t.py::a[x y]", "PASSED"),
            ),
            (
                "FAILED t.py::a[x  y] - E - F",
                ("t.py::a[x", "FAILED"),
                ("t.py::a[x y]", "FAILED"),
            ),
            (
                "t.py::a[x y] PASSED",
                ("t.py::a[x", "y]"),
                ("t.py::a[x y]", "PASSED"),
            ),
            (
                "\u{1b}[32mPASSED\u{1b}[0m t.py::a",
                ("t.py::a", "PASSED"),
                ("t.py::a", "PASSED"),
            ),
            ("PASS[1mED t\tu", ("tu", "PASSED"), ("tu", "PASSED")),
            (
                "Compiling x ... ERROR",
                ("Compiling", "x"),
                ("Compiling x ...", "ERROR"),
            ),
        ] {
            let own = |(name, word): (&str, &str)| Some((name.to_owned(), word.to_owned()));
            assert_eq!(one(line, Harness::V4), own(four), "{line}");
            assert_eq!(one(line, Harness::V5), own(five), "{line}");
        }
    }

    #[test]
    fn what_is_no_result() {
        for line in [
            "PASSED",
            "FAILED - x",
            " ",
            "[1;31mPASSED x",
            "x PASSED ",
            "SKIPPED [1] a",
        ] {
            assert_eq!(one(line, Harness::V5), None, "{line}");
        }
    }
}
