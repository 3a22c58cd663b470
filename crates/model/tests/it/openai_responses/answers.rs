//! Whole answers: every form in which servers write them.

use model::Settings;
use model::price::Price;
use schema::FinishReason;
use serde_json::{Value, json};
use testkit::{Answer, FakeServer};

use super::{call, message, model_at, model_with, reasoning, response};
use crate::support::{ask, settings};

async fn reply_to(answer: &Value) -> schema::Reply {
    let server = FakeServer::scripted([Answer::json(answer)]);
    ask(&model_at(server.base_url(), false)).await.unwrap()
}

#[tokio::test]
async fn everything_in_an_answer_is_kept() {
    let output = json!([
        reasoning(&["Hm.", "Well."]),
        message("I look."),
        call("a", "ls"),
        { "type": "web_search_call", "id": "ws_1", "status": "completed" },
        call("b", "pwd"),
    ]);
    let mut answer = response(&output);
    answer["usage"] = json!({
        "input_tokens": 1000, "output_tokens": 200, "total_tokens": 1200,
        "input_tokens_details": { "cached_tokens": 600, "cache_write_tokens": 300 },
        "output_tokens_details": { "reasoning_tokens": 150 },
    });
    let reply = reply_to(&answer).await;
    assert_eq!(reply.text, "I look.");
    assert_eq!(reply.reasoning.as_deref(), Some("Hm.\n\nWell."));
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
            ("a", "{\"command\":\"ls\"}"),
            ("b", "{\"command\":\"pwd\"}")
        ]
    );
    let usage = reply.usage;
    assert_eq!(
        (usage.input, usage.cached, usage.cache_write),
        (1000, 600, 300)
    );
    assert_eq!(
        (usage.output, usage.reasoning, usage.cost),
        (200, 150, None)
    );
    assert_eq!(reply.raw.unwrap().get(), output.to_string());
}

#[tokio::test]
async fn cost_comes_from_the_price_else_from_the_server() {
    let mut answer = response(&json!([message("hello")]));
    answer["usage"]["cost"] = 0.25.into();
    let price = Price {
        input: 10_000.0,
        cached: None,
        cache_write: None,
        output: 100_000.0,
    };
    for (price, wanted) in [(Some(price), 2.0), (None, 0.25)] {
        let server = FakeServer::scripted([Answer::json(&answer)]);
        let model = model_with(&Settings {
            price,
            ..settings(server.base_url())
        });
        let cost = ask(&model).await.unwrap().usage.cost.unwrap();
        assert!((cost - wanted).abs() < 1e-9, "{cost}");
    }
}

#[tokio::test]
async fn messages_are_paragraphs_and_open_thoughts_are_reasoning() {
    let thoughts = json!({ "type": "reasoning", "summary": [], "content": [{ "type": "reasoning_text", "text": "so" }] });
    let two = json!([thoughts, message("one"), message("two")]);
    let reply = reply_to(&response(&two)).await;
    assert_eq!(reply.text, "one\n\ntwo");
    assert_eq!(reply.reasoning.as_deref(), Some("so"));
    assert_eq!(reply.finish_reason, FinishReason::Stop);
}

#[tokio::test]
async fn refusals_are_told_apart_from_answers() {
    let refusal = json!({ "type": "message", "role": "assistant", "content": [{ "type": "refusal", "refusal": "I cannot." }] });
    let reply = reply_to(&response(&json!([refusal]))).await;
    assert_eq!(
        (reply.text.as_str(), reply.finish_reason),
        ("I cannot.", FinishReason::ContentFilter)
    );
}

#[tokio::test]
async fn what_came_to_no_end_says_why() {
    for (reason, wanted) in [
        (json!("max_output_tokens"), FinishReason::Length),
        (json!("max_tokens"), FinishReason::Length),
        (json!("content_filter"), FinishReason::ContentFilter),
        (json!("something_new"), FinishReason::Other),
        (Value::Null, FinishReason::Other),
    ] {
        let mut answer = response(&json!([call("a", "ls")]));
        answer["status"] = "incomplete".into();
        answer["incomplete_details"] = json!({ "reason": reason });
        assert_eq!(reply_to(&answer).await.finish_reason, wanted, "{reason}");
    }
}

#[tokio::test]
async fn odd_calls_get_ids_and_text() {
    let output = json!([
        { "type": "function_call", "name": "bash", "arguments": { "command": "ls" } },
        { "type": "function_call", "call_id": "a", "name": "bash", "arguments": null },
        { "type": "function_call", "call_id": "a", "name": "bash", "arguments": "{\"comm" },
        { "type": "function_call", "call_id": 7 },
    ]);
    let reply = reply_to(&response(&output)).await;
    let calls: Vec<_> = reply
        .tool_calls
        .iter()
        .map(|call| {
            let id = call.id.as_str();
            (id, call.name.as_str(), call.arguments.as_str())
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
}

#[tokio::test]
async fn missing_usage_is_no_usage() {
    let mut answer = response(&json!([message("hello")]));
    for usage in [Value::Null, json!({ "input_tokens": "many" }), json!([])] {
        answer["usage"] = usage;
        let reply = reply_to(&answer).await;
        assert_eq!(reply.text, "hello");
        assert_eq!(reply.usage, schema::Usage::default());
    }
}
