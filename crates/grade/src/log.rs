//! Takes the output of an evaluation script apart.

mod foreign;

use std::borrow::Cow;
use std::ops::Range;

use schema::grading::LogShape;

pub use foreign::read_foreign;

/// Where the tests' output starts, as the official harness marks it.
pub const START: &str = ">>>>> Start Test Output";
/// Where the tests' output ends, as the official harness marks it.
pub const END: &str = ">>>>> End Test Output";
/// What the test command's exit code follows, as the official harness marks it.
pub const TEST_EXIT: &str = ">>>>> Test Exit Code";
/// What the exit code of the whole script follows; our own mark.
pub const SCRIPT_EXIT: &str = ">>>>> Script Exit Code";

const PATCH_FAILED: &str = ">>>>> Patch Apply Failed";
const TESTS_TIMED_OUT: &str = ">>>>> Tests Timed Out";

/// What the official harness writes when there is no run to judge.
const REFUSALS: [&str; 4] = [
    PATCH_FAILED,
    ">>>>> Reset Failed",
    ">>>>> Tests Errored",
    TESTS_TIMED_OUT,
];

/// The parts of a log.
///
/// There are two forms of its text. In both, what is not UTF-8 is replaced and every line ends with `\n`. The *official* form is what the
/// official parsers are given, terminal sequences and all: some see them, and name tests by them. The *clean* form has none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogParts {
    official_text: Text,
    /// `None` when it is the official form.
    clean_text: Option<Text>,
    /// What the tests' output was found by.
    pub shape: LogShape,
    /// Exit code of the test command, where the script tells it.
    pub test_exit: Option<i32>,
    /// Exit code of the whole script.
    pub script_exit: Option<i32>,
    /// Whether a mark occurs more often than the script prints it.
    pub repeated_marks: bool,
    /// Whether this is a log of SWE-bench's harness, which reads all of one that shows nothing between the marks.
    pub official: bool,
}

/// One form of a log's text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Text {
    whole: String,
    /// Where the tests' output is; `None` when its marks are missing.
    tests: Option<Range<usize>>,
}

impl Text {
    fn tests(&self) -> Option<&str> {
        self.whole.get(self.tests.clone()?)
    }
}

impl LogParts {
    /// The whole log as clean text.
    pub fn whole(&self) -> &str {
        &self.clean().whole
    }

    /// The tests' own output as clean text; `None` when it was not found.
    pub fn tests(&self) -> Option<&str> {
        self.clean().tests()
    }

    /// The whole log in the form that official parsers see.
    pub fn official_whole(&self) -> &str {
        &self.official_text.whole
    }

    /// The tests' own output in the form that official parsers see.
    pub fn official_tests(&self) -> Option<&str> {
        self.official_text.tests()
    }

    /// Whether the two forms differ: there are terminal sequences.
    pub fn has_sequences(&self) -> bool {
        self.clean_text.is_some()
    }

    /// Exit code of the tests, or of the script where theirs is unknown.
    pub fn exit_code(&self) -> Option<i32> {
        self.test_exit.or(self.script_exit)
    }

    fn clean(&self) -> &Text {
        self.clean_text.as_ref().unwrap_or(&self.official_text)
    }
}

/// Takes apart the log of a script that [`crate::eval_script::wrap`] made with this nonce. Marks without the nonce are text like any other.
pub fn read(log: &[u8], nonce: &str) -> LogParts {
    let mark = |mark: &str| format!("{mark} {nonce}");
    let (start, end) = (mark(START), mark(END));
    let mut parts = in_both_forms(log, |text| between(text, &start, &end));
    let whole = parts.whole();
    let repeated = |mark: &str| occurrences(whole, mark).nth(1).is_some();
    let script_exit = mark(SCRIPT_EXIT);
    let last = |mark: &str| {
        occurrences(whole, mark)
            .last()
            .and_then(|at| exit_code(whole, at + mark.len()))
    };
    (parts.repeated_marks, parts.test_exit, parts.script_exit) = (
        repeated(&start) || repeated(&end) || repeated(&script_exit),
        last(&mark(TEST_EXIT)),
        last(&script_exit),
    );
    parts.shape = match parts.official_tests() {
        Some(_) => LogShape::Marked,
        None => LogShape::Unreadable,
    };
    parts
}

/// The nonce of the marks that a script, as [`crate::eval_script::wrap`] made it, prints. It is looked for at the end, which is not the row's.
pub fn nonce(script: &str) -> Option<&str> {
    let (_, rest) = script.rsplit_once(SCRIPT_EXIT)?;
    let nonce = rest.strip_prefix(' ')?.split('\'').next()?;
    let plain = |c: char| c.is_ascii_alphanumeric();
    (!nonce.is_empty() && nonce.chars().all(plain)).then_some(nonce)
}

