//! pytest: the lines of `-rA`'s short summary.
//!
//! Rules of `parse_log_pytest`, `parse_log_pytest_options` and `parse_log_matplotlib` of SWE-bench 4.1.0 and 5.0.2: any line that begins with a
//! status word counts, its second word is the test, so names with spaces are cut, and with them those in the datasets.

use std::borrow::Cow;

use schema::grading::Harness;

use crate::parse::context::Context;
use crate::parse::lines::{find, numbered};
use crate::parse::result::{Parsed, Word};
use crate::parse::text::{first_word, is_digit};

use super::pytest_names;

/// How a repository's tests differ from plain ones.
#[derive(Clone, Copy)]
enum Flavour {
    Plain,
    /// Paths in parameters are those of temporary directories: only their last part counts.
    Options,
    /// Mouse buttons were named and are numbered now.
    Buttons,
}

pub(in crate::parse) fn parse<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    read(log, context, Flavour::Plain)
}

pub(in crate::parse) fn parse_options<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    read(log, context, Flavour::Options)
}

pub(in crate::parse) fn parse_matplotlib<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    read(log, context, Flavour::Buttons)
}

fn read<'a>(log: &'a str, context: &Context<'_>, flavour: Flavour) -> Parsed<'a> {
    let mut parsed = Parsed::with_whole_names();
    for (number, line) in numbered(log) {
        if starts_with_status(line)
            && let Some((word, name)) = first_words(line)
            && !is_skip_count(context, &word, &name)
        {
            let (word, name) = flavoured(word, name, flavour);
            parsed.found(name, Word::official(word), number);
        }
        if let Some((name, status)) = pytest_names::read(line) {
            parsed.found_whole(name, status, number);
        }
    }
    parsed
}

/// Whether a line begins with a word that is a status officially.
pub(super) fn starts_with_status(line: &str) -> bool {
    let word = match line.as_bytes().first() {
        Some(b'P') => "PASSED",
        Some(b'F') => "FAILED",
        Some(b'E') => "ERROR",
        Some(b'S') => "SKIPPED",
        Some(b'X') => "XFAIL",
        Some(_) | None => return false,
    };
    line.starts_with(word)
}

/// Whether a line ends with such a word.
pub(super) fn ends_with_status(line: &str) -> bool {
    match line.as_bytes().last() {
        Some(b'D') => ["PASSED", "FAILED", "SKIPPED"]
            .iter()
            .any(|word| line.ends_with(word)),
        Some(b'R') => line.ends_with("ERROR"),
        Some(b'L') => line.ends_with("XFAIL"),
        Some(_) | None => false,
    }
}

/// The first two words of a line; in one of a failure, the dash before the reason is no word.
pub(super) fn first_words(line: &str) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    let (word, rest) = first_word(line)?;
    let name = first_word(rest).map(|(name, _)| name);
    if line.starts_with("FAILED") {
        // The dash changes something only where it stands before the second word's end.
        let end = name.map_or(line.len(), |name| end_of(line, name));
        let start = line.as_bytes().get(..end + 2).unwrap_or(line.as_bytes());
        if start.windows(3).any(|part| part == b" - ") {
            let line = line.replace(" - ", " ");
            let (word, rest) = first_word(&line)?;
            let (name, _) = first_word(rest)?;
            return Some((Cow::Owned(word.to_owned()), Cow::Owned(name.to_owned())));
        }
    }
    Some((Cow::Borrowed(word), Cow::Borrowed(name?)))
}

/// Where a part of a line ends in it.
fn end_of(line: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(line.as_ptr() as usize) + part.len()
}

/// Whether this is `SKIPPED [3] file:12: reason`, which names no test. Generation 4 took it for one.
pub(super) fn is_skip_count(context: &Context<'_>, word: &str, name: &str) -> bool {
    let is_count = || {
        let count = name
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        count.is_some_and(|count| !count.is_empty() && count.chars().all(is_digit))
    };
    context.harness == Harness::V5 && word == "SKIPPED" && is_count()
}

