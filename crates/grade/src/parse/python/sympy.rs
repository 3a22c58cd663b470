//! sympy's own runner (`bin/test -C --verbose`).
//!
//! Rules of `parse_log_sympy` of SWE-bench 4.1.0 and 5.0.2: headings of failures, `____ file.py:test ____`, in any line; and lines of tests,
//! `test_x ok`. Officially those have no file, so tests of the same name are one; whole names take it from the heading before them.

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::{Ahead, find, numbered, split};
use crate::parse::result::Parsed;
use crate::parse::suites::Room;
use crate::parse::text::{first_word, strip};

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::with_whole_names();
    // Officially all headings are read before all other lines, so a heading is never the last word.
    let mut marks = Ahead::of(log, MARK);
    for (number, line) in numbered(log) {
        if let Some(name) = marks.find(line).and_then(|_| heading(line)) {
            parsed.found(name, TestStatus::Failed, number);
        }
    }
    let mut files = Ahead::of(log, COUNTED);
    let mut room = Room::of(log);
    let mut file = "";
    for (number, line) in numbered(log) {
        let counted = files.find(line).and_then(|_| file_of(line));
        file = counted.unwrap_or(file);
        let Some((name, status)) = test(strip(line)) else {
            continue;
        };
        parsed.found(name, status, number);
        if file.is_empty() {
            parsed.found_whole(name, status, number);
        } else if let Some(name) = room.join([file, name].into_iter(), ":") {
            parsed.found_whole(name, status, number);
        }
    }
    parsed
}

/// What a heading has between file and test.
const MARK: &str = ".py:";

/// What a file has before the number of its tests.
const COUNTED: &str = ".py[";

/// `____ sympy/core/tests/test_x.py:test_y ____`: what stands between the first and the last space, where it holds `.py:`.
fn heading(line: &str) -> Option<&str> {
    let (_, after) = split(line, " ")?;
    let (name, _) = after.rsplit_once(' ')?;
    find(name, MARK).map(|_| name)
}

fn test(line: &str) -> Option<(&str, TestStatus)> {
    let (_, word) = line.strip_prefix("test_")?.rsplit_once(' ')?;
    let status = match word {
        "ok" => TestStatus::Passed,
        "F" => TestStatus::Failed,
        "E" => TestStatus::Error,
        _ => return None,
    };
    Some((first_word(line)?.0, status))
}

/// `sympy/core/tests/test_x.py[12]`, the heading of a file's tests.
fn file_of(line: &str) -> Option<&str> {
    let (file, rest) = split(line, COUNTED)?;
    let is_path = !file.is_empty() && !file.contains(char::is_whitespace);
    let counted = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    (is_path && counted.len() < rest.len() && counted.starts_with(']'))
        .then(|| line.get(..file.len() + 3))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_and_lines() {
        let log = "sympy/a/tests/test_a.py[2] \ntest_x ok\ntest_y F\ntest_z f\n\n____ sympy/a/tests/test_a.py:test_y ____\n  File \"a.py:3 in b\n";
        let parsed = parse(log, &Context::default());
        let named = |tests: &[crate::parse::TestResult<'_>]| -> Vec<(String, String)> {
            let tests = tests.iter();
            tests
                .map(|test| (test.name.to_string(), test.word.to_string()))
                .collect()
        };
        let own = |tests: &[(&str, &str)]| -> Vec<(String, String)> {
            let tests = tests.iter();
            tests
                .map(|(name, word)| ((*name).to_owned(), (*word).to_owned()))
                .collect()
        };
        assert_eq!(
            named(&parsed.official),
            own(&[
                ("sympy/a/tests/test_a.py:test_y", "FAILED"),
                (" File \"a.py:3 in", "FAILED"),
                ("test_x", "PASSED"),
                ("test_y", "FAILED"),
            ])
        );
        assert_eq!(
            named(parsed.tests()),
            own(&[
                ("sympy/a/tests/test_a.py:test_x", "PASSED"),
                ("sympy/a/tests/test_a.py:test_y", "FAILED"),
            ])
        );
    }
}
