//! Streamed answers: cut anywhere, ended anyhow.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use model::{Deadlines, Settings};
use schema::{FinishReason, ModelFailureKind, Reply};
use serde_json::{Value, json};
use testkit::{Answer, FakeServer};

use super::{error, event_stream, message, model_at, model_of};
use crate::support::{ask, settings};

const SSE: &str = "text/event-stream; charset=utf-8";

fn start() -> Value {
    json!({ "type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test-1-20260101", "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": { "input_tokens": 4, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2, "output_tokens": 1 },
    }})
}

fn block(index: u64, block: &Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn delta(index: u64, delta: &Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn text(index: u64, text: &str) -> Value {
    delta(index, &json!({ "type": "text_delta", "text": text }))
}

fn input(index: u64, piece: &str) -> Value {
    delta(
        index,
        &json!({ "type": "input_json_delta", "partial_json": piece }),
    )
}

fn stop(reason: &str) -> Value {
    json!({ "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null }, "usage": { "output_tokens": 9,
        "output_tokens_details": { "thinking_tokens": 5 } } })
}

fn end() -> Value {
    json!({ "type": "message_stop" })
}

/// A reply with everything: thoughts, text with a source, calls whose arguments come in pieces, things that nobody knows.
fn rich() -> Vec<Value> {
    vec![
        start(),
        block(
            0,
            &json!({ "type": "thinking", "thinking": "", "signature": "" }),
        ),
        json!({ "type": "ping" }),
        delta(0, &json!({ "type": "thinking_delta", "thinking": "Hm, " })),
        delta(0, &json!({ "type": "thinking_delta", "thinking": "ü." })),
        delta(
            0,
            &json!({ "type": "signature_delta", "signature": "EqQB+/==" }),
        ),
        block(
            1,
            &json!({ "type": "redacted_thinking", "data": "c2VhbGVk" }),
        ),
        block(2, &json!({ "type": "text", "text": "", "citations": null })),
        text(2, "Let me\n"),
        delta(
            2,
            &json!({ "type": "citations_delta", "citation": { "type": "page_location", "n": 1.50 } }),
        ),
        delta(2, &json!({ "type": "something_new", "value": 1 })),
        text(2, "look 🙂"),
        json!({ "type": "something_new", "value": 1 }),
        block(
            3,
            &json!({ "type": "tool_use", "id": "toolu_a", "name": "bash", "input": {} }),
        ),
        input(3, ""),
        input(3, "{\"comma"),
        block(
            4,
            &json!({ "type": "tool_use", "id": "toolu_b", "name": "bash", "input": {} }),
        ),
        input(3, "nd\": \"ls é\"}"),
        json!({ "type": "content_block_stop", "index": 3 }),
        stop("tool_use"),
        end(),
    ]
}

fn essence(mut reply: Reply) -> Reply {
    reply.elapsed_ms = 0;
    reply
}

fn streamed(events: &[Value]) -> Answer {
    Answer::new(200, &[("content-type", SSE)], event_stream(events))
}

async fn reply_to(events: &[Value]) -> Reply {
    let server = FakeServer::scripted([streamed(events)]);
    essence(ask(&model_at(&server, true)).await.unwrap())
}

#[tokio::test]
async fn pieces_make_the_whole() {
    let reply = reply_to(&rich()).await;
    let content = concat!(
        r#"[{"type":"thinking","thinking":"Hm, ü.","signature":"EqQB+/=="},{"type":"redacted_thinking","data":"c2VhbGVk"},"#,
        r#"{"type":"text","text":"Let me\nlook 🙂","citations":[{"n":1.5,"type":"page_location"}]},"#,
        r#"{"type":"tool_use","id":"toolu_a","name":"bash","input":{"command": "ls é"}},"#,
        r#"{"type":"tool_use","id":"toolu_b","name":"bash","input":{}}]"#,
    );
    let raw = reply.raw.as_ref().unwrap().get();
    assert_eq!(
        serde_json::from_str::<Value>(raw).unwrap()["content"],
        serde_json::from_str::<Value>(content).unwrap()
    );
    assert!(raw.contains(r#""input":{"command": "ls é"}"#), "{raw}");
    let mut whole = message(&serde_json::from_str(content).unwrap(), "tool_use");
    whole["usage"] = json!({ "input_tokens": 4, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2,
        "output_tokens": 9, "output_tokens_details": { "thinking_tokens": 5 } });
    let server = FakeServer::scripted([Answer::json(&whole)]);
    let mut other = essence(ask(&model_at(&server, false)).await.unwrap());
    assert_eq!(other.tool_calls[0].arguments, "{\"command\":\"ls é\"}");
    assert_eq!(reply.tool_calls[0].arguments, "{\"command\": \"ls é\"}");
    other.tool_calls[0]
        .arguments
        .clone_from(&reply.tool_calls[0].arguments);
    other.raw.clone_from(&reply.raw);
    assert_eq!(reply, other);
    assert_eq!((reply.usage.input, reply.usage.output), (9, 9));
}

#[tokio::test]
async fn a_cut_at_any_byte_changes_nothing() {
    let whole = reply_to(&rich()).await;
    let bytes = event_stream(&rich())
        .replace(
            "\n\nevent: message_stop",
            "\r\n\r\n: comment\r\n\r\nevent: message_stop",
        )
        .into_bytes();
    let cuts = bytes.len();
    let parts = bytes.clone();
    let next = AtomicUsize::new(0);
    let server = FakeServer::start(move |_| {
        let cut = next.fetch_add(1, Ordering::SeqCst);
        let (start, end) = parts.split_at(cut.min(parts.len()));
        Answer::pieces(SSE, [start, end])
    });
    let model = model_at(&server, true);
    for cut in 0..=cuts {
        let reply = essence(ask(&model).await.unwrap());
        assert_eq!(reply, whole, "cut at byte {cut}");
    }
    let server = FakeServer::start(move |_| Answer::pieces(SSE, bytes.chunks(1)));
    let reply = ask(&model_at(&server, true)).await.unwrap();
    assert_eq!(essence(reply), whole, "byte by byte");
}

#[tokio::test]
async fn an_end_at_any_event_is_told_from_a_whole_answer() {
    let all = rich();
    let whole = all.len() - 1;
    for count in 0..=all.len() {
        let events = all[..count].to_vec();
        let server = FakeServer::start(move |_| streamed(&events));
        let result = ask(&model_at(&server, true)).await;
        if count < whole {
            let failure = result.unwrap_err();
            assert_eq!(failure.kind, Some(ModelFailureKind::Overloaded), "{count}");
            assert_eq!(failure.retries.len(), 3, "{count}");
        } else {
            assert_eq!(result.unwrap().tool_calls.len(), 2, "{count}");
        }
    }
}

#[tokio::test]
async fn a_limit_cuts_calls_and_thoughts() {
    let call = json!({ "type": "tool_use", "id": "toolu_a", "name": "bash", "input": {} });
    let reply = reply_to(&[
        start(),
        block(0, &call),
        input(0, "{\"comma"),
        stop("max_tokens"),
        end(),
    ])
    .await;
    assert_eq!(reply.finish_reason, FinishReason::Length);
    assert_eq!(reply.tool_calls[0].arguments, "{\"comma");
    let thought = json!({ "type": "thinking", "thinking": "", "signature": "" });
    let piece = delta(0, &json!({ "type": "thinking_delta", "thinking": "So" }));
    let reply = reply_to(&[
        start(),
        block(0, &thought),
        piece,
        stop("max_tokens"),
        end(),
    ])
    .await;
    assert_eq!(
        (reply.reasoning.as_deref(), reply.text.as_str()),
        (Some("So"), "")
    );
}

#[tokio::test]
async fn events_that_make_no_sense_are_tried_again() {
    let text_block = block(0, &json!({ "type": "text", "text": "" }));
    for events in [
        vec![start(), text(0, "x"), stop("end_turn")],
        vec![start(), text_block.clone(), text(1, "x"), stop("end_turn")],
        vec![
            start(),
            json!({ "type": "content_block_start", "index": 0 }),
            stop("end_turn"),
        ],
        vec![
            start(),
            json!({ "type": "content_block_delta", "index": 0, "delta": 5 }),
        ],
        vec![end()],
        vec![start(), text_block, json!("garbage")],
    ] {
        let shown = events.clone();
        let server = FakeServer::start(move |_| streamed(&events));
        let failure = ask(&model_at(&server, true)).await.unwrap_err();
        assert_eq!(
            failure.kind,
            Some(ModelFailureKind::Overloaded),
            "{shown:?}"
        );
        assert_eq!(failure.retries.len(), 3, "{shown:?}");
    }
}

#[tokio::test]
async fn what_fails_after_the_answer_costs_nothing() {
    let text_block = block(0, &json!({ "type": "text", "text": "hi" }));
    let whole = event_stream(&[start(), text_block, stop("end_turn")]);
    let failed = whole.clone() + &event_stream(&[error("overloaded_error", "late")]);
    let server = FakeServer::scripted([
        Answer::chunked(SSE).chunk(whole.as_bytes()).close(),
        Answer::chunked(SSE).chunk(whole.as_bytes()).stall(),
        Answer::pieces(SSE, [failed.as_bytes()]),
    ]);
    let model = model_of(&Settings {
        stream: true,
        deadlines: Deadlines {
            idle: Duration::from_millis(50),
            ..Deadlines::default()
        },
        ..settings(format!("http://{}", server.address()))
    });
    for _ in 0..3 {
        let reply = ask(&model).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.retries.len()), ("hi", 0));
    }
}

#[tokio::test]
async fn errors_inside_a_stream_have_classes() {
    for (kind, wanted, tries) in [
        ("overloaded_error", Some(ModelFailureKind::Overloaded), 3),
        ("rate_limit_error", Some(ModelFailureKind::Overloaded), 3),
        ("api_error", Some(ModelFailureKind::Overloaded), 3),
        ("timeout_error", Some(ModelFailureKind::Overloaded), 3),
        ("something_new", Some(ModelFailureKind::Overloaded), 3),
        ("authentication_error", Some(ModelFailureKind::Auth), 1),
        ("billing_error", Some(ModelFailureKind::Billing), 1),
        (
            "invalid_request_error",
            Some(ModelFailureKind::BadRequest),
            1,
        ),
        ("request_too_large", None, 1),
    ] {
        let text_block = block(0, &json!({ "type": "text", "text": "x" }));
        let events = vec![start(), text_block, error(kind, "m")];
        let server = FakeServer::start(move |_| streamed(&events));
        let failure = ask(&model_at(&server, true)).await.unwrap_err();
        assert_eq!(failure.kind, wanted, "{kind}");
        assert_eq!(failure.retries.len(), tries, "{kind}");
    }
}
