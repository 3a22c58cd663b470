//! Whole answers, in every form in which servers write them.

use model::{Settings, price::Price};
use schema::{FinishReason, Reply, Usage};
use serde_json::{Value, json};
use testkit::{Answer, FakeServer};

use super::{event_stream, hello, message, model_at, model_of};
use crate::support::{ask, attempt, provider_of, settings};

async fn reply_to(answer: &Value) -> Reply {
    let server = FakeServer::scripted([Answer::json(answer)]);
    ask(&model_at(&server, false)).await.unwrap()
}

#[tokio::test]
async fn everything_in_an_answer_is_kept() {
    let content = json!([
        { "type": "thinking", "thinking": "Hm.", "signature": "Eq==" },
        { "type": "redacted_thinking", "data": "x" },
        { "type": "text", "text": "I look.", "citations": null },
        { "type": "server_tool_use", "id": "s", "name": "web_search", "input": { "query": "q" } },
        { "type": "tool_use", "id": "a", "name": "bash", "input": { "command": "ls", "n": 1.50 } },
        { "type": "tool_use", "id": "b", "name": "bash", "input": {} },
    ]);
    let mut answer = message(&content, "tool_use");
    answer["usage"] = json!({
        "input_tokens": 1000, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 600, "output_tokens": 300,
        "output_tokens_details": { "thinking_tokens": 150 }, "cache_creation": { "ephemeral_5m_input_tokens": 200 },
    });
    let reply = reply_to(&answer).await;
    assert_eq!(reply.text, "I look.");
    assert_eq!(reply.reasoning.as_deref(), Some("Hm."));
    assert_eq!(reply.finish_reason, FinishReason::ToolCalls);
    assert_eq!(reply.model.as_deref(), Some("claude-test-1-20260101"));
    let calls: Vec<_> = reply
        .tool_calls
        .iter()
        .map(|call| (call.id.as_str(), call.arguments.as_str()))
        .collect();
    assert_eq!(
        calls,
        [("a", "{\"command\":\"ls\",\"n\":1.5}"), ("b", "{}")]
    );
    assert_eq!(
        reply.usage,
        Usage {
            input: 1800,
            cached: 600,
            cache_write: 200,
            output: 300,
            reasoning: 150,
            cost: None,
        }
    );
    let raw = json!({ "role": "assistant", "content": content });
    assert_eq!(reply.raw.unwrap().get(), raw.to_string());
}

#[tokio::test]
async fn each_kind_of_token_has_its_price() {
    let mut answer = hello();
    answer["usage"] = json!({
        "input_tokens": 100, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 600, "output_tokens": 10,
    });
    let server = FakeServer::scripted([Answer::json(&answer)]);
    let provider = provider_of(
        "anthropic:claude-test-1",
        &Settings {
            price: Some(Price {
                input: 1e6,
                cached: Some(1e5),
                cache_write: Some(2e6),
                output: 5e6,
            }),
            ..settings(format!("http://{}", server.address()))
        },
    );
    let cost = ask(&attempt(&provider)).await.unwrap().usage.cost.unwrap();
    assert!(
        (cost - (100.0 + 400.0 + 60.0 + 50.0)).abs() < 1e-6,
        "{cost}"
    );
}

#[tokio::test]
async fn stop_reasons_are_understood() {
    for (reason, wanted) in [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("refusal", FinishReason::ContentFilter),
        ("pause_turn", FinishReason::Other),
        ("something_new", FinishReason::Other),
    ] {
        let content = json!([{ "type": "text", "text": "x" }]);
        let reply = reply_to(&message(&content, reason)).await;
        assert_eq!(
            (reply.finish_reason, reply.text.as_str()),
            (wanted, "x"),
            "{reason}"
        );
    }
}

#[tokio::test]
async fn a_refusal_is_told_in_the_servers_words() {
    let mut answer = message(&json!([]), "refusal");
    answer["stop_details"] =
        json!({ "type": "refusal", "category": "cyber", "explanation": "Not this." });
    let reply = reply_to(&answer).await;
    assert_eq!(
        (reply.text.as_str(), reply.finish_reason),
        ("Not this.", FinishReason::ContentFilter)
    );
}

#[tokio::test]
async fn missing_usage_is_no_usage() {
    let mut answer = hello();
    for usage in [Value::Null, json!({ "input_tokens": "many" }), json!([])] {
        answer["usage"] = usage;
        let reply = reply_to(&answer).await;
        assert_eq!(
            (reply.text.as_str(), reply.usage),
            ("hello", Usage::default())
        );
    }
}

#[tokio::test]
async fn odd_calls_get_ids_and_text() {
    let content = json!([
        { "type": "tool_use", "name": "bash", "input": { "command": "ls" } },
        { "type": "tool_use", "id": "a", "name": "bash", "input": null },
        { "type": "tool_use", "id": "a", "name": "bash", "input": "ls" },
        { "type": "tool_use", "id": 7 },
    ]);
    let reply = reply_to(&message(&content, "end_turn")).await;
    let calls = reply.tool_calls.iter();
    let calls: Vec<_> = calls
        .map(|call| {
            (
                call.id.as_str(),
                call.name.as_str(),
                call.arguments.as_str(),
            )
        })
        .collect();
    assert_eq!(
        calls,
        [
            ("call_0_0", "bash", "{\"command\":\"ls\"}"),
            ("a", "bash", ""),
            ("call_0_2", "bash", "ls"),
            ("7", "", ""),
        ]
    );
    assert_eq!(reply.finish_reason, FinishReason::ToolCalls);
}

#[tokio::test]
async fn a_stream_is_read_though_none_was_asked_for() {
    let events = event_stream(&[
        json!({ "type": "message_start", "message": {} }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "hel" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "lo" } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }),
    ]);
    let typed = [("content-type", "text/event-stream")];
    let server = FakeServer::scripted([
        Answer::new(200, &typed, &events),
        Answer::new(200, &[("content-type", "text/plain")], &events),
    ]);
    let model = model_of(&settings(format!("http://{}", server.address())));
    for _ in 0..2 {
        assert_eq!(ask(&model).await.unwrap().text, "hello");
    }
}
