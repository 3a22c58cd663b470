//! A Responses server that refuses what the real service refuses, keeps nothing, and says what a script tells it to.

mod check;
mod events;
mod history;
mod say;

use std::time::Duration;

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::server::Captured;
use crate::strict::{Conversations, StrictServer};

pub use check::check;
pub use say::Said;

/// A strict server. The number of replies in a request is the step of its conversation.
pub struct StrictResponses(StrictServer);

impl StrictResponses {
    /// Starts a server that says, in the conversation that starts with a prompt, what `script` returns for it, in order.
    pub fn start(script: impl Fn(&str) -> Vec<Said> + Send + Sync + 'static) -> Self {
        Self(StrictServer::start(
            Duration::ZERO,
            move |request, conversations| answer(request, conversations, &script),
            |violation| {
                let code = violation
                    .starts_with(history::UNVERIFIED)
                    .then_some("invalid_encrypted_content");
                Answer::json_with(
                    400,
                    &json!({ "error": {
                        "message": violation, "type": "invalid_request_error", "param": "input", "code": code,
                    }}),
                )
            },
        ))
    }

    /// `http://127.0.0.1:PORT/v1`.
    pub fn base_url(&self) -> String {
        self.0.server.base_url()
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Captured> {
        self.0.server.requests()
    }

    /// What clients did wrong, in words.
    pub fn violations(&self) -> Vec<String> {
        self.0.violations()
    }

    /// Requests that changed what had been said instead of adding to it, as leaving out old outputs does.
    pub fn rewrites(&self) -> usize {
        self.0.rewrites()
    }
}

fn answer(
    request: &Captured,
    conversations: &Conversations,
    script: &impl Fn(&str) -> Vec<Said>,
) -> Result<Answer, String> {
    if request.method != "POST" || !request.path.ends_with("/responses") {
        return Err(format!("no such call: {} {}", request.method, request.path));
    }
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|error| format!("the body is not JSON: {error}"))?;
    check(&body)?;
    let input = check::items(&body);
    let (start, turns) = history::split(&input);
    let prompt: String = start.iter().map(words).collect();
    let said = script(&prompt);
    let encrypts = check::asks_for_reasoning(&body);
    let step = history::check(turns, &said, encrypts)?;
    let mut head = body.clone();
    head["input"] = start.iter().cloned().collect();
    conversations.remember(&prompt, &request.body, head, input.len())?;
    let next = said.get(step).ok_or_else(|| {
        format!(
            "the script has {} replies and was asked for number {}",
            said.len(),
            step + 1
        )
    })?;
    Ok(next.answer(&body, step, request.body.len()))
}

/// The text of a message whose content is text or a list of parts.
fn words(message: &Value) -> String {
    let content = &message["content"];
    content.as_str().map_or_else(
        || {
            let parts = content.as_array().map_or(&[][..], Vec::as_slice);
            parts
                .iter()
                .filter_map(|part| part["text"].as_str())
                .collect()
        },
        str::to_owned,
    )
}
