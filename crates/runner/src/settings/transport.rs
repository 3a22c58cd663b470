//! How the model's server is spoken to.

use std::path::PathBuf;
use std::time::Duration;

use schema::seconds;
use serde::{Deserialize, Serialize, Serializer};

/// How requests to the model's server are sent and retried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transport {
    /// Address of the server, `None` for the provider's own. What is secret in it is not written down.
    #[serde(serialize_with = "without_secrets")]
    pub base_url: Option<String>,
    /// Table of prices besides the built-in one.
    pub prices: Option<PathBuf>,
    /// Whether replies are streamed.
    pub stream: bool,
    /// Tries at one request, the first included.
    pub max_tries: u32,
    /// Time for one request, its retries included.
    #[serde(with = "seconds")]
    pub total_timeout: Duration,
    /// Time for the connection.
    #[serde(with = "seconds")]
    pub connect_timeout: Duration,
    /// Time for the first byte of an answer.
    #[serde(with = "seconds")]
    pub first_byte_timeout: Duration,
    /// Time between two bytes of an answer.
    #[serde(with = "seconds")]
    pub idle_timeout: Duration,
    /// US dollars for a million tokens, where the user says so.
    pub price: Option<Price>,
}

/// Price of a model in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Prompt tokens.
    pub input: f64,
    /// Prompt tokens read from the cache; `None` costs as `input`.
    pub cached: Option<f64>,
    /// Prompt tokens written to the cache; `None` costs as `input`.
    pub cache_write: Option<f64>,
    /// Completion tokens.
    pub output: f64,
}

#[expect(clippy::ref_option, reason = "the signature that serde calls")]
fn without_secrets<S: Serializer>(address: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
    address.as_deref().map(model::shown).serialize(to)
}
