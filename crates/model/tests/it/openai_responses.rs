//! OpenAI's Responses.

mod answers;
mod conversation;
mod faults;
mod flow;
mod stream;

use std::sync::Arc;

use agent::ports::Model;
use model::Settings;
use serde_json::{Value, json};

use crate::support::{attempt, provider_of, settings};

/// A model with these settings.
fn model_with(settings: &Settings) -> Arc<dyn Model> {
    attempt(&provider_of("openai-responses:test-model", settings))
}

/// A model at a server, asked for streams or not.
fn model_at(base_url: String, stream: bool) -> Arc<dyn Model> {
    model_with(&Settings {
        stream,
        ..settings(base_url)
    })
}

/// A response with this output.
fn response(output: &Value) -> Value {
    json!({
        "id": "resp_1", "object": "response", "status": "completed", "error": null, "incomplete_details": null,
        "model": "test-model-2026", "output": output,
        "usage": { "input_tokens": 100, "output_tokens": 10, "total_tokens": 110 },
    })
}

/// A message of the assistant's.
fn message(text: &str) -> Value {
    json!({ "id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": text, "annotations": [] }] })
}

/// A call of the shell.
fn call(id: &str, command: &str) -> Value {
    let arguments = json!({ "command": command }).to_string();
    json!({ "id": format!("fc_{id}"), "type": "function_call", "status": "completed", "call_id": id, "name": "bash", "arguments": arguments })
}

/// A piece of reasoning.
fn reasoning(summary: &[&str]) -> Value {
    let parts: Vec<Value> = summary
        .iter()
        .map(|text| json!({ "type": "summary_text", "text": text }))
        .collect();
    json!({ "id": "rs_1", "type": "reasoning", "summary": parts, "encrypted_content": "gAAAA==" })
}

/// An event as it is streamed.
fn event(kind: &str, mut fields: Value) -> String {
    fields["type"] = kind.into();
    fields.to_string()
}

/// The event that ends an item.
fn done(place: usize, item: &Value) -> String {
    event(
        "response.output_item.done",
        json!({ "output_index": place, "item": item }),
    )
}
