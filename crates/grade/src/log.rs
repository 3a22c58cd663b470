//! Takes the output of an evaluation script apart.

mod foreign;
mod marks;
mod text;

use std::ops::Range;
use std::sync::OnceLock;

use schema::grading::LogShape;

use marks::{Cut, Marks, exit_code, occurrences};
use text::{with_plain_newlines, without_sequences};

pub use foreign::read_foreign;
pub use text::clean;

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

/// The parts of a log.
///
/// There are two forms of its text. In both, what is not UTF-8 is replaced and every line ends with `\n`. The *official* form is what the
/// official parsers are given, terminal sequences and all: some see them, and name tests by them. The *clean* form has none; it is made when it
/// is asked for.
#[derive(Debug, Clone, Default)]
pub struct LogParts {
    official_text: Text,
    /// `None` when it is the official form.
    clean_text: OnceLock<Option<Text>>,
    cut: Cut,
    /// What the tests' output was found by.
    pub shape: LogShape,
    /// Exit code of the test command, where the script tells it.
    pub test_exit: Option<i32>,
    /// Exit code of the whole script.
    pub script_exit: Option<i32>,
    /// What was printed after the script had told its exit code, which is the last thing that it does.
    pub late: String,
    /// Whether a mark occurs more often than the script prints it.
    pub repeated_marks: bool,
    /// Whether this is a log of SWE-bench's harness, which reads all of one that shows nothing between the marks.
    pub official: bool,
}

/// One form of a log's text.
#[derive(Debug, Clone, Default)]
struct Text {
    whole: String,
    /// Where the tests' output is; `None` when its marks are missing.
    tests: Option<Range<usize>>,
}

impl Text {
    fn new(whole: String, cut: &Cut) -> Self {
        Self {
            tests: cut.tests(&whole),
            whole,
        }
    }

    fn tests(&self) -> Option<&str> {
        self.whole.get(self.tests.clone()?)
    }
}

impl LogParts {
    fn new(log: &[u8], cut: Cut) -> Self {
        Self {
            official_text: Text::new(with_plain_newlines(log), &cut),
            cut,
            ..Self::default()
        }
    }

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
        self.other_text().is_some()
    }

    /// Exit code of the tests, or of the script where theirs is unknown.
    pub fn exit_code(&self) -> Option<i32> {
        self.test_exit.or(self.script_exit)
    }

    fn clean(&self) -> &Text {
        self.other_text().unwrap_or(&self.official_text)
    }

    /// The clean form, where it is not the official one.
    fn other_text(&self) -> Option<&Text> {
        let made = self.clean_text.get_or_init(|| {
            let whole = without_sequences(&self.official_text.whole)?;
            Some(Text::new(whole, &self.cut))
        });
        made.as_ref()
    }
}

/// Takes apart the log of a script that [`crate::eval_script::wrap`] made with this nonce. Marks without the nonce are text like any other.
pub fn read(log: &[u8], nonce: &str) -> LogParts {
    let mark = |mark: &str| format!("{mark} {nonce}");
    let (start, end, script_exit) = (mark(START), mark(END), mark(SCRIPT_EXIT));
    let cut = Cut::Own {
        start: start.clone(),
        end: end.clone(),
    };
    let mut parts = LogParts::new(log, cut);
    let whole = parts.whole();
    let repeated = |mark: &str| occurrences(whole, mark).nth(1).is_some();
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
    let late = after_line(parts.whole(), &script_exit).to_owned();
    parts.late = late;
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

/// What follows the first line with this mark.
fn after_line<'t>(text: &'t str, mark: &str) -> &'t str {
    let from = occurrences(text, mark).next();
    let rest = from.and_then(|from| text.get(from..)).unwrap_or_default();
    rest.split_once('\n').map_or("", |(_, after)| after)
}

/// Takes apart a log of the official harness. Logs of its first versions have no marks: their whole text counts, where it says that a patch was
/// applied. The marks are no secret here, and a log may show the script itself, so it does not matter how often they occur.
pub fn read_official(log: &[u8]) -> LogParts {
    let whole = with_plain_newlines(log);
    let marks = Marks::of(&whole);
    let shape = marks.shape(&whole);
    let (cut, tests) = match shape {
        LogShape::Marked => (Cut::Official, marks.tests(&whole)),
        LogShape::Unmarked => (Cut::Whole, Some(0..whole.len())),
        LogShape::Whole | LogShape::Unreadable | LogShape::Absent => (Cut::Nowhere, None),
    };
    LogParts {
        official_text: Text { whole, tests },
        cut,
        shape,
        test_exit: marks.test_exit,
        official: true,
        ..LogParts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for words in ["APPLIED PATCH", "x applied patch", "aPPLIED pATCH"] {
            assert_eq!(read_official(words.as_bytes()).shape, LogShape::Unmarked);
        }
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
