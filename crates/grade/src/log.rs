//! Takes the output of an evaluation script apart.

/// Where the tests' output starts, as the official harness marks it.
pub const START: &str = ">>>>> Start Test Output";
/// Where the tests' output ends, as the official harness marks it.
pub const END: &str = ">>>>> End Test Output";
/// What the test command's exit code follows, as the official harness marks it.
pub const TEST_EXIT: &str = ">>>>> Test Exit Code";
/// What the exit code of the whole script follows; our own mark.
pub const SCRIPT_EXIT: &str = ">>>>> Script Exit Code";

/// What the official harness writes when there is no run to judge.
const REFUSALS: [&str; 4] = [
    ">>>>> Patch Apply Failed",
    ">>>>> Reset Failed",
    ">>>>> Tests Errored",
    ">>>>> Tests Timed Out",
];

/// The parts of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogParts {
    /// The whole log as clean text.
    pub whole: String,
    /// Where in `whole` the tests' output is; `None` when its marks are missing.
    tests: Option<std::ops::Range<usize>>,
    /// Exit code of the test command, where the script tells it.
    pub test_exit: Option<i32>,
    /// Exit code of the whole script.
    pub script_exit: Option<i32>,
    /// Whether a mark occurs more often than the script prints it.
    pub repeated_marks: bool,
    /// Whether this is a log of the official harness, whose marks are no secret.
    pub official: bool,
}

impl LogParts {
    /// The tests' own output; `None` when the marks around it are missing.
    pub fn tests(&self) -> Option<&str> {
        self.tests.clone().and_then(|range| self.whole.get(range))
    }

    /// Exit code of the tests, or of the script where theirs is unknown.
    pub fn exit_code(&self) -> Option<i32> {
        self.test_exit.or(self.script_exit)
    }
}

/// Takes apart the log of a script that [`crate::eval_script::wrap`] made with this nonce. Marks without the nonce are text like any other.
pub fn read(log: &[u8], nonce: &str) -> LogParts {
    cut(clean(log), &|mark| format!("{mark} {nonce}"))
}

/// Takes apart a log of the official harness. Logs of its first versions have no marks: their whole text counts.
pub fn read_official(log: &[u8]) -> LogParts {
    let mut parts = cut(clean(log), &str::to_owned);
    let unmarked = !parts.whole.contains(START) && !parts.whole.contains(END);
    if unmarked {
        parts.tests = Some(0..parts.whole.len());
    }
    // Here the marks are no secret, and a log may show the script itself.
    parts.repeated_marks = false;
    parts.official = true;
    if REFUSALS.iter().any(|refusal| parts.whole.contains(refusal)) {
        parts.tests = None;
    }
    parts
}

fn cut(whole: String, mark: &dyn Fn(&str) -> String) -> LogParts {
    let (start, end) = (mark(START), mark(END));
    let tests = whole
        .find(&start)
        .map(|at| at + start.len())
        .and_then(|from| {
            let length = whole.get(from..)?.find(&end)?;
            // The end mark's line may have begun before the mark (`+ : '`); its start is no test's output.
            let text = whole.get(from..from + length)?;
            let length = text.rfind('\n').map_or(length, |newline| newline + 1);
            Some(from..from + length)
        });
    let repeated = |mark: &str| whole.matches(mark).count() > 1;
    LogParts {
        test_exit: exit_code(&whole, &mark(TEST_EXIT)),
        script_exit: exit_code(&whole, &mark(SCRIPT_EXIT)),
        repeated_marks: repeated(&start) || repeated(&end) || repeated(&mark(SCRIPT_EXIT)),
        official: false,
        tests,
        whole,
    }
}

/// The number after the last `<mark>:`.
fn exit_code(text: &str, mark: &str) -> Option<i32> {
    let at = text.rfind(mark)? + mark.len();
    let rest = text.get(at..)?.strip_prefix(':')?.trim_start();
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '-')
        .unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

/// Makes a log clean text, once for all parsers: what is not UTF-8 is replaced, terminal sequences are dropped, every line end is `\n` (a lone
/// carriage return too, as a progress bar writes it).
pub fn clean(log: &[u8]) -> String {
    let text = String::from_utf8_lossy(log);
    // Asked one by one: that is a fast search.
    if !text.contains('\u{1b}') && !text.contains('\r') {
        return text.into_owned();
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find(['\u{1b}', '\r']) {
        let (before, special) = rest.split_at(at);
        cleaned.push_str(before);
        rest = match special.strip_prefix('\r') {
            Some(after) => {
                cleaned.push('\n');
                after.strip_prefix('\n').unwrap_or(after)
            }
            None => after_escape(special.get(1..).unwrap_or_default()),
        };
    }
    cleaned.push_str(rest);
    cleaned
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
        assert_eq!(read_official(b"PASSED a").tests(), Some("PASSED a"));
        assert_eq!(
            read_official(b">>>>> Start Test Output\nPASSED a").tests(),
            None
        );
        assert_eq!(
            read_official(b"PASSED a\n>>>>> Tests Timed Out\n").tests(),
            None
        );
    }
}
