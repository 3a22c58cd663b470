//! What a scripted server says.

use serde_json::{Value, json};

use super::{check, events};
use crate::answer::Answer;

/// One scripted reply.
#[derive(Debug, Clone, Default)]
pub struct Said {
    reasoning: Option<String>,
    text: String,
    refusal: Option<String>,
    calls: Vec<(String, String)>,
    end: End,
}

/// How a reply ends.
#[derive(Debug, Clone, Default)]
enum End {
    #[default]
    Completed,
    /// For this reason.
    Incomplete(String),
    /// With this code, instead of a reply.
    Failed(String),
    /// With this status and this code, before anything is said.
    Refused(u16, String),
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

    /// A reply that declines.
    pub fn refusal(words: impl Into<String>) -> Self {
        Self {
            refusal: Some(words.into()),
            ..Self::default()
        }
    }

    /// A response that fails with a code, as the service reports it.
    pub fn failed(code: impl Into<String>) -> Self {
        Self {
            end: End::Failed(code.into()),
            ..Self::default()
        }
    }

    /// A request that is refused with a status and a code.
    pub fn refused(status: u16, code: impl Into<String>) -> Self {
        Self {
            end: End::Refused(status, code.into()),
            ..Self::default()
        }
    }

    /// And calls another tool.
    #[must_use]
    pub fn and_call(mut self, name: impl Into<String>, arguments: &Value) -> Self {
        self.calls.push((name.into(), arguments.to_string()));
        self
    }

    /// After reasoning, of which this is the summary.
    #[must_use]
    pub fn after_reasoning(mut self, summary: impl Into<String>) -> Self {
        self.reasoning = Some(summary.into());
        self
    }

    /// But does not come to its end.
    #[must_use]
    pub fn incomplete(mut self, reason: impl Into<String>) -> Self {
        self.end = End::Incomplete(reason.into());
        self
    }

    pub(super) fn has_reasoning(&self) -> bool {
        self.reasoning.is_some()
    }

    /// Whether no item of it can come back.
    pub(super) fn leaves_nothing(&self) -> bool {
        self.kept(0).is_empty()
    }

    /// Items that a client has to send back: all but reasoning that nothing follows.
    pub(super) fn kept(&self, step: usize) -> Vec<Value> {
        let items = self.items(step, true);
        if items.iter().all(|item| item["type"] == "reasoning") {
            return Vec::new();
        }
        items
    }

    /// The items as the service writes them.
    pub(super) fn items(&self, step: usize, encrypts: bool) -> Vec<Value> {
        let mut items = Vec::new();
        if let Some(summary) = &self.reasoning {
            let mut item =
                json!({ "id": format!("rs_{step}"), "type": "reasoning", "summary": [] });
            if !summary.is_empty() {
                item["summary"] = json!([{ "type": "summary_text", "text": summary }]);
            }
            if encrypts {
                item["encrypted_content"] = format!("gAAAA{step}={summary}=").into();
            }
            items.push(item);
        }
        let content = match &self.refusal {
            Some(words) => json!({ "type": "refusal", "refusal": words }),
            None => {
                json!({ "type": "output_text", "annotations": [], "logprobs": [], "text": self.text })
            }
        };
        if !self.text.is_empty() || self.refusal.is_some() {
            items.push(json!({
                "id": format!("msg_{step}"), "type": "message", "status": "completed", "content": [content],
                "phase": if self.calls.is_empty() { "final_answer" } else { "commentary" }, "role": "assistant",
            }));
        }
        for (place, (name, arguments)) in self.calls.iter().enumerate() {
            items.push(json!({
                "id": format!("fc_{step}_{place}"), "type": "function_call", "status": "completed",
                "arguments": arguments, "call_id": format!("call_{step}_{place}"), "name": name,
            }));
        }
        items
    }

    /// The answer to a request of `bytes` bytes, streamed if it asks for that.
    pub(super) fn answer(&self, request: &Value, step: usize, bytes: usize) -> Answer {
        if let End::Refused(status, code) = &self.end {
            return Answer::json_with(*status, &error(code));
        }
        let items = self.items(step, check::asks_for_reasoning(request));
        let mut response = envelope(request, step);
        let started = response.clone();
        match &self.end {
            End::Completed | End::Refused(..) => response["status"] = "completed".into(),
            End::Incomplete(reason) => {
                response["status"] = "incomplete".into();
                response["incomplete_details"] = json!({ "reason": reason });
            }
            End::Failed(code) => {
                response["status"] = "failed".into();
                response["error"] =
                    json!({ "code": code, "message": format!("told to fail: {code}") });
            }
        }
        if !matches!(self.end, End::Failed(_)) {
            response["output"] = items.iter().cloned().collect();
            response["usage"] = usage(
                bytes / 4,
                1 + self.text.len() / 4 + self.calls.len() * 20,
                self.has_reasoning(),
            );
        }
        if request["stream"] == true {
            events::stream(&started, &items, &response)
        } else {
            Answer::json(&response)
        }
    }
}

fn error(code: &str) -> Value {
    json!({ "error": { "message": format!("told to refuse: {code}"), "type": "invalid_request_error", "param": null, "code": code } })
}

fn usage(input: usize, visible: usize, reasons: bool) -> Value {
    let reasoning = if reasons { 64 } else { 0 };
    let output = visible + reasoning;
    json!({
        "input_tokens": input,
        "input_tokens_details": { "cached_tokens": input / 2, "cache_write_tokens": input / 8 },
        "output_tokens": output,
        "output_tokens_details": { "reasoning_tokens": reasoning },
        "total_tokens": input + output,
    })
}

/// A response that has just been created.
fn envelope(request: &Value, step: usize) -> Value {
    let or = |name: &str, other: Value| request.get(name).cloned().unwrap_or(other);
    json!({
        "id": format!("resp_{step}"), "object": "response", "created_at": 1, "status": "in_progress", "background": false,
        "error": null, "incomplete_details": null, "instructions": or("instructions", Value::Null),
        "max_output_tokens": or("max_output_tokens", Value::Null), "max_tool_calls": null, "model": request["model"],
        "output": [], "parallel_tool_calls": or("parallel_tool_calls", true.into()), "previous_response_id": null,
        "prompt_cache_key": or("prompt_cache_key", Value::Null), "reasoning": or("reasoning", json!({ "effort": null, "summary": null })),
        "service_tier": "default", "store": or("store", true.into()), "temperature": or("temperature", 1.0.into()),
        "text": { "format": { "type": "text" }, "verbosity": "medium" }, "tool_choice": or("tool_choice", "auto".into()),
        "tools": or("tools", json!([])), "top_logprobs": 0, "top_p": 1.0, "truncation": "disabled", "usage": null, "user": null,
        "metadata": {},
    })
}
