//! The directory of a task: what generation 5 of the official harness compiles its datasets from.

use std::fs;
use std::path::Path;

use dataset::Row;
use serde_json::{Map, Value};

use crate::cli::error::Error;

/// The file that makes a directory one of a task.
const FILE: &str = "task.yaml";

/// Whether this is the directory of a task.
pub(super) fn is_at(path: &Path) -> bool {
    path.join(FILE).is_file()
}

fn wrong(path: &Path, problem: &str) -> Error {
    Error::usage(
        format!("`{}`: {problem}", path.display()),
        "the directory of a task holds `task.yaml` with plain fields and `tests.json` with two lists",
    )
}

fn text(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|source| Error::Read {
        what: "the instance",
        path: path.to_owned(),
        source,
    })
}

/// A task's directory: `task.yaml` with plain fields, `tests.json` with the two lists.
pub(super) fn read(path: &Path) -> Result<Row, Error> {
    let file = path.join(FILE);
    let mut row = Map::new();
    for line in text(&file)?.lines() {
        if let Some((name, value)) = field(line) {
            row.insert(name, Value::String(value));
        }
    }
    let tests = path.join("tests.json");
    let lists = serde_json::from_str::<Map<String, Value>>(&text(&tests)?)
        .map_err(|error| wrong(&tests, &error.to_string()))?;
    for (name, list) in lists {
        row.insert(name, list);
    }
    if !row.contains_key("instance_id") {
        return Err(wrong(&file, "it has no `instance_id`"));
    }
    Ok(Row::of_fields(path, row)?)
}

/// `name: value` at the beginning of a line, the value plain or in quotes. Nothing else of such a file is needed here.
fn field(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(plain) {
        return None;
    }
    let value = value.trim();
    let quoted = |quote: char| {
        let inner = value.strip_prefix(quote)?.strip_suffix(quote)?;
        Some(inner.to_owned())
    };
    let value = quoted('"').or_else(|| quoted('\'')).unwrap_or_else(|| {
        value
            .split(" #")
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    });
    (!value.is_empty()).then(|| (name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_fields_of_a_task_are_read() {
        for (line, expected) in [
            ("instance_id: a__b-1", Some(("instance_id", "a__b-1"))),
            ("version: '1.10'", Some(("version", "1.10"))),
            ("version: \"1.10\"", Some(("version", "1.10"))),
            (
                "log_parser: parse_log_tap # plain",
                Some(("log_parser", "parse_log_tap")),
            ),
            ("image: a/b:c", Some(("image", "a/b:c"))),
            ("datasets:", None),
            ("  - x: y", None),
            ("# a: b", None),
        ] {
            let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(field(line), expected, "{line}");
        }
    }
}
