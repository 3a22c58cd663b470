//! Settings from variables (`PATCHMILL_MAX_STEPS=50`) and from `--set key=value`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Error, Options, Table, advice, check, nearest};

const PREFIX: &str = "PATCHMILL_";

/// Variables with the prefix that are no settings: the key, and what the tests must find.
const OTHER: [&str; 2] = ["PATCHMILL_API_KEY", "PATCHMILL_REQUIRE"];

/// The variable of a setting.
pub(super) fn name(key: &str) -> String {
    format!("{PREFIX}{}", key.to_ascii_uppercase())
}

/// Settings that the variables hold, and a warning for each variable that looks like one and is none.
pub(super) fn read(variables: &BTreeMap<String, String>) -> Result<(Table, Vec<String>), Error> {
    let known = Options::keys();
    let mut table = Table::new();
    let mut warnings = Vec::new();
    for (variable, text) in variables {
        let Some(rest) = variable.strip_prefix(PREFIX) else {
            continue;
        };
        if OTHER.contains(&variable.as_str()) {
            continue;
        }
        let key = rest.to_ascii_lowercase();
        if known.contains(&key) {
            let value = value(&key, text).map_err(|problem| Error::Invalid {
                place: variable.clone(),
                problem,
                hint: None,
            })?;
            table.insert(key, value);
        } else {
            let near = nearest(&key, known.iter().map(String::as_str));
            let near = near.map_or(String::new(), |near| {
                format!("; did you mean `{}`?", name(near))
            });
            warnings.push(format!("`{variable}` is no setting and is ignored{near}"));
        }
    }
    Ok((table, warnings))
}

/// Reads `key=value`; a dot reaches into a table: `extra_body.top_p=0.9`.
pub(super) fn set(text: &str) -> Result<Table, Error> {
    let invalid = |problem: String, hint: Option<String>| Error::Invalid {
        place: format!("--set {text}"),
        problem,
        hint,
    };
    let (path, text) = text
        .split_once('=')
        .ok_or_else(|| invalid("expected KEY=VALUE".to_owned(), None))?;
    let (key, inner) = match path.split_once('.') {
        Some((key, inner)) => (key, Some(inner)),
        None => (path, None),
    };
    let known = Options::keys();
    if !known.iter().any(|known| known == key) {
        let hint = Some(advice(key, &known));
        return Err(invalid(format!("unknown key `{key}`"), hint));
    }
    let value = match inner {
        None => value(key, text),
        Some(inner) => {
            let candidates = [as_toml(text), Some(Value::from(text))];
            first_that_fits(
                key,
                candidates
                    .into_iter()
                    .flatten()
                    .map(|value| Value::Object(Table::from_iter([(inner.to_owned(), value)]))),
            )
        }
    };
    let value = value.map_err(|problem| invalid(problem, None))?;
    Ok(Table::from_iter([(key.to_owned(), value)]))
}

/// The value that `text` stands for: the text itself where the setting takes text, else what TOML makes of it.
fn value(key: &str, text: &str) -> Result<Value, String> {
    let candidates = [Some(Value::from(text)), as_toml(text)];
    first_that_fits(key, candidates.into_iter().flatten())
}

fn first_that_fits(key: &str, candidates: impl Iterator<Item = Value>) -> Result<Value, String> {
    let mut complaint = None;
    for candidate in candidates {
        match check(key, &candidate) {
            Ok(()) => return Ok(candidate),
            Err(problem) => complaint = Some(problem),
        }
    }
    Err(complaint.unwrap_or_else(|| format!("`{key}`: no value")))
}

fn as_toml(text: &str) -> Option<Value> {
    let table: Table = toml::from_str(&format!("value = {text}")).ok()?;
    match table.len() {
        1 => table.into_iter().next().map(|(_, value)| value),
        _ => None,
    }
}
