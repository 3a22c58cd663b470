//! Who solves, and how its server is spoken to.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::layers::values::{Amount, Count, Pair, Span, pairs};

/// Who solves.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Model")]
#[serde(default)]
pub struct Model {
    /// `openai:NAME` (any server that speaks chat completions), `openai-responses:NAME`, `anthropic:NAME`, `replay:PATH`, `script:PATH`
    #[arg(long, short, value_name = "PROVIDER:NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Address of the model's server [default: `OPENAI_BASE_URL` or the like, else the provider's own]
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Sampling temperature [default: the server's]
    #[arg(long, value_name = "NUMBER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Amount>,
    /// Tokens that one reply may have [default: the server's; with `anthropic:`, which insists on a limit, what the model is known to take]
    #[arg(long, value_name = "TOKENS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<Count>,
    /// Tokens that the model's window holds [default: known of some models of `anthropic:`; else old outputs are left out only when the server says that it is full]
    #[arg(long, value_name = "TOKENS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Count>,
    /// Ask for streamed replies
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Further fields of the request body, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = json_object)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_body: Option<Map<String, Value>>,
    /// Price in US dollars for a million tokens: `input`, `cached`, `cache_write`, `output`
    #[arg(long, value_name = "KIND=DOLLARS")]
    #[serde(with = "pairs", skip_serializing_if = "Option::is_none")]
    pub price: Option<Vec<Pair>>,
    /// Table of prices in the form of `configs/prices.toml`; its entries win over the built-in ones
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<PathBuf>,
    /// Tries at one request, the first included
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tries: Option<u32>,
    /// Time for one request, its retries included
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_timeout: Option<Span>,
    /// Time for the connection to the model's server
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_timeout: Option<Span>,
    /// Time for the first byte of an answer
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_timeout: Option<Span>,
    /// Time between two bytes of an answer
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Span>,
    /// Further request headers; only in files, since they may hold secrets.
    #[arg(skip)]
    #[serde(with = "pairs", skip_serializing_if = "Option::is_none")]
    pub headers: Option<Vec<Pair>>,
}

fn json_object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))
}
