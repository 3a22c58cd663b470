//! Where the tests' output is in a log's text.

use std::ops::Range;

use schema::grading::LogShape;

use super::{END, PATCH_FAILED, START, TEST_EXIT, TESTS_TIMED_OUT};

/// What the official harness writes when there is no run to judge.
const REFUSALS: [&str; 4] = [
    PATCH_FAILED,
    ">>>>> Reset Failed",
    ">>>>> Tests Errored",
    TESTS_TIMED_OUT,
];

/// How the tests' output is found in a text.
#[derive(Debug, Clone, Default)]
pub(super) enum Cut {
    /// Not at all.
    #[default]
    Nowhere,
    /// It is all of it.
    Whole,
    /// It is between the official harness's marks, of which the last may be missing.
    Official,
    /// It is between the official harness's marks where the last is there, else all of it.
    OfficialOrWhole,
    /// It is between these marks, which nobody else knows.
    Own {
        /// The first of them.
        start: String,
        /// The last of them.
        end: String,
    },
    /// It is between the marks as SWE-smith's harness takes them.
    Smith,
}

impl Cut {
    /// Where in a text the tests' output is.
    pub(super) fn tests(&self, text: &str) -> Option<Range<usize>> {
        match self {
            Self::Nowhere => None,
            Self::Whole => Some(0..text.len()),
            Self::Official => Marks::of(text).tests(text),
            Self::OfficialOrWhole => Some(marked(text).unwrap_or(0..text.len())),
            Self::Own { start, end } => between(text, start, end),
            Self::Smith => smith(text),
        }
    }
}

/// What every mark begins with, so that a log is searched once for all of them.
const MARK: &str = ">>>>> ";

/// The official harness's marks in a text.
#[derive(Debug, Default)]
pub(super) struct Marks {
    refused: bool,
    /// Where the first start mark ends.
    start: Option<usize>,
    /// Where the second one begins.
    restart: Option<usize>,
    /// Where the first end mark after the start begins, which is before a second start.
    end: Option<usize>,
    has_end: bool,
    /// The first exit code of the tests.
    pub(super) test_exit: Option<i32>,
}

impl Marks {
    /// All marks of a text.
    pub(super) fn of(text: &str) -> Self {
        let mut marks = Self::default();
        for at in occurrences(text, MARK) {
            marks.note(text, at);
        }
        marks
    }

    fn note(&mut self, text: &str, at: usize) {
        let mark = text.get(at..).unwrap_or_default();
        if mark.starts_with(START) {
            match self.start {
                None => self.start = Some(at + START.len()),
                Some(_) => self.restart = self.restart.or(Some(at)),
            }
        } else if mark.starts_with(END) {
            self.has_end = true;
            if self.start.is_some() && self.restart.is_none() {
                self.end = self.end.or(Some(at));
            }
        } else if mark.starts_with(TEST_EXIT) {
            let code = || exit_code(text, at + TEST_EXIT.len());
            self.test_exit = self.test_exit.or_else(code);
        } else {
            self.refused |= REFUSALS.iter().any(|refusal| mark.starts_with(refusal));
        }
    }

    /// The text from the first start mark to the end mark, the next start mark or the end of the log, as the official harness takes it.
    pub(super) fn tests(&self, text: &str) -> Option<Range<usize>> {
        let end = self.end.or(self.restart).unwrap_or(text.len());
        Some(self.start?..end)
    }

    /// What the official harness takes the text for.
    pub(super) fn shape(&self, text: &str) -> LogShape {
        match (self.start.is_some(), self.has_end) {
            _ if self.refused => LogShape::Unreadable,
            (true, true) => LogShape::Marked,
            (false, false) if says_applied(text) => LogShape::Unmarked,
            (true | false, true | false) => LogShape::Unreadable,
        }
    }
}

/// Where a part occurs in a text.
pub(super) fn occurrences<'t>(text: &'t str, part: &'t str) -> memchr::memmem::FindIter<'t, 't> {
    memchr::memmem::find_iter(text.as_bytes(), part.as_bytes())
}

/// Whether a text says "applied patch", in whatever case.
fn says_applied(text: &str) -> bool {
    const WORDS: &[u8] = b"applied patch";
    let bytes = text.as_bytes();
    let is_at = |at: usize| {
        let found = bytes.get(at..at + WORDS.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(WORDS))
    };
    // Nearly all say it with these letters small, and those are quick to find.
    let usual = occurrences(text, "pplied ").filter_map(|at| at.checked_sub(1));
    usual.into_iter().any(is_at) || memchr::memchr2_iter(b'a', b'A', bytes).any(is_at)
}

/// The text between two marks of ours.
fn between(whole: &str, start: &str, end: &str) -> Option<Range<usize>> {
    let from = occurrences(whole, start).next()? + start.len();
    let length = occurrences(whole.get(from..)?, end).next()?;
    // The end mark's line may have begun before the mark (`+ : '`); its start is no test's output.
    let text = whole.get(from..from + length)?;
    let length = text.rfind('\n').map_or(length, |newline| newline + 1);
    Some(from..from + length)
}

/// What is between the official marks, where both are there.
fn marked(text: &str) -> Option<Range<usize>> {
    let marks = Marks::of(text);
    marks.tests(text).filter(|_| marks.has_end)
}

/// What SWE-smith's harness reads: what is between the marks as a shell traces them; here also between those alone.
fn smith(text: &str) -> Option<Range<usize>> {
    let is_in = |refusal: &str| occurrences(text, refusal).next().is_some();
    if [PATCH_FAILED, TESTS_TIMED_OUT].into_iter().any(is_in) {
        return None;
    }
    traced(text).or_else(|| marked(text))
}

/// What is between the marks as a shell traces them.
fn traced(text: &str) -> Option<Range<usize>> {
    let trace = |mark: &str| format!("+ : '{mark}'");
    let (start, end) = (trace(START), trace(END));
    let from = occurrences(text, &start).next()? + start.len();
    let until = occurrences(text, &end).next()?;
    (from <= until).then_some(from..until)
}

/// The number after the colon that follows a mark.
pub(super) fn exit_code(text: &str, at: usize) -> Option<i32> {
    let rest = text.get(at..)?.strip_prefix(':')?.trim_start();
    let digits = rest.strip_prefix('-').unwrap_or(rest);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    let length = rest.len() - digits.len() + count;
    // Codes beyond all numbers are still codes, and not 0.
    (count > 0).then(|| {
        rest.get(..length)
            .and_then(|code| code.parse().ok())
            .unwrap_or(i32::MAX)
    })
}
