//! Lengths of time as seconds with a fraction, for `#[serde(with)]`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer};

/// Writes a length of time.
///
/// # Errors
/// As the serializer.
pub fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(value.as_secs_f64())
}

/// Reads a length of time.
///
/// # Errors
/// When it is negative, infinite or no number.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    Duration::try_from_secs_f64(f64::deserialize(from)?).map_err(serde::de::Error::custom)
}

/// The same for a length of time that may be absent.
pub mod option {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes a length of time, or null.
    ///
    /// # Errors
    /// As the serializer.
    pub fn serialize<S: Serializer>(value: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        value.map(|value| value.as_secs_f64()).serialize(to)
    }

    /// Reads a length of time, or null.
    ///
    /// # Errors
    /// When it is negative, infinite or no number.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Option::<f64>::deserialize(from)?
            .map(|value| Duration::try_from_secs_f64(value).map_err(serde::de::Error::custom))
            .transpose()
    }
}
