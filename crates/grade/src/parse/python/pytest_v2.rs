//! pytest, coloured or old: the lines of the short summary, and those of `-v` that end with the status.
//!
//! Rules of `parse_log_pytest_v2` of SWE-bench 4.1.0 and 5.0.2. Colours of one number and control characters are taken out first, tabs too.
//! Generation 4 cuts names at the first space; 5 keeps them whole, and a failure's up to its reason.

use std::borrow::Cow;

use schema::grading::Harness;

use crate::parse::context::Context;
use crate::parse::lines::numbered;
use crate::parse::result::{Parsed, Word};
use crate::parse::text::{after_digits, single_spaced, strip, words};

use super::pytest::{ends_with_status, first_words, is_skip_count, starts_with_status};
use super::pytest_names;

pub(in crate::parse) fn parse<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::with_whole_names();
    for (number, line) in numbered(log) {
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
            let mut words = words(line);
            Some((words.next()?.into(), words.next()?.into()))
        }
        Harness::V5 => {
            let line = strip(line);
            let word = words(line).next_back()?;
            let name = single_spaced(line.strip_suffix(word)?);
            (!name.is_empty()).then_some((name, word.into()))
        }
    }
}

fn whole_summary<'a>(line: &'a str, context: &Context<'_>) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
    let line = match line.split_once(" - ") {
        Some((before, _)) if line.starts_with("FAILED") => before,
        _ => line,
    };
    let word = words(line).next()?;
    let name = single_spaced(line.strip_prefix(word)?);
    let second = words(&name).next()?;
    (!is_skip_count(context, word, second)).then_some((name, word.into()))
}

/// Takes out what is left of colours, then control characters.
fn without_colours(line: &str) -> Cow<'_, str> {
    let is_control = |byte: &u8| matches!(byte, 1..=31);
    let mut rest = line;
    let mut cleaned: Option<String> = None;
    let mut kept = 0;
    // Positions are those in `line`; what is kept is copied only when something is not.
    while let Some(at) = memchr::memchr(b'[', rest.as_bytes()) {
        let bracket = line.len() - rest.len() + at;
        rest = line.get(bracket + 1..).unwrap_or_default();
        if let Some(after) = after_digits(rest).and_then(|after| after.strip_prefix('m')) {
            let copy = cleaned.get_or_insert_default();
            copy.push_str(line.get(kept..bracket).unwrap_or_default());
            rest = after;
            kept = line.len() - rest.len();
        }
    }
    let coloured = match cleaned {
        Some(mut copy) => {
            copy.push_str(line.get(kept..).unwrap_or_default());
            Cow::Owned(copy)
        }
        None => Cow::Borrowed(line),
    };
    if !coloured.as_bytes().iter().any(is_control) {
        return coloured;
    }
    let plain = coloured
        .chars()
        .filter(|character| !matches!(character, '\u{1}'..='\u{1f}'));
    Cow::Owned(plain.collect())
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
