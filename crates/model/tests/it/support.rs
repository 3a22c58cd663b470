//! A small client: one model, one conversation.

use std::sync::Arc;
use std::time::Duration;

use agent::ports::{Fragment, Head, Model, Request, Shape, ToolSpec, Waits};
use model::{Choice, Provider, RetryPolicy, Settings};
use schema::event::ModelFailure;
use schema::{InstanceId, Reply, ToolResult, Turn};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// A key that must never appear anywhere.
pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

/// Settings for a server on this machine: tries follow each other at once.
pub(crate) fn settings(base_url: String) -> Settings {
    Settings {
        base_url: Some(base_url),
        api_key: Some(KEY.into()),
        retry: RetryPolicy {
            max_tries: 3,
            base: Duration::from_millis(1),
            ..RetryPolicy::default()
        },
        ..Settings::default()
    }
}

pub(crate) fn provider(settings: &Settings) -> Arc<dyn Provider> {
    provider_of("openai:test-model", settings)
}

pub(crate) fn provider_of(model: &str, settings: &Settings) -> Arc<dyn Provider> {
    let choice = Choice::parse(model).unwrap();
    let client = model::client(Duration::from_secs(5)).unwrap();
    model::open(&choice, settings, || Ok(client)).unwrap()
}

pub(crate) fn attempt(provider: &Arc<dyn Provider>) -> Arc<dyn Model> {
    provider
        .model(&InstanceId::new("django__django-1"), 1)
        .unwrap()
}

/// A model at a server that plays `answers`.
pub(crate) fn model_at(base_url: String) -> Arc<dyn Model> {
    attempt(&provider(&settings(base_url)))
}

pub(crate) fn head() -> Head {
    Head {
        system: "You fix bugs.".into(),
        prompt: "Fix the bug.".into(),
        images: Vec::new(),
        tools: vec![ToolSpec {
            name: "bash",
            description: "Runs a command.".into(),
            parameters: json!({ "type": "object", "properties": { "command": { "type": "string" } } }),
        }],
    }
}

pub(crate) fn request(model: &Arc<dyn Model>, turns: &[Fragment], index: u32) -> Request {
    Request {
        head: model.head(&head()),
        turns: turns.to_vec().into(),
        index,
        time_left: None,
        cancel: CancellationToken::new(),
        waits: Waits::default(),
    }
}

/// Asks once, with an empty history.
pub(crate) async fn ask(model: &Arc<dyn Model>) -> Result<Reply, ModelFailure> {
    model.query(request(model, &[], 0)).await
}

/// Answers every call of a reply and serialises the turn.
pub(crate) fn answered(model: &Arc<dyn Model>, reply: &Reply) -> Fragment {
    let results = reply
        .tool_calls
        .iter()
        .map(|call| ToolResult {
            call_id: call.id.clone(),
            content: format!("output of {}", call.name),
            is_error: false,
        })
        .collect();
    model.turn(
        &Turn::Assistant {
            reply: Box::new(reply.clone()),
            results,
        },
        Shape::Full,
    )
}

/// A chat completion with one choice.
pub(crate) fn completion(message: &Value, finish_reason: &str) -> Value {
    json!({
        "id": "x", "object": "chat.completion", "created": 1, "model": "test-model-2026",
        "choices": [{ "index": 0, "message": message, "finish_reason": finish_reason }],
        "usage": { "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 },
    })
}

/// A plain good answer.
pub(crate) fn hello() -> Value {
    completion(&json!({ "role": "assistant", "content": "hello" }), "stop")
}
