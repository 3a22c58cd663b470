//! `--print-config`: every setting that applies, and where it came from.

use serde_json::{Value, json};

use super::options::SECRET;
use super::{Error, Resolved, Table};

const HIDDEN: &str = "(hidden)";

/// The settings as TOML with their origins as comments, or as one JSON object of `{key: {value, origin}}`.
///
/// # Errors
/// As [`Resolved::options`].
pub fn show(resolved: &Resolved, as_json: bool) -> Result<String, Error> {
    let invalid = |problem: String| Error::Invalid {
        place: "configuration".to_owned(),
        problem,
        hint: None,
    };
    let written = resolved.options()?.write();
    let mut table = written.map_err(|error| invalid(error.to_string()))?;
    for key in SECRET {
        if let Some(Value::Object(pairs)) = table.get_mut(key) {
            pairs.values_mut().for_each(|value| *value = HIDDEN.into());
        }
    }
    if let Some(Value::String(address)) = table.get_mut("base_url") {
        *address = model::shown(address);
    }
    table.retain(|key, _| resolved.origin(key).is_some());
    let origin = |key: &str| resolved.origin(key).map(ToString::to_string);
    if as_json {
        let entries = table.iter().map(|(key, value)| {
            let entry = json!({"value": value, "origin": origin(key)});
            (key.clone(), entry)
        });
        return serde_json::to_string_pretty(&entries.collect::<Table>())
            .map_err(|error| invalid(error.to_string()));
    }
    let mut text = String::new();
    let (tables, plain): (Vec<_>, Vec<_>) =
        table.into_iter().partition(|(_, value)| value.is_object());
    for (key, value) in plain {
        let line = toml::to_string(&Table::from_iter([(key.clone(), value)]))
            .map_err(|error| invalid(error.to_string()))?;
        let origin = origin(&key).unwrap_or_default();
        text.extend([line.trim_end(), "  # ", &origin, "\n"]);
    }
    for (key, value) in tables {
        let block = toml::to_string(&value).map_err(|error| invalid(error.to_string()))?;
        let origin = origin(&key).unwrap_or_default();
        text.extend(["\n[", &key, "]  # ", &origin, "\n", &block]);
    }
    Ok(text)
}
