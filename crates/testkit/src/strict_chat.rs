//! A chat-completions server that refuses what the real service refuses, and says what a script tells it to.

mod check;
mod say;

use std::time::Duration;

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::server::Captured;
use crate::strict::{Conversations, StrictServer};

pub use check::check;
pub use say::Said;

/// A strict server. The number of assistant messages in a request is the step of its conversation.
pub struct StrictChat(StrictServer);

impl StrictChat {
    /// Starts a server that says, in the conversation that starts with a prompt, what `script` returns for it, in order.
    pub fn start(script: impl Fn(&str) -> Vec<Said> + Send + Sync + 'static) -> Self {
        Self::with_latency(Duration::ZERO, script)
    }

    /// As [`StrictChat::start`], each answer after some time.
    pub fn with_latency(
        latency: Duration,
        script: impl Fn(&str) -> Vec<Said> + Send + Sync + 'static,
    ) -> Self {
        Self(StrictServer::start(
            latency,
            move |request, conversations| answer(request, conversations, &script),
            |violation| {
                Answer::json_with(
                    400,
                    &json!({ "error": {
                        "message": violation, "type": "invalid_request_error", "param": null, "code": null,
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
    if request.method != "POST" || !request.path.ends_with("/chat/completions") {
        return Err(format!("no such call: {} {}", request.method, request.path));
    }
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|error| format!("the body is not JSON: {error}"))?;
    check(&body)?;
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let prompt = messages
        .iter()
        .find(|message| message["role"] == "user")
        .map(prompt_text)
        .unwrap_or_default();
    let said = script(&prompt);
    check_memory(&body, messages, &said)?;
    let head = head(&body, &prompt, messages);
    conversations.remember(&prompt, &request.body, head, messages.len())?;
    let step = messages
        .iter()
        .filter(|message| message["role"] == "assistant")
        .count();
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
fn prompt_text(message: &Value) -> String {
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

/// Every assistant message must be what we said.
fn check_memory(body: &Value, messages: &[Value], said: &[Said]) -> Result<(), String> {
    let back = messages
        .iter()
        .filter(|message| message["role"] == "assistant");
    for (step, (message, said)) in back.zip(said).enumerate() {
        let own = said.message(step);
        let same_calls = match (
            message["tool_calls"].as_array(),
            own["tool_calls"].as_array(),
        ) {
            (Some(theirs), Some(ours)) => {
                theirs.len() == ours.len()
                    && theirs.iter().zip(ours).all(|(theirs, ours)| {
                        theirs["id"] == ours["id"]
                            && theirs["function"]["name"] == ours["function"]["name"]
                    })
            }
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let text = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
        if !same_calls || text(message) != text(&own) {
            return Err(format!(
                "reply {step} came back changed: {message} instead of {own} (model {})",
                body["model"]
            ));
        }
    }
    Ok(())
}

/// All of a request but the turns after its prompt.
fn head(body: &Value, prompt: &str, messages: &[Value]) -> Value {
    let first = messages
        .iter()
        .position(|message| message["role"] == "assistant")
        .unwrap_or(messages.len());
    let mut head = body.clone();
    head["messages"] = messages
        .iter()
        .take(first)
        .take_while(|message| message["role"] == "system" || prompt_text(message) == prompt)
        .cloned()
        .collect();
    head
}
