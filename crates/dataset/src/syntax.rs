//! Errors in the text of a row, with their place in the file.

use std::path::Path;

use crate::error::Error;
use crate::position::Position;
use crate::unique;

/// `bytes`, which start at `start`, as text.
pub(crate) fn utf8<'a>(path: &Path, start: Position, bytes: &'a [u8]) -> Result<&'a str, Error> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let at = start.after(before);
        Error::NotUtf8 {
            path: path.into(),
            line: at.line,
            column: at.indent + 1,
        }
    })
}

/// `error`, met in `text`, which starts at `start`.
pub(crate) fn malformed(
    path: &Path,
    start: Position,
    text: &str,
    error: &serde_json::Error,
) -> Error {
    let message = error.to_string();
    let problem = message
        .rsplit_once(" at line ")
        .map_or(message.as_str(), |(problem, _)| problem);
    // Both count from 1; a column of 0 is the end of the line before.
    let lines = (error.line() as u64).saturating_sub(1);
    let indent = if lines == 0 { start.indent } else { 0 };
    Error::Malformed {
        path: path.into(),
        line: start.line + lines,
        column: indent + (error.column() as u64).max(1),
        problem: problem.into(),
        hint: Some(
            hint(text, error).unwrap_or(
                "write rows with a JSON library, such as Python's json.dumps, not by hand",
            ),
        ),
    }
}

/// How such a text comes about, where it is known.
fn hint(text: &str, error: &serde_json::Error) -> Option<&'static str> {
    if error.is_eof() {
        return Some(
            "the row stops short: the file may be cut, or a row of a .jsonl file be spread over several lines",
        );
    }
    let said = error.to_string();
    if said.contains(unique::TWICE) {
        return Some("keep one of the two: readers differ in which one they take");
    }
    if said.contains("recursion limit") {
        return Some(
            "lists and objects may lie 127 deep in each other; keep what is deeper as text",
        );
    }
    let line = text.split('\n').nth(error.line().saturating_sub(1))?;
    // The parser stops at the first byte that it cannot use, or just behind it.
    let from = error.column().saturating_sub(2);
    let near = line.as_bytes().get(from..)?;
    let shows = |words: &[&str]| {
        words.iter().any(|word| {
            (0..2).any(|skipped| {
                near.get(skipped..)
                    .is_some_and(|near| near.starts_with(word.as_bytes()))
            })
        })
    };
    if shows(&["NaN", "Infinity", "-Infinity"]) {
        return Some(
            "NaN and Infinity are not JSON: write null instead (json.dumps(…, allow_nan=False) finds them)",
        );
    }
    if shows(&["'", "None", "True", "False"]) {
        return Some("this looks like Python's repr of a dictionary: write it with json.dumps");
    }
    said.contains("hex escape")
        .then_some("half of a surrogate pair is not text: the row was made from broken UTF-16")
}