/// The first exit code of the tests that a log tells.
fn logged_exit(text: &str) -> Option<i32> {
    occurrences(text, TEST_EXIT).find_map(|at| exit_code(text, at + TEST_EXIT.len()))
}

/// Takes apart a log of the official harness. Logs of its first versions have no marks: their whole text counts, where it says that a patch was
/// applied. The marks are no secret here, and a log may show the script itself, so it does not matter how often they occur.
pub fn read_official(log: &[u8]) -> LogParts {
    let mut parts = in_both_forms(log, |_| None);
    let whole = parts.official_whole();
    let shape = official_shape(whole);
    parts.test_exit = logged_exit(whole);
    parts.shape = shape;
    let texts = [Some(&mut parts.official_text), parts.clean_text.as_mut()];
    for text in texts.into_iter().flatten() {
        text.tests = match shape {
            LogShape::Marked => officially_between(&text.whole),
            LogShape::Unmarked => Some(0..text.whole.len()),
            LogShape::Whole | LogShape::Unreadable | LogShape::Absent => None,
        };
    }
    parts.official = true;
    parts
}

fn in_both_forms(log: &[u8], tests: impl Fn(&str) -> Option<Range<usize>>) -> LogParts {
    let whole = with_plain_newlines(log);
    let clean_text = without_sequences(&whole).map(|whole| Text {
        tests: tests(&whole),
        whole,
    });
    LogParts {
        official_text: Text {
            tests: tests(&whole),
            whole,
        },
        clean_text,
        ..LogParts::default()
    }
}

fn occurrences<'t>(text: &'t str, part: &'t str) -> memchr::memmem::FindIter<'t, 't> {
    memchr::memmem::find_iter(text.as_bytes(), part.as_bytes())
}

/// What every mark begins with, so that a log is searched once for all of them.
const MARK: &str = ">>>>> ";

fn official_shape(whole: &str) -> LogShape {
    let (mut start, mut end) = (false, false);
    for at in occurrences(whole, MARK) {
        let mark = whole.get(at..).unwrap_or_default();
        if REFUSALS.iter().any(|refusal| mark.starts_with(refusal)) {
            return LogShape::Unreadable;
        }
        start |= mark.starts_with(START);
        end |= mark.starts_with(END);
    }
    match (start, end) {
        (true, true) => LogShape::Marked,
        (false, false) if says_applied(whole) => LogShape::Unmarked,
        (true | false, true | false) => LogShape::Unreadable,
    }
}