fn flavoured<'a>(
    word: Cow<'a, str>,
    name: Cow<'a, str>,
    flavour: Flavour,
) -> (Cow<'a, str>, Cow<'a, str>) {
    match flavour {
        Flavour::Plain => (word, name),
        Flavour::Options => match short_option(&name) {
            Some(short) => (word, Cow::Owned(short)),
            None => (word, name),
        },
        Flavour::Buttons => (numbered_buttons(word), numbered_buttons(name)),
    }
}

/// The name up to its last bracket, of a path in it only the last part; `None` when there are no brackets.
fn short_option(name: &str) -> Option<String> {
    let (main, rest) = name.split_once('[')?;
    let (option, _) = rest.rsplit_once(']')?;
    let is_path = option.starts_with('/') && !option.starts_with("//") && !option.contains('*');
    match option.rsplit_once('/') {
        Some((_, last)) if is_path => Some(format!("{main}[/{last}]")),
        _ => Some(format!("{main}[{option}]")),
    }
}

fn numbered_buttons(text: Cow<'_, str>) -> Cow<'_, str> {
    if find(&text, "MouseButton.").is_none() {
        return text;
    }
    let text = text.replace("MouseButton.LEFT", "1");
    Cow::Owned(text.replace("MouseButton.RIGHT", "3"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn official(log: &str, flavour: Flavour, harness: Harness) -> Vec<(String, String)> {
        let context = Context {
            harness,
            ..Context::default()
        };
        let parsed = read(log, &context, flavour);
        let results = parsed.official.iter();
        results
            .map(|test| (test.word.to_string(), test.name.to_string()))
            .collect()
    }

    fn one(log: &str, flavour: Flavour, harness: Harness) -> Option<(String, String)> {
        official(log, flavour, harness).into_iter().next()
    }

    #[test]
    fn the_second_word_is_the_name() {
        for (line, word, name) in [
            ("PASSED t.py::a[x y]", "PASSED", "t.py::a[x"),
            ("FAILED t.py::a - assert", "FAILED", "t.py::a"),
            ("FAILED - t.py::a", "FAILED", "t.py::a"),
            ("PASSED [100%]", "PASSED", "[100%]"),
            ("ERROR: file not found", "ERROR:", "file"),
            ("PASSED\u{1c}a", "PASSED", "a"),
        ] {
            let expected = Some((word.to_owned(), name.to_owned()));
            assert_eq!(one(line, Flavour::Plain, Harness::V5), expected, "{line}");
        }
        for line in ["XPASS t.py::a", "  PASSED t.py::a", "PASSED", "FAILED - "] {
            assert_eq!(one(line, Flavour::Plain, Harness::V5), None, "{line}");
        }
    }

    #[test]
    fn counts_of_skipped_tests_are_tests_in_generation_4_only() {
        let line = "SKIPPED [3] t.py:12: x";
        assert_eq!(one(line, Flavour::Plain, Harness::V5), None);
        let named = Some(("SKIPPED".to_owned(), "[3]".to_owned()));
        assert_eq!(one(line, Flavour::Plain, Harness::V4), named);
    }

    #[test]
    fn flavours_change_names() {
        for (name, short) in [
            ("t.py::a[/tmp/x/y.py]", "t.py::a[/y.py]"),
            ("t.py::a[//tmp/y]", "t.py::a[//tmp/y]"),
            ("t.py::a[/tmp/*.py]", "t.py::a[/tmp/*.py]"),
            ("t.py::a[b]c]d", "t.py::a[b]c]"),
            ("t.py::a[b", "t.py::a[b"),
        ] {
            let named = one(&format!("PASSED {name}"), Flavour::Options, Harness::V5);
            assert_eq!(named.unwrap().1, short);
        }
        let line = "PASSED t.py::a[MouseButton.LEFT-MouseButton.RIGHT]";
        let named = one(line, Flavour::Buttons, Harness::V5);
        assert_eq!(named.unwrap().1, "t.py::a[1-3]");
    }
}
