//! How a model is reached and asked.

use std::time::Duration;

use secrecy::SecretString;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::price::{Price, PriceTable};

/// Everything about a model but its name.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Address of the server with its path prefix, such as `http://127.0.0.1:8000/v1`; `None` is the provider's own.
    pub base_url: Option<String>,
    /// Key; a server at a `base_url` may need none.
    pub api_key: Option<SecretString>,
    /// Sampling temperature; `None` sends none.
    pub temperature: Option<f64>,
    /// Tokens that one reply may have; `None` sends no limit.
    pub max_output_tokens: Option<u64>,
    /// Tokens that the model's window holds, where known.
    pub window: Option<u64>,
    /// Whether replies are streamed.
    pub stream: bool,
    /// Further fields of the request body; they win over ours, and `null` removes one of ours.
    pub extra_body: Map<String, Value>,
    /// Further request headers; their values are treated as secrets.
    pub headers: Vec<(String, SecretString)>,
    /// When a failed try is made again.
    pub retry: RetryPolicy,
    /// How long to wait for what.
    pub deadlines: Deadlines,
    /// Known prices.
    pub prices: PriceTable,
    /// Price of this model, where the user says so; wins over `prices`.
    pub price: Option<Price>,
    /// Requests in flight to the endpoint at most; `None` leaves it to the limiter.
    pub max_connections: Option<usize>,
    /// Seed of the jitter between tries.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            base_url: None,
            api_key: None,
            temperature: None,
            max_output_tokens: None,
            window: None,
            stream: false,
            extra_body: Map::new(),
            headers: Vec::new(),
            retry: RetryPolicy::default(),
            deadlines: Deadlines::default(),
            prices: PriceTable::embedded(),
            price: None,
            max_connections: None,
            seed: 0,
        }
    }
}

impl Settings {
    /// Adds the user's fields to a request's own. None of `ours` can be set: the conversation, or the reading of replies, would break.
    pub(crate) fn extend(
        &self,
        parameters: &mut Map<String, Value>,
        ours: &[&str],
    ) -> Result<(), Error> {
        for (name, value) in &self.extra_body {
            if ours.contains(&name.as_str()) {
                return Err(Error::Setting {
                    field: "extra_body",
                    problem: format!("`{name}` is set by Patchmill itself"),
                });
            }
            if value.is_null() {
                parameters.shift_remove(name);
            } else {
                parameters.insert(name.clone(), value.clone());
            }
        }
        Ok(())
    }
}

/// When a failed try is made again: after `base` · 2ⁿ with jitter, or what the server asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries at one request, the first included.
    pub max_tries: u32,
    /// Tries at one request before any server answered at this address: a wrong address should show soon.
    pub max_first_contacts: u32,
    /// Wait before the second try.
    pub base: Duration,
    /// Longest wait of our own choice.
    pub cap: Duration,
    /// Longest wait that a server may ask for (`Retry-After`); more is cut to this.
    pub server_cap: Duration,
    /// Time for one request, its waits included: no further try starts after it.
    pub max_total: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_tries: 8,
            max_first_contacts: 3,
            base: Duration::from_secs(1),
            cap: Duration::from_mins(1),
            server_cap: Duration::from_mins(2),
            max_total: Duration::from_mins(30),
        }
    }
}

/// How long one try may wait for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// The connection. It belongs to the client: give it to [`client`](crate::client).
    pub connect: Duration,
    /// The status line. Without streaming a server thinks before it sends one, so this bounds the thinking.
    pub first_byte: Duration,
    /// The next bytes of an answer that has begun.
    pub idle: Duration,
    /// The whole answer.
    pub total: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            first_byte: Duration::from_mins(10),
            idle: Duration::from_mins(2),
            total: Duration::from_mins(30),
        }
    }
}