/// Whether a text says "applied patch", in whatever case.
fn says_applied(text: &str) -> bool {
    const WORDS: &[u8] = b"applied patch";
    let bytes = text.as_bytes();
    memchr::memchr2_iter(b'a', b'A', bytes).any(|at| {
        let found = bytes.get(at..at + WORDS.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(WORDS))
    })
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

/// The text from the first start mark to the end mark, the next start mark or the end of the log, as the official harness takes it.
fn officially_between(whole: &str) -> Option<Range<usize>> {
    let from = occurrences(whole, START).next()? + START.len();
    let rest = whole.get(from..)?;
    let until = occurrences(rest, START).next().unwrap_or(rest.len());
    let length = occurrences(rest.get(..until)?, END).next().unwrap_or(until);
    Some(from..from + length)
}

/// The number after the colon that follows a mark.
fn exit_code(text: &str, at: usize) -> Option<i32> {
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

/// Makes a log clean text, once for all parsers: what is not UTF-8 is replaced, terminal sequences are dropped, every line end is `\n` (a lone
/// carriage return too, as a progress bar writes it).
pub fn clean(log: &[u8]) -> String {
    let text = with_plain_newlines(log);
    without_sequences(&text).unwrap_or(text)
}

/// Replaces what is not UTF-8, and makes every line end `\n`, as Python reads text files.
fn with_plain_newlines(log: &[u8]) -> String {
    // Looking for what is not UTF-8 takes longer than finding that there is none.
    let text = str::from_utf8(log).map_or_else(|_| String::from_utf8_lossy(log), Cow::Borrowed);
    if memchr::memchr(b'\r', text.as_bytes()).is_none() {
        return text.into_owned();
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some((before, after)) = rest.split_once('\r') {
        plain.push_str(before);
        plain.push('\n');
        rest = after.strip_prefix('\n').unwrap_or(after);
    }
    plain.push_str(rest);
    plain
}

/// Drops terminal sequences; `None` when there are none.
fn without_sequences(text: &str) -> Option<String> {
    memchr::memchr(0x1b, text.as_bytes())?;
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        cleaned.push_str(before);
        rest = after_escape(after);
    }
    cleaned.push_str(rest);
    Some(cleaned)
}

/// What follows a terminal sequence, given the text after its escape character.
fn after_escape(text: &str) -> &str {
    let mut characters = text.chars();
    match characters.next() {
        // Control sequence: parameters, then one final character.
        Some('[') => {
            let body = characters.as_str();
            let end = body.find(|c: char| !(' '..='?').contains(&c));
            match end {
                Some(end) if matches!(body.as_bytes().get(end), Some(b'@'..=b'~')) => {
                    body.get(end + 1..).unwrap_or_default()
                }
                Some(end) => body.get(end..).unwrap_or_default(),
                None => "",
            }
        }
        // Operating system command (titles, links): up to a bell or a string terminator, within its line.
        Some(']') => {
            let body = characters.as_str();
            match body.find(['\u{7}', '\u{1b}', '\n']) {
                Some(end) if body[end..].starts_with('\u{7}') => &body[end + 1..],
                Some(end) if body[end..].starts_with("\u{1b}\\") => &body[end + 2..],
                Some(end) => &body[end..],
                None => "",
            }
        }
        // Character sets: one more character.
        Some('(' | ')' | '#') => {
            characters.next();
            characters.as_str()
        }
        Some('\n') | None => text,
        Some(_) => characters.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_become_clean_text() {
        for (log, text) in [
            (&b"plain"[..], "plain"),
            (b"a\r\nb\rc\n", "a\nb\nc\n"),
            (b"\x1b[32mPASSED\x1b[0m x\x1b[K", "PASSED x"),
            (b"\x1b]0;title\x07x\x1b]8;;http://x\x1b\\y", "xy"),
            (b"\x1b(Bx\x1b=y\x1b", "xy"),
            (b"\x1b[38;5;1", ""),
            (b"\x1b]never ends\nx", "\nx"),
            (b"bad \xff byte", "bad \u{fffd} byte"),
        ] {
            assert_eq!(clean(log), text);
        }
    }

    #[test]
    fn the_tests_are_cut_out_by_marks_with_the_nonce() {
        let log = b"PASSED early\n+ : '>>>>> Start Test Output n1'\nPASSED a\n>>>>> End Test Output\nPASSED b\n+ : '>>>>> End Test Output n1'\n>>>>> Test Exit Code n1: 1\n>>>>> Script Exit Code n1: 0\n";
        let parts = read(log, "n1");
        assert_eq!(
            parts.tests().unwrap(),
            "'\nPASSED a\n>>>>> End Test Output\nPASSED b\n"
        );
        assert_eq!((parts.test_exit, parts.script_exit), (Some(1), Some(0)));
        assert!(!parts.repeated_marks);
        assert_eq!(read(log, "n2").tests(), None);
        assert_eq!(read(log, "n2").exit_code(), None);
    }

    #[test]
    fn logs_of_the_official_harness() {
        let marked = b"x\n>>>>> Start Test Output\nPASSED a\n>>>>> End Test Output\n>>>>> Test Exit Code: 1\n";
        let parts = read_official(marked);
        assert_eq!(parts.tests().unwrap().trim(), "PASSED a");
        assert_eq!(parts.exit_code(), Some(1));
        assert_eq!(parts.shape, LogShape::Marked);
        let unmarked = read_official(b">>>>> Applied Patch\nPASSED a");
        assert_eq!(unmarked.tests(), Some(">>>>> Applied Patch\nPASSED a"));
        assert_eq!(unmarked.shape, LogShape::Unmarked);
        assert_eq!(read_official(b"PASSED a").shape, LogShape::Unreadable);
        assert_eq!(
            read_official(b">>>>> Start Test Output\nPASSED a").tests(),
            None
        );
        assert_eq!(
            read_official(b"PASSED a\n>>>>> Tests Timed Out\n").tests(),
            None
        );
    }

    #[test]
    fn the_tests_are_cut_out_as_officially() {
        let (start, end) = (START, END);
        for (log, tests) in [
            (
                format!("{start}'\na\n+ : '{end}'\nb{start}c{end}"),
                "'\na\n+ : '",
            ),
            (format!("{start}a{start}b{end}"), "a"),
            (format!("{end}a{start}b"), "b"),
        ] {
            assert_eq!(read_official(log.as_bytes()).official_tests(), Some(tests));
        }
        for log in [
            format!("applied patch {end}"),
            format!("applied patch {start}"),
        ] {
            let parts = read_official(log.as_bytes());
            assert_eq!((parts.tests(), parts.shape), (None, LogShape::Unreadable));
        }
    }

    #[test]
    fn official_parsers_see_terminal_sequences() {
        let log = b">>>>> Start Test Output\n\x1b[32mPASSED a\r\n>>>>> End Test Output >>>>> Test Exit Code: x >>>>> Test Exit Code: -3";
        let parts = read_official(log);
        assert_eq!(parts.official_tests(), Some("\n\u{1b}[32mPASSED a\n"));
        assert_eq!(parts.tests(), Some("\nPASSED a\n"));
        assert_eq!(parts.test_exit, Some(-3));
    }
}
