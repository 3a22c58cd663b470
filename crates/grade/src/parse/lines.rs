//! Parsers whose every line stands alone.

use std::borrow::Cow;

use schema::grading::TestStatus;

use super::result::Parsed;
use super::text::strip;

/// The lines of a log with their numbers, from 1.
pub(super) fn numbered(log: &str) -> impl Iterator<Item = (usize, &str)> {
    let ends = memchr::memchr_iter(b'\n', log.as_bytes()).chain(std::iter::once(log.len()));
    let mut start = 0;
    ends.enumerate().map(move |(at, end)| {
        let line = log.get(start..end).unwrap_or_default();
        start = end + 1;
        (at + 1, line)
    })
}

/// Where a part first stands in a line. Lines are so short that preparing a search costs more than the search.
pub(super) fn find(line: &str, part: &str) -> Option<usize> {
    let (line, part) = (line.as_bytes(), part.as_bytes());
    // Spaces are everywhere; what comes after them is not.
    let key = part.iter().position(|byte| *byte != b' ').unwrap_or(0);
    memchr::memchr_iter(*part.get(key)?, line).find_map(|at| {
        let start = at.checked_sub(key)?;
        line.get(start..)?.starts_with(part).then_some(start)
    })
}

/// Where a part stands in a log, for lines that are asked about in their order: the log is searched once, which is quicker than every line.
pub(super) struct Ahead<'a> {
    log: &'a [u8],
    finder: memchr::memmem::Finder<'static>,
    /// The next place; the log's end when there is none.
    next: usize,
}

impl<'a> Ahead<'a> {
    /// The places of a part without newlines.
    pub(super) fn of(log: &'a str, part: &'static str) -> Self {
        let finder = memchr::memmem::Finder::new(part);
        Self {
            log: log.as_bytes(),
            next: finder.find(log.as_bytes()).unwrap_or(log.len()),
            finder,
        }
    }

    /// Where the part first stands in a line, or in a part of one, of this log.
    pub(super) fn find(&mut self, line: &str) -> Option<usize> {
        let start = (line.as_ptr() as usize).saturating_sub(self.log.as_ptr() as usize);
        if self.next < start {
            let rest = self.log.get(start..).unwrap_or_default();
            self.next = self
                .finder
                .find(rest)
                .map_or(self.log.len(), |at| start + at);
        }
        let length = self.finder.needle().len();
        (self.next + length <= start + line.len()).then(|| self.next - start)
    }
}

/// The parts of a line before and after a part of it.
pub(super) fn split<'a>(line: &'a str, part: &str) -> Option<(&'a str, &'a str)> {
    let at = find(line, part)?;
    Some((line.get(..at)?, line.get(at + part.len()..)?))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_ahead() {
        let log = "a ... b\n...\n\n x ...  ... y\n ... ";
        let mut ahead = Ahead::of(log, " ... ");
        for (_, line) in numbered(log) {
            assert_eq!(ahead.find(line), line.find(" ... "), "{line:?}");
            let inner = line.trim();
            let mut ahead = Ahead::of(log, " ... ");
            assert_eq!(ahead.find(inner), inner.find(" ... "), "{line:?}");
        }
    }

    #[test]
    fn lines_and_their_parts() {
        let lines: Vec<_> = numbered("a\n\nb\n").collect();
        assert_eq!(lines, [(1, "a"), (2, ""), (3, "b"), (4, "")]);
        for (line, part) in [
            ("a :b::c", "::"),
            ("a  PASSED b", " PASSED "),
            ("xx  y", "  y"),
            ("a", "b"),
            ("", "a"),
        ] {
            assert_eq!(find(line, part), line.find(part), "{line:?} {part:?}");
            assert_eq!(split(line, part), line.split_once(part));
        }
    }
}
