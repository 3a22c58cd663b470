//! Whole names in the lines of pytest, by its own rules: those of `-rA`'s short summary, and those of `-v`.

use schema::grading::TestStatus;

use crate::parse::lines::{find, split};

/// A line's test and what it did, by pytest's own rules: its whole name, spaces and all.
#[inline]
pub(super) fn read(line: &str) -> Option<(&str, TestStatus)> {
    // Nearly all other lines end here.
    let (first, last) = (line.as_bytes().first()?, line.as_bytes().last()?);
    let may_be_summary = matches!(first, b'P' | b'F' | b'E' | b'S' | b'X');
    let may_be_verbose = matches!(last, b'D' | b'R' | b'L' | b'S' | b']' | b')')
        || last.is_ascii_whitespace()
        || *first == b'[';
    let from_summary = || may_be_summary.then(|| summary_line(line)).flatten();
    let from_verbose = || may_be_verbose.then(|| verbose_line(line)).flatten();
    from_summary().or_else(from_verbose)
}

fn status_of(word: &str) -> Option<TestStatus> {
    match word {
        "PASSED" => Some(TestStatus::Passed),
        "FAILED" => Some(TestStatus::Failed),
        "ERROR" => Some(TestStatus::Error),
        "SKIPPED" => Some(TestStatus::Skipped),
        "XFAIL" => Some(TestStatus::Xfail),
        "XPASS" => Some(TestStatus::Xpass),
        _ => None,
    }
}

/// `PASSED path::test`, `FAILED path::test - reason`, `ERROR path - reason`, …
fn summary_line(line: &str) -> Option<(&str, TestStatus)> {
    let (word, rest) = split(line, " ")?;
    let status = status_of(word)?;
    let rest = rest.trim();
    let name = match status {
        TestStatus::Passed => rest,
        TestStatus::Failed | TestStatus::Error | TestStatus::Xfail | TestStatus::Skipped => {
            before_reason(rest)
        }
        TestStatus::Xpass => before_words(before_reason(rest)),
    };
    is_name(name).then_some((name, status))
}

/// A node's name has a path; `[3] file:12: reason`, `[ 50%]` and prose are none.
fn is_name(name: &str) -> bool {
    let parts = ["::", "/", ".py"];
    !name.starts_with('[') && parts.iter().any(|part| find(name, part).is_some())
}

/// The name before its ` - reason`: the first dash outside of the name's brackets.
fn before_reason(text: &str) -> &str {
    let Some(first) = find(text, " - ") else {
        return text;
    };
    let bytes = text.as_bytes();
    let mut depth = 0_i32;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth -= 1,
            b' ' if depth <= 0 && bytes.get(at..at + 3) == Some(b" - ") => {
                return text.get(..at).unwrap_or(text);
            }
            _ => {}
        }
    }
    // Brackets that never close are part of a parameter; then the first dash is the best guess.
    text.get(..first).unwrap_or(text)
}

/// The name before a reason that only a space parts from it, as older versions write it for XPASS.
fn before_words(text: &str) -> &str {
    let mut depth = 0_i32;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth -= 1,
            b' ' if depth <= 0 => return text.get(..at).unwrap_or(text),
            _ => {}
        }
    }
    text
}

/// `path::test PASSED [ 10%]`, `path::test SKIPPED (reason) [ 10%]`, and with workers `[gw0] [ 10%] PASSED path::test`.
fn verbose_line(line: &str) -> Option<(&str, TestStatus)> {
    if let Some(rest) = line.strip_prefix("[gw") {
        return worker_line(rest);
    }
    let bare = without_percent(line.trim_end());
    let (name, word) = match bare.as_bytes().last()? {
        b')' => before_parenthesis(bare)?,
        b'D' | b'R' | b'L' | b'S' => bare.rsplit_once(' ')?,
        _ => return None,
    };
    let (name, status) = (name.trim_end(), status_of(word)?);
    // The place that a test was inherited from.
    let name = split(name, " <- ").map_or(name, |(name, _)| name);
    (find(name, "::").is_some() && is_name(name) && !name.starts_with(' '))
        .then_some((name, status))
}

