//! What a scripted server says, whole or streamed.

use serde_json::{Value, json};

use crate::answer::Answer;

/// Characters in one piece of a streamed text.
const PIECE: usize = 7;

/// One scripted reply.
#[derive(Debug, Clone, Default)]
pub struct Said {
    text: String,
    calls: Vec<(String, String)>,
}

impl Said {
    /// A reply with text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A reply that calls a tool.
    pub fn call(name: impl Into<String>, arguments: &Value) -> Self {
        Self::default().and_call(name, arguments)
    }

    /// And calls another tool.
    #[must_use]
    pub fn and_call(mut self, name: impl Into<String>, arguments: &Value) -> Self {
        self.calls.push((name.into(), arguments.to_string()));
        self
    }

    fn finish_reason(&self) -> &'static str {
        if self.calls.is_empty() {
            "stop"
        } else {
            "tool_calls"
        }
    }

    /// The message, as the service writes it.
    pub(super) fn message(&self, step: usize) -> Value {
        let mut message =
            json!({ "role": "assistant", "content": null, "refusal": null, "annotations": [] });
        if !self.text.is_empty() || self.calls.is_empty() {
            message["content"] = self.text.as_str().into();
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = self
                .calls
                .iter()
                .enumerate()
                .map(|(place, call)| wire_call(step, place, call))
                .collect();
        }
        message
    }

    /// The answer to a request of `bytes` bytes, streamed if it asks for that.
    pub(super) fn answer(&self, request: &Value, step: usize, bytes: usize) -> Answer {
        let input = bytes / 4;
        let output = 1 + self.text.len() / 4 + self.calls.len() * 20;
        let usage = json!({
            "prompt_tokens": input,
            "completion_tokens": output,
            "total_tokens": input + output,
            "prompt_tokens_details": { "cached_tokens": input / 2 },
            "completion_tokens_details": { "reasoning_tokens": 0 },
        });
        let base =
            json!({ "id": format!("chatcmpl-{step}"), "created": 1, "model": request["model"] });
        if request["stream"] == true {
            let with_usage = request["stream_options"]["include_usage"] == true;
            Answer::events(&self.events(&base, step, with_usage.then_some(&usage)))
        } else {
            let mut whole = base;
            whole["object"] = "chat.completion".into();
            whole["choices"] = json!([{
                "index": 0, "message": self.message(step), "finish_reason": self.finish_reason(), "logprobs": null,
            }]);
            whole["usage"] = usage;
            Answer::json(&whole)
        }
    }

    fn events(&self, base: &Value, step: usize, usage: Option<&Value>) -> Vec<String> {
        let mut events = Vec::new();
        let mut push = |choices: Value, usage: Value| {
            let mut chunk = base.clone();
            chunk["object"] = "chat.completion.chunk".into();
            chunk["choices"] = choices;
            chunk["usage"] = usage;
            events.push(chunk.to_string());
        };
        let choice = |delta: Value, reason: Option<&str>| json!([{ "index": 0, "delta": delta, "finish_reason": reason }]);
        push(
            choice(
                json!({ "role": "assistant", "content": if self.calls.is_empty() { json!("") } else { Value::Null } }),
                None,
            ),
            Value::Null,
        );
        for piece in pieces(&self.text) {
            push(choice(json!({ "content": piece }), None), Value::Null);
        }
        for (place, call) in self.calls.iter().enumerate() {
            let mut first = wire_call(step, place, call);
            first["index"] = place.into();
            first["function"]["arguments"] = "".into();
            push(choice(json!({ "tool_calls": [first] }), None), Value::Null);
            for piece in pieces(&call.1) {
                let delta = json!({ "tool_calls": [{ "index": place, "function": { "arguments": piece } }] });
                push(choice(delta, None), Value::Null);
            }
        }
        push(choice(json!({}), Some(self.finish_reason())), Value::Null);
        if let Some(usage) = usage {
            push(json!([]), usage.clone());
        }
        events.push("[DONE]".to_owned());
        events
    }
}

fn wire_call(step: usize, place: usize, (name, arguments): &(String, String)) -> Value {
    json!({
        "id": format!("call_{step}_{place}"),
        "type": "function",
        "function": { "name": name, "arguments": arguments },
    })
}

fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters
        .chunks(PIECE)
        .map(|piece| piece.iter().collect())
        .collect()
}
