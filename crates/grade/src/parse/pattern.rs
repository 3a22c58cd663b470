//! Patterns as the official parsers, which are written in Python, read them.

use std::sync::LazyLock;

use regex::{CaptureMatches, Captures, Regex};

/// A pattern whose `\s`, `\S` and `\w` are Python's. Takes time linear in the length of the text.
pub(super) struct Pattern(LazyLock<Option<Regex>>);

impl Pattern {
    /// One that is compiled when it is needed first: by [`python`].
    pub(super) const fn new(compile: fn() -> Option<Regex>) -> Self {
        Self(LazyLock::new(compile))
    }

    /// The first place where it matches.
    pub(super) fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        self.0.as_ref()?.captures(text)
    }

    /// The text of its first group, where it matches first.
    pub(super) fn first<'t>(&self, text: &'t str) -> Option<&'t str> {
        group(&self.captures(text)?, 1)
    }

    /// Whether it matches anywhere.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|regex| regex.is_match(text))
    }

    /// All places where it matches, none of which overlap.
    pub(super) fn all<'r, 't>(&'r self, text: &'t str) -> impl Iterator<Item = Captures<'t>> + 'r
    where
        't: 'r,
    {
        let all = self.0.as_ref().map(|regex| regex.captures_iter(text));
        all.into_iter().flat_map(CaptureMatches::into_iter)
    }
}

/// Compiles a pattern that is written as in Python.
pub(super) fn python(text: &str) -> Option<Regex> {
    let text = text
        .replace(r"\s", r"[\s\x1c-\x1f]")
        .replace(r"\S", r"[^\s\x1c-\x1f]")
        .replace(r"\w", r"[\p{L}\p{N}_]");
    Regex::new(&text).ok()
}

/// The text of a group.
pub(super) fn group<'t>(captures: &Captures<'t>, number: usize) -> Option<&'t str> {
    captures.get(number).map(|found| found.as_str())
}

/// Names a pattern.
macro_rules! pattern {
    ($name:ident, $text:literal) => {
        static $name: crate::parse::pattern::Pattern =
            crate::parse::pattern::Pattern::new(|| crate::parse::pattern::python($text));
    };
}

pub(super) use pattern;

#[cfg(test)]
mod tests {
    use super::*;

    pattern!(WORDS, r"^(\w+)\s(\S+)");

    #[test]
    fn classes_are_those_of_python() {
        let found = WORDS.captures("ä²\u{1c}-x\u{1d}y").unwrap();
        assert_eq!(
            (group(&found, 1), group(&found, 2)),
            (Some("ä²"), Some("-x"))
        );
        assert!(!WORDS.is_in("\u{301} a"));
        assert_eq!(WORDS.first("a b"), Some("a"));
    }
}
