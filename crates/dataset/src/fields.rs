//! The fields of a row, taken one by one; what nobody takes is left as it came.

use std::path::Path;

use serde_json::{Map, Value};

use crate::error::Error;
use crate::list;
use crate::location::Location;

/// Bytes of an id. No dataset comes near it; more would be a statement in the wrong field.
const MAX_ID_BYTES: usize = 4096;

/// The fields of one row that were not taken yet.
pub(crate) struct Fields<'a> {
    path: &'a Path,
    at: Location,
    id: Option<String>,
    map: Map<String, Value>,
    /// What the row had, for the message about what it has not.
    present: Vec<String>,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(path: &'a Path, at: Location, map: Map<String, Value>) -> Self {
        let id = map
            .get("instance_id")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let present = map.keys().cloned().collect();
        Self {
            path,
            at,
            id,
            map,
            present,
        }
    }

    /// The value of a field, not taken; null counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// Whether the row spells the field, even if it is null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// Directory of the dataset.
    pub(crate) fn directory(&self) -> &'a Path {
        match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }

    /// Sets a field that the row spells in its own way.
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.map.insert(name.into(), value);
    }

    /// Takes a field out.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Value> {
        self.map.shift_remove(name)
    }

    /// Everything that was not taken.
    pub(crate) fn take_rest(&mut self) -> Map<String, Value> {
        std::mem::take(&mut self.map)
    }

    /// Takes the first of `names` that is there and not null; the others stay, so that nothing is lost.
    fn take(&mut self, names: &[&'static str]) -> Option<(&'static str, Value)> {
        let name = names.iter().find(|name| self.get(name).is_some());
        let Some(name) = name else {
            for name in names {
                self.map.shift_remove(*name);
            }
            return None;
        };
        self.map.shift_remove(*name).map(|value| (*name, value))
    }

    /// Text as it is.
    pub(crate) fn take_text(&mut self, names: &[&'static str]) -> Result<Option<String>, Error> {
        match self.take(names) {
            None => Ok(None),
            Some((_, Value::String(text))) => Ok(Some(text)),
            Some((name, other)) => {
                Err(self.bad(name, format!("must be text, not {}", kind(&other))))
            }
        }
    }

    /// Text that names something: blank means absent.
    pub(crate) fn take_word(&mut self, names: &[&'static str]) -> Result<Option<String>, Error> {
        Ok(self
            .take_text(names)?
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty()))
    }

    /// Text, or a number that was made text before.
    pub(crate) fn take_version(&mut self, name: &'static str) -> Result<Option<String>, Error> {
        self.take_text(&[name])
    }

    /// The row's id.
    pub(crate) fn take_id(&mut self, names: &[&'static str]) -> Result<String, Error> {
        let id = match self.take(names) {
            None => return Err(self.missing("instance_id")),
            Some((_, Value::String(id))) => id,
            Some((_, Value::Number(number))) if !number.is_f64() => number.to_string(),
            Some((name, other)) => {
                return Err(self.bad(name, format!("must be text, not {}", kind(&other))));
            }
        };
        if id.trim().is_empty() {
            return Err(self.bad("instance_id", "is blank".into()));
        }
        if id.len() > MAX_ID_BYTES {
            self.id = None;
            return Err(self.bad(
                "instance_id",
                format!("has {} bytes, at most {MAX_ID_BYTES} are allowed", id.len()),
            ));
        }
        self.id = Some(id.clone());
        Ok(id)
    }

    /// A list of names in any of its encodings.
    pub(crate) fn take_list(&mut self, names: &[&'static str]) -> Result<Vec<String>, Error> {
        match self.take(names) {
            None => Ok(Vec::new()),
            Some((name, value)) => list::read(&value).map_err(|problem| self.bad(name, problem)),
        }
    }

    /// A number of seconds, as a number or as text.
    pub(crate) fn take_seconds(&mut self, names: &[&'static str]) -> Result<Option<u64>, Error> {
        let Some((name, value)) = self.take(names) else {
            return Ok(None);
        };
        let seconds = match &value {
            Value::String(text) => text.trim().parse().ok(),
            other => other.as_u64(),
        };
        match seconds {
            Some(seconds) if seconds > 0 => Ok(Some(seconds)),
            _ => Err(self.bad(
                name,
                format!("must be a whole number of seconds above 0, not {value}"),
            )),
        }
    }

    pub(crate) fn bad(&self, field: &str, problem: String) -> Error {
        Error::BadField {
            path: self.path.into(),
            at: self.at,
            id: self.id.clone(),
            field: field.into(),
            problem,
        }
    }

    pub(crate) fn missing(&self, field: &'static str) -> Error {
        Error::MissingField {
            path: self.path.into(),
            at: self.at,
            id: self.id.clone(),
            field,
            present: self.present.clone(),
        }
    }
}

/// Name of a value's kind.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