/// What follows `[gw` in `[gw0] [ 10%] PASSED path::test`.
fn worker_line(rest: &str) -> Option<(&str, TestStatus)> {
    let (_, rest) = split(rest, "] ")?;
    let rest = match rest.strip_prefix('[') {
        Some(percent) => split(percent, "] ")?.1,
        None => rest,
    };
    let (word, name) = split(rest, " ")?;
    let name = name.trim();
    is_name(name).then_some((name, status_of(word)?))
}

/// The line without its `[ 10%]`.
fn without_percent(line: &str) -> &str {
    line.strip_suffix("%]")
        .and_then(|rest| rest.rsplit_once('['))
        .filter(|(_, percent)| {
            percent
                .bytes()
                .all(|byte| byte == b' ' || byte.is_ascii_digit())
        })
        .map_or(line, |(rest, _)| rest.trim_end())
}

/// The name and the word before the reason in parentheses at the line's end: the first word that such a reason follows.
fn before_parenthesis(line: &str) -> Option<(&str, &str)> {
    memchr::memchr_iter(b'(', line.as_bytes()).find_map(|open| {
        let before = line.get(..open)?.strip_suffix(' ')?;
        let word = ["SKIPPED", "XFAIL", "XPASS"]
            .into_iter()
            .find(|word| before.ends_with(word))?;
        let name = before.strip_suffix(word)?.strip_suffix(' ')?;
        Some((name, word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use TestStatus::{Error, Failed, Passed, Skipped, Xfail, Xpass};

    #[test]
    fn lines_of_the_short_summary() {
        for (line, name, status) in [
            ("PASSED t.py::a", "t.py::a", Passed),
            ("PASSED t.py::a[x y] ", "t.py::a[x y]", Passed),
            ("PASSED t.py::a[1 - 2]", "t.py::a[1 - 2]", Passed),
            ("FAILED t.py::a - assert 1 == 2", "t.py::a", Failed),
            (
                "FAILED t.py::a[x - y] - E: a[0] - b",
                "t.py::a[x - y]",
                Failed,
            ),
            ("FAILED t.py::a[x[ - y - E", "t.py::a[x[", Failed),
            ("FAILED t.py::a", "t.py::a", Failed),
            ("ERROR t.py - ImportError: x", "t.py", Error),
            ("ERROR t.py::a - fixture 'x' not found", "t.py::a", Error),
            ("XFAIL t.py::a - known bug", "t.py::a", Xfail),
            ("XFAIL t.py::a", "t.py::a", Xfail),
            ("XPASS t.py::a[x y] always fixed", "t.py::a[x y]", Xpass),
            ("XPASS t.py::a - reason", "t.py::a", Xpass),
        ] {
            assert_eq!(read(line), Some((name, status)), "{line}");
        }
    }

    #[test]
    fn verbose_lines() {
        for (line, name, status) in [
            (
                "t.py::C::a PASSED                    [ 10%]",
                "t.py::C::a",
                Passed,
            ),
            ("t.py::a[x y] FAILED [100%]", "t.py::a[x y]", Failed),
            ("t.py::a SKIPPED (no network) [ 3%]", "t.py::a", Skipped),
            ("t.py::a XFAIL (bug (1)) [ 3%]", "t.py::a", Xfail),
            ("t.py::a <- base.py PASSED", "t.py::a", Passed),
            ("[gw1] [ 50%] ERROR t.py::a[x y]", "t.py::a[x y]", Error),
            ("[gw1] PASSED t.py::a", "t.py::a", Passed),
        ] {
            assert_eq!(read(line), Some((name, status)), "{line}");
        }
    }

    #[test]
    fn what_is_no_result() {
        for line in [
            "PASSED",
            "PASSED [100%]",
            "SKIPPED [3] t.py:12: no network",
            "ERROR: file not found",
            "FAILED to connect",
            "3 passed, 1 FAILED",
            "   t.py::a PASSED",
            "[gw",
            "[gw0] ",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
