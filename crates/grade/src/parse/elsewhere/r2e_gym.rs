//! R2E-Gym: the short summary of pytest, of which the parts of a name after the file count, joined by dots.
//!
//! Rules of `parse_log_pytest` and of the comparison in R2E-Gym (`src/r2egym`): colours are taken out of the log, then only what stands between
//! the first heading of the summary and the next counts. A line without a test has the empty name. Names are cut before a reason, which of a
//! test that passed only the comparison does, after it has sorted them: of several that are cut to the same the last in that order counts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::Places;
use crate::parse::result::Parsed;
use crate::parse::text::{after_digits, strip};

const HEADING: &str = "short test summary info";

/// What parts a name from a reason.
const REASON: &str = " - ";

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::with_whole_names();
    let Some(summary) = log.split(HEADING).nth(1) else {
        return parsed;
    };
    let summary = strip(summary);
    let first = Places::of(log).line(summary.as_ptr() as usize - log.as_ptr() as usize);
    let found = [
        ("PASSED", TestStatus::Passed),
        ("FAILED", TestStatus::Failed),
        ("ERROR", TestStatus::Error),
    ];
    let mut sorted = Vec::new();
    for (at, line) in summary.split('\n').enumerate() {
        let numbers = |c: char| c == ';' || c.is_ascii_digit();
        let line = without_colours(line, |colour| Some(colour.trim_start_matches(numbers)));
        if let Some((_, status)) = found.into_iter().find(|(word, _)| line.contains(word)) {
            let long = long_name(&line);
            let name = cut(long.clone());
            let key = match status {
                TestStatus::Passed => long,
                _ => name.clone(),
            };
            parsed.found_whole(name, status, first + at);
            sorted.push((key, status, first + at));
        }
    }
    sorted.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    for (key, status, line) in sorted {
        parsed.found(cut(key), status, line);
    }
    parsed
}

/// What follows the file in a line, its parts joined by dots.
fn long_name<'t>(line: &Cow<'t, str>) -> Cow<'t, str> {
    let parts = match line {
        Cow::Borrowed(line) => Cow::Borrowed(after_file(line)),
        Cow::Owned(line) => Cow::Owned(after_file(line).to_owned()),
    };
    if parts.contains("::") {
        return Cow::Owned(parts.replace("::", "."));
    }
    parts
}

fn after_file(line: &str) -> &str {
    line.split_once("::").map_or("", |(_, parts)| parts)
}

/// A name up to its reason.
fn cut(name: Cow<'_, str>) -> Cow<'_, str> {
    match name {
        Cow::Borrowed(name) => Cow::Borrowed(before_reason(name)),
        Cow::Owned(mut name) => {
            name.truncate(before_reason(&name).len());
            Cow::Owned(name)
        }
    }
}

fn before_reason(name: &str) -> &str {
    name.split_once(REASON).map_or(name, |(name, _)| name)
}

/// The text without `ESC[…m`; `end` gives what follows that which may stand between.
fn without_colours<'t>(text: &'t str, end: impl Fn(&'t str) -> Option<&'t str>) -> Cow<'t, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut pieces = text.split('\u{1b}');
    plain.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let rest = piece.strip_prefix('[').and_then(&end);
        if let Some(rest) = rest.and_then(|rest| rest.strip_prefix('m')) {
            plain.push_str(rest);
        } else {
            plain.push('\u{1b}');
            plain.push_str(piece);
        }
    }
    Cow::Owned(plain)
}

/// What is expected of each test, by the names that are compared: colours of one number are taken out, and of several names that are cut to the
/// same the last in their order counts.
pub(crate) fn compared<'n>(
    expected: impl Iterator<Item = (&'n str, TestStatus)>,
) -> BTreeMap<String, TestStatus> {
    let mut sorted: Vec<_> = expected
        .map(|(name, status)| (without_colours(name, after_digits), status))
        .collect();
    sorted.sort_by(|(one, _), (other, _)| one.cmp(other));
    let cut = sorted
        .into_iter()
        .map(|(name, status)| (before_reason(&name).to_owned(), status));
    cut.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use TestStatus::{Error, Failed, Passed};

    fn last_words(lines: &str) -> BTreeMap<String, String> {
        let log = format!("PASSED x.py::early\n==== {HEADING} ====\n{lines}\n");
        let parsed = parse(&log, &Context::default());
        let results = parsed.official.iter();
        results
            .map(|test| (test.name.to_string(), test.word.to_string()))
            .collect()
    }

    fn words(expected: &[(&str, &str)]) -> BTreeMap<String, String> {
        let own = |(name, word): &(&str, &str)| ((*name).to_owned(), (*word).to_owned());
        expected.iter().map(own).collect()
    }

    #[test]
    fn names_are_what_follows_the_file() {
        for (lines, expected) in [
            ("PASSED t.py::A::b[x::y]", &[("A.b[x.y]", "PASSED")][..]),
            ("ERROR t.py - ImportError: no", &[("", "ERROR")]),
            ("FAILED t.py::b - E::c - d", &[("b", "FAILED")]),
            (
                "nothing\nPASSED t.py::a\n\n== short test summary info ==\nPASSED t.py::b",
                &[("a", "PASSED")],
            ),
            (
                "\u{1b}[31mFAILED\u{1b}[0m t.py::\u{1b}[1;36mb\u{1b}[0m - no",
                &[("b", "FAILED")],
            ),
            ("FAILED t.py::a - PASSED", &[("a", "PASSED")]),
        ] {
            assert_eq!(last_words(lines), words(expected), "{lines:?}");
        }
    }

    #[test]
    fn of_names_that_are_cut_to_the_same_the_last_in_order_counts() {
        let passed = ("b", "PASSED");
        for (lines, expected) in [
            ("PASSED t.py::b - 1\nFAILED t.py::b - no", passed),
            ("FAILED t.py::b - no\nPASSED u.py::b", passed),
            ("PASSED u.py::b\nFAILED t.py::b - no", ("b", "FAILED")),
        ] {
            assert_eq!(last_words(lines), words(&[expected]), "{lines:?}");
        }
    }

    #[test]
    fn what_is_expected_has_the_names_that_are_compared() {
        let expected = [
            ("b - 2", Failed),
            ("\u{1b}[1ma\u{1b}[0m", Passed),
            ("b - 1", Passed),
            ("\u{1b}[1;2mc", Error),
            ("", Error),
        ];
        let compared = compared(expected.into_iter());
        let names: Vec<_> = compared
            .iter()
            .map(|(name, status)| (&**name, *status))
            .collect();
        let rest = [("a", Passed), ("b", Failed)];
        assert_eq!(
            names,
            [("", Error), ("\u{1b}[1;2mc", Error), rest[0], rest[1]]
        );
    }
}
