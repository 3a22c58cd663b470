//! JSON kept byte for byte as it came.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A JSON value whose text is preserved exactly, so that it can be sent back to the provider that produced it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Wraps `text`, which must be one JSON value.
    ///
    /// # Errors
    /// When `text` is not valid JSON.
    pub fn parse(text: String) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text).map(Self)
    }

    /// The text as it came.
    pub fn get(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for RawJson {}
