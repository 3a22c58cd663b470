//! Anthropic's messages.

mod conversation;
mod faults;
mod flow;
mod stream;
mod whole;

use std::sync::Arc;

use agent::ports::Model;
use model::Settings;
use serde_json::{Value, json};
use testkit::FakeServer;

use crate::support;

/// A model at a server.
fn model_of(settings: &Settings) -> Arc<dyn Model> {
    support::attempt(&support::provider_of("anthropic:claude-test-1", settings))
}

/// A model at a server, streaming or not.
fn model_at(server: &FakeServer, stream: bool) -> Arc<dyn Model> {
    model_of(&Settings {
        stream,
        ..support::settings(format!("http://{}", server.address()))
    })
}

/// A whole answer.
fn message(content: &Value, stop_reason: &str) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test-1-20260101", "content": content,
        "stop_reason": stop_reason, "stop_sequence": null, "stop_details": null,
        "usage": { "input_tokens": 100, "output_tokens": 10 },
    })
}

/// A plain good answer.
fn hello() -> Value {
    message(&json!([{ "type": "text", "text": "hello" }]), "end_turn")
}

/// An error as the service writes it.
fn error(kind: &str, words: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": words }, "request_id": "req_1" })
}

/// Events as the service writes them.
fn event_stream(events: &[Value]) -> String {
    let lines = events.iter().map(|event| {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    });
    lines.collect()
}
