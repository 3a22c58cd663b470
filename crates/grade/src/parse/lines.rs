//! Parsers whose every line stands alone.

use std::borrow::Cow;

use schema::grading::TestStatus;

use super::result::Parsed;
use super::text::strip;

/// The lines of a log with their numbers, from 1.
pub(super) fn numbered(log: &str) -> impl Iterator<Item = (usize, &str)> {
    log.split('\n').enumerate().map(|(at, line)| (at + 1, line))
}

/// Reads each line, white space around it taken off, by a rule of its own.
pub(super) fn each_stripped<'a, N: Into<Cow<'a, str>>>(
    log: &'a str,
    read: impl Fn(&'a str) -> Option<(N, TestStatus)>,
) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    for (number, line) in numbered(log) {
        if let Some((name, status)) = read(strip(line)) {
            parsed.found(name, status, number);
        }
    }
    parsed
}

/// Takes one of several words off the start of a line, with what it means.
pub(super) fn after_word<'a>(
    line: &'a str,
    words: &[(&str, TestStatus)],
) -> Option<(&'a str, TestStatus)> {
    words
        .iter()
        .find_map(|(word, status)| Some((line.strip_prefix(word)?, *status)))
}

/// A text that is not empty.
pub(super) fn present(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// Numbers of lines for places in a log that are asked for in ascending order.
pub(super) struct Places<'a> {
    log: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Places<'a> {
    /// The places of a log.
    pub(super) fn of(log: &'a str) -> Self {
        Self {
            log,
            at: 0,
            line: 1,
        }
    }

    /// The number of the line in which a place is.
    pub(super) fn line(&mut self, at: usize) -> usize {
        let between = self.log.as_bytes().get(self.at..at).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', between).count();
        self.at = self.at.max(at);
        self.line
    }
}
