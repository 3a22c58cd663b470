//! Whole answers: every form in which servers write them.

use model::{Settings, price::Price};
use schema::FinishReason;
use serde_json::{Value, json};
use testkit::{Answer, FakeServer};

use crate::support::{ask, attempt, completion, hello, model_at, provider, settings};

async fn reply_to(answer: &Value) -> schema::Reply {
    let server = FakeServer::scripted([Answer::json(answer)]);
    ask(&model_at(server.base_url())).await.unwrap()
}

#[tokio::test]
async fn everything_in_an_answer_is_kept() {
    let message = json!({
        "role": "assistant", "content": "I look.", "reasoning_content": "Hm.", "refusal": null,
        "tool_calls": [
            { "id": "a", "type": "function", "function": { "name": "bash", "arguments": "{\"command\": \"ls\"}" } },
            { "id": "b", "type": "function", "function": { "name": "bash", "arguments": "{\"command\": \"pwd\"}" } },
        ],
    });
    let mut answer = completion(&message, "tool_calls");
    answer["usage"] = json!({
        "prompt_tokens": 1000, "completion_tokens": 200, "total_tokens": 1200,
        "prompt_tokens_details": { "cached_tokens": 600, "audio_tokens": null },
        "completion_tokens_details": { "reasoning_tokens": 150 },
    });
    let reply = reply_to(&answer).await;
    assert_eq!(reply.text, "I look.");
    assert_eq!(reply.reasoning.as_deref(), Some("Hm."));
    assert_eq!(reply.finish_reason, FinishReason::ToolCalls);
    assert_eq!(reply.model.as_deref(), Some("test-model-2026"));
    let calls: Vec<_> = reply
        .tool_calls
        .iter()
        .map(|call| (call.id.as_str(), call.arguments.as_str()))
        .collect();
    assert_eq!(
        calls,
        [
            ("a", "{\"command\": \"ls\"}"),
            ("b", "{\"command\": \"pwd\"}")
        ]
    );
    let usage = reply.usage;
    assert_eq!(
        (usage.input, usage.cached, usage.output, usage.reasoning),
        (1000, 600, 200, 150)
    );
    assert_eq!(usage.cost, None);
    assert_eq!(reply.raw.unwrap().get(), message.to_string());
}

#[tokio::test]
async fn cost_comes_from_the_price() {
    let server = FakeServer::scripted([Answer::json(&hello())]);
    let provider = provider(&Settings {
        price: Some(Price {
            input: 10_000.0,
            cached: None,
            cache_write: None,
            output: 100_000.0,
        }),
        ..settings(server.base_url())
    });
    assert!(provider.price_known());
    let reply = ask(&attempt(&provider)).await.unwrap();
    assert!((reply.usage.cost.unwrap() - 2.0).abs() < 1e-9);
}

#[tokio::test]
async fn content_may_be_a_list_of_parts() {
    let message = json!({ "content": [
        { "type": "thinking", "thinking": [{ "type": "text", "text": "so" }] },
        { "type": "text", "text": "one " },
        { "type": "text", "text": "two" },
    ]});
    let reply = reply_to(&completion(&message, "stop")).await;
    assert_eq!(reply.text, "one two");
    assert_eq!(reply.reasoning.as_deref(), Some("so"));
}

#[tokio::test]
async fn refusals_and_filters_are_told_apart_from_answers() {
    let refusal = json!({ "role": "assistant", "content": null, "refusal": "I cannot." });
    let reply = reply_to(&completion(&refusal, "stop")).await;
    assert_eq!(
        (reply.text.as_str(), reply.finish_reason),
        ("I cannot.", FinishReason::ContentFilter)
    );
    let filtered = json!({ "role": "assistant", "content": "" });
    let reply = reply_to(&completion(&filtered, "content_filter")).await;
    assert_eq!(reply.finish_reason, FinishReason::ContentFilter);
}

#[tokio::test]
async fn finish_reasons_are_understood() {
    for (reason, wanted) in [
        ("stop", FinishReason::Stop),
        ("length", FinishReason::Length),
        ("content_filter", FinishReason::ContentFilter),
        ("something_new", FinishReason::Other),
    ] {
        let message = json!({ "role": "assistant", "content": "x" });
        assert_eq!(
            reply_to(&completion(&message, reason)).await.finish_reason,
            wanted
        );
    }
}

#[tokio::test]
async fn odd_calls_get_ids_and_text() {
    let message = json!({ "content": null, "tool_calls": [
        { "function": { "name": "bash", "arguments": { "command": "ls" } } },
        { "id": "a", "type": "function", "function": { "name": "bash", "arguments": null } },
        { "id": "a", "type": "function", "function": { "name": "bash", "arguments": "{\"comm" } },
        { "id": 7, "type": "function" },
    ]});
    let reply = reply_to(&completion(&message, "stop")).await;
    let calls: Vec<_> = reply
        .tool_calls
        .iter()
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
            ("call_0_2", "bash", "{\"comm"),
            ("7", "", ""),
        ]
    );
    assert_eq!(reply.finish_reason, FinishReason::ToolCalls);
}

#[tokio::test]
async fn missing_usage_is_no_usage() {
    let mut answer = hello();
    for usage in [Value::Null, json!({ "prompt_tokens": "many" }), json!([])] {
        answer["usage"] = usage;
        let reply = reply_to(&answer).await;
        assert_eq!(reply.text, "hello");
        assert_eq!(reply.usage, schema::Usage::default());
    }
}

#[tokio::test]
async fn a_stream_is_read_though_none_was_asked_for() {
    let events = [
        json!({ "choices": [{ "index": 0, "delta": { "content": "hel" }, "finish_reason": null }] }).to_string(),
        json!({ "choices": [{ "index": 0, "delta": { "content": "lo" }, "finish_reason": "stop" }] }).to_string(),
        "[DONE]".to_owned(),
    ];
    let untyped = Answer::new(
        200,
        &[("content-type", "text/plain")],
        testkit::answer::event_stream(&events),
    );
    let server = FakeServer::scripted([Answer::events(&events), untyped]);
    let model = model_at(server.base_url());
    for _ in 0..2 {
        assert_eq!(ask(&model).await.unwrap().text, "hello");
    }
}
