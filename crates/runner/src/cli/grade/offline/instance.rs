//! The row of one instance, out of a file that holds one or many, or out of a task's directory.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use dataset::{LoadOptions, Row};
use serde_json::{Map, Value};

use crate::cli::error::Error;

/// Bytes that a file of instances may have.
const MAX_FILE: u64 = 2 << 30;

/// Reads the row of the instance `id`, or of the only one.
pub(super) fn read(path: &Path, id: Option<&str>) -> Result<Row, Error> {
    if path.is_dir() {
        return row(path, task(path)?);
    }
    let text = text(path)?;
    let rows = rows(&text).map_err(|problem| wrong(path, &problem))?;
    let chosen = choose(path, rows, id)?;
    row(path, chosen)
}

fn wrong(path: &Path, problem: &str) -> Error {
    Error::usage(
        format!("`{}`: {problem}", path.display()),
        "--instance takes a row as JSON, a list of rows, rows by id, rows one a line, or the directory of a task",
    )
}

fn text(path: &Path) -> Result<String, Error> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes))
        .map_err(|source| Error::Read {
            what: "the instance",
            path: path.to_owned(),
            source,
        })?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(wrong(path, &format!("it has more than {MAX_FILE} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to() + 1;
        wrong(path, &format!("byte {at} is not UTF-8"))
    })
}

fn rows(text: &str) -> Result<Vec<Map<String, Value>>, String> {
    let text = text.trim_start_matches('\u{feff}');
    let object = |value: Value, place: String| match value {
        Value::Object(map) => Ok(map),
        _ => Err(format!("{place} is not an object")),
    };
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(items)) => items
            .into_iter()
            .enumerate()
            .map(|(index, item)| object(item, format!("row {}", index + 1)))
            .collect(),
        Ok(Value::Object(map)) if is_row(&map) => Ok(vec![map]),
        Ok(Value::Object(map)) => map
            .into_iter()
            .map(|(id, item)| {
                let mut row = object(item, format!("row {id:?}"))?;
                row.entry("instance_id").or_insert(Value::String(id));
                Ok(row)
            })
            .collect(),
        Ok(_) => Err("it holds no row".to_owned()),
        Err(whole) => {
            let lines = text.lines().enumerate();
            let mut lines = lines.filter(|(_, line)| !line.trim().is_empty()).peekable();
            // A broken document is better described as a whole.
            if lines
                .peek()
                .is_none_or(|(_, line)| serde_json::from_str::<Value>(line).is_err())
            {
                return Err(format!("line {}: {whole}", whole.line()));
            }
            lines
                .map(|(index, line)| {
                    let place = format!("line {}", index + 1);
                    let value =
                        serde_json::from_str(line).map_err(|error| format!("{place}: {error}"))?;
                    object(value, place)
                })
                .collect()
        }
    }
}

fn is_row(map: &Map<String, Value>) -> bool {
    let fields = [
        "instance_id",
        "FAIL_TO_PASS",
        "fail_to_pass",
        "repo",
        "org",
        // R2E-Gym has none of these.
        "repo_name",
        "expected_output_json",
    ];
    fields.iter().any(|field| map.contains_key(*field))
}

fn choose(
    path: &Path,
    mut rows: Vec<Map<String, Value>>,
    id: Option<&str>,
) -> Result<Map<String, Value>, Error> {
    let id_of = |row: &Map<String, Value>| {
        row.get("instance_id")
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let Some(id) = id else {
        return match rows.len() {
            1 => Ok(rows.swap_remove(0)),
            0 => Err(wrong(path, "there is no row in it")),
            count => Err(Error::usage(
                format!("`{}` holds {count} rows", path.display()),
                "say which one with --instance-id",
            )),
        };
    };
    // Multi-SWE-bench's rows get their ids where rows are read: the only one is taken as it is.
    if let [only] = rows.as_slice()
        && id_of(only).is_none_or(|own| own == id)
    {
        return Ok(rows.swap_remove(0));
    }
    if let Some(index) = rows
        .iter()
        .position(|row| id_of(row).as_deref() == Some(id))
    {
        return Ok(rows.swap_remove(index));
    }
    let nearest = rows
        .iter()
        .filter_map(id_of)
        .map(|known| (strsim::jaro_winkler(id, &known), known))
        .max_by(|one, other| one.0.total_cmp(&other.0));
    let hint = match nearest {
        Some((_, known)) => format!("the nearest of its {} rows is `{known}`", rows.len()),
        None => "its rows have no `instance_id`".to_owned(),
    };
    Err(Error::usage(
        format!("`{}` has no row for `{id}`", path.display()),
        hint,
    ))
}

/// A task's directory: `task.yaml` with plain fields, `tests.json` with the two lists.
fn task(path: &Path) -> Result<Map<String, Value>, Error> {
    let file = path.join("task.yaml");
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
    Ok(row)
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

/// The row as all rows are read. What only solving needs may be missing.
fn row(path: &Path, mut fields: Map<String, Value>) -> Result<Row, Error> {
    let absent = |value: Option<&Value>| match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.trim().is_empty(),
        Some(_) => false,
    };
    if absent(fields.get("problem_statement")) {
        fields.insert(
            "problem_statement".to_owned(),
            Value::String("none".to_owned()),
        );
    }
    let set_up = |source| Error::Runtime { source };
    let mut file = tempfile::Builder::new()
        .suffix(".jsonl")
        .tempfile()
        .map_err(set_up)?;
    writeln!(file, "{}", Value::Object(fields)).map_err(set_up)?;
    let read = dataset::load(file.path(), &LoadOptions::default());
    let rows = read.map_err(|error| {
        let told = crate::error::chain(&error);
        let here = file.path().display().to_string();
        let told = told.replace(&here, &path.display().to_string());
        Error::Usage {
            message: told,
            hints: error.hints(),
        }
    })?;
    rows.rows
        .into_iter()
        .next()
        .ok_or_else(|| wrong(path, "there is no row in it"))
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
