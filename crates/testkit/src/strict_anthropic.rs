//! A server of Anthropic's messages that refuses what the real service refuses, and says what a script tells it to.
//!
//! What it refuses is what the reference, the vendor's types and reports of refusals say:
//! <https://platform.claude.com/docs/en/api/messages>, <https://platform.claude.com/docs/en/api/errors>.

mod blocks;
mod cache;
mod check;
mod messages;
mod say;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::server::Captured;
use crate::strict::{Conversations, StrictServer};
use cache::Cache;

pub use check::check;
pub use say::{Fault, Said};

/// Versions of the protocol.
const VERSIONS: [&str; 2] = ["2023-06-01", "2026-10-21"];

/// What this protocol's server remembers beside conversations.
#[derive(Default)]
struct State {
    cache: Cache,
    /// How often each step of each conversation was asked for.
    asked: HashMap<(String, usize), usize>,
}

/// A strict server. The number of assistant messages in a request is the step of its conversation.
pub struct StrictAnthropic(StrictServer);

impl StrictAnthropic {
    /// Starts a server that says, in the conversation that starts with a prompt, what `script` returns for it, in order.
    pub fn start(script: impl Fn(&str) -> Vec<Said> + Send + Sync + 'static) -> Self {
        let state = Mutex::new(State::default());
        Self(StrictServer::start(
            Duration::ZERO,
            move |request, conversations| answer(request, conversations, &state, &script),
            |violation| say::error(400, "invalid_request_error", violation),
        ))
    }

    /// `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.0.server.address())
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Captured> {
        self.0.server.requests()
    }

    /// What clients did wrong, in words.
    pub fn violations(&self) -> Vec<String> {
        self.0.violations()
    }

    /// Requests that changed what had been said instead of adding to it, marks for the cache apart.
    pub fn rewrites(&self) -> usize {
        self.0.rewrites()
    }
}

fn answer(
    request: &Captured,
    conversations: &Conversations,
    state: &Mutex<State>,
    script: &impl Fn(&str) -> Vec<Said>,
) -> Result<Answer, String> {
    let path = request.path.split('?').next().unwrap_or_default();
    if request.method != "POST" || path != "/v1/messages" {
        return Ok(say::error(404, "not_found_error", "no such call"));
    }
    if !has_key(request) {
        let words = "x-api-key header is required";
        return Ok(say::error(401, "authentication_error", words));
    }
    check_headers(request)?;
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|error| format!("the body is not JSON: {error}"))?;
    check(&body)?;
    if request.header("anthropic-version") == Some(VERSIONS[1]) {
        check_later(&body)?;
    }
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let prompt = messages.first().map(prompt_text).unwrap_or_default();
    let said = script(&prompt);
    let back = messages
        .iter()
        .filter(|message| message["role"] == "assistant");
    for (step, (message, said)) in back.clone().zip(&said).enumerate() {
        said.check_returned(step, message)?;
    }
    remember(conversations, &prompt, &body)?;
    let step = back.count();
    let next = said.get(step).ok_or_else(|| {
        format!(
            "the script has {} replies and was asked for number {}",
            said.len(),
            step + 1
        )
    })?;
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    let tries = state.asked.entry((prompt, step)).or_default();
    let fault = next.fault(*tries);
    *tries += 1;
    if let Some(fault) = fault {
        return Ok(next.fail(fault, &body, step));
    }
    let usage = state.cache.usage(&body);
    Ok(next.answer(&body, step, usage))
}

/// The head of a conversation never changes, and what follows should only grow, marks apart.
fn remember(conversations: &Conversations, prompt: &str, body: &Value) -> Result<(), String> {
    let mut head = unmarked(body);
    let messages = head["messages"].take();
    let length = messages.as_array().map_or(0, Vec::len);
    let sent = format!("{head}{messages}}}");
    conversations.remember(prompt, sent.as_bytes(), head, length)
}

/// A value without the marks in it.
fn unmarked(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| *name != "cache_control");
            let kept = kept.map(|(name, value)| (name.clone(), unmarked(value)));
            Value::Object(kept.collect())
        }
        Value::Array(items) => items.iter().map(unmarked).collect(),
        other => other.clone(),
    }
}

fn has_key(request: &Captured) -> bool {
    let bearer = request
        .header("authorization")
        .and_then(|value| value.strip_prefix("Bearer "));
    let key = request.header("x-api-key").or(bearer);
    key.is_some_and(|key| !key.is_empty())
}

fn check_headers(request: &Captured) -> Result<(), String> {
    let version = request.header("anthropic-version");
    if !version.is_some_and(|version| VERSIONS.contains(&version)) {
        return Err(format!("anthropic-version: {version:?} is no version"));
    }
    let kind = request.header("content-type").unwrap_or_default();
    if !kind.starts_with("application/json") {
        return Err(format!("content-type: {kind} is not application/json"));
    }
    Ok(())
}

/// What the later version took away.
fn check_later(body: &Value) -> Result<(), String> {
    for gone in ["temperature", "top_k", "top_p"] {
        if body.get(gone).is_some() {
            return Err(format!("{gone}: Extra inputs are not permitted"));
        }
    }
    Ok(())
}

/// The text of a message whose content is text or a list of blocks.
fn prompt_text(message: &Value) -> String {
    let content = &message["content"];
    content.as_str().map_or_else(
        || {
            let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect()
        },
        str::to_owned,
    )
}

/// An error as the service writes it.
fn error_body(kind: &str, words: &str) -> Value {
    json!({
        "type": "error",
        "error": { "type": kind, "message": words },
        "request_id": "req_0123456789",
    })
}
