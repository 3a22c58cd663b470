//! A configuration file: TOML with one key for each setting.

use std::path::Path;

use dataset::hub::Id;
use serde_json::Value;
use toml::de::DeTable;

use super::options::PATHS;
use super::{Error, Options, Table, advice, check};

/// Reads a file that must exist.
pub(super) fn read(path: &Path) -> Result<Table, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    let mut table = parse(&text, path)?;
    if let Some(directory) = path.parent() {
        for key in PATHS {
            if let Some(Value::String(value)) = table.get_mut(key) {
                let path = directory.join(&*value);
                if key == "dataset" && is_elsewhere(value, &path) {
                    continue;
                }
                *value = path.to_string_lossy().into_owned();
            }
        }
    }
    Ok(table)
}

/// Whether a dataset is no file beside the configuration: standard input, or one of the hub.
fn is_elsewhere(value: &str, path: &Path) -> bool {
    value == "-" || (Id::parse(value).is_some() && !path.exists())
}

/// Reads a file that need not exist.
pub(super) fn read_if_present(path: &Path) -> Result<Option<Table>, Error> {
    match read(path) {
        Err(Error::Read { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok(None)
        }
        other => other.map(Some),
    }
}

/// Parses `text` and checks each key and value; errors name the line.
pub(super) fn parse(text: &str, path: &Path) -> Result<Table, Error> {
    let place = |offset: usize| format!("{}:{}", path.display(), line_of(text, offset));
    let invalid = |offset: usize, problem: String, hint: Option<String>| Error::Invalid {
        place: place(offset),
        problem,
        hint,
    };
    let document = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        invalid(offset, error.message().to_owned(), None)
    })?;
    let table: Table = toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        invalid(offset, error.message().to_owned(), None)
    })?;
    let known = Options::keys();
    for key in document.get_ref().keys() {
        let (name, offset) = (key.get_ref().as_ref(), key.span().start);
        if !known.iter().any(|known| known == name) {
            let hint = Some(advice(name, &known));
            return Err(invalid(offset, format!("unknown key `{name}`"), hint));
        }
        if let Some(value) = table.get(name) {
            check(name, value).map_err(|problem| invalid(offset, problem, None))?;
        }
    }
    Ok(table)
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text
        .bytes()
        .take(offset)
        .filter(|byte| *byte == b'\n')
        .count()
}
