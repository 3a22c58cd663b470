//! Streamed answers: cut anywhere, ended anyhow.

use std::time::Duration;

use model::{Deadlines, Settings};
use schema::{FinishReason, ModelFailureKind, Reply};
use serde_json::{Value, json};
use testkit::{Answer, FakeServer, answer::event_stream};

use crate::support::{ask, attempt, provider, settings};

const SSE: &str = "text/event-stream; charset=utf-8";

fn streaming(server: &FakeServer) -> Settings {
    Settings {
        stream: true,
        ..settings(server.base_url())
    }
}

fn chunk(delta: &Value, reason: Option<&str>) -> String {
    json!({ "id": "x", "model": "m-1", "object": "chat.completion.chunk",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] })
    .to_string()
}

fn call_delta(fields: &Value) -> String {
    chunk(&json!({ "tool_calls": [fields] }), None)
}

/// A reply with everything: text, thoughts, two calls whose arguments come in pieces, usage after the end.
fn rich() -> Vec<String> {
    vec![
        chunk(&json!({ "role": "assistant", "content": "" }), None),
        chunk(&json!({ "reasoning_content": "Hm, " }), None),
        chunk(&json!({ "reasoning_content": "ü." }), None),
        chunk(&json!({ "content": "Let me\n" }), None),
        chunk(&json!({ "content": "look 🙂" }), None),
        call_delta(&json!({ "index": 0, "id": "a", "type": "function", "function": { "name": "bash", "arguments": "" } })),
        call_delta(&json!({ "index": 0, "function": { "arguments": "{\"comma" } })),
        call_delta(&json!({ "index": 1, "id": "b", "type": "function", "function": { "name": "bash", "arguments": "{\"command\": \"pwd\"}" } })),
        call_delta(&json!({ "index": 0, "function": { "arguments": "nd\": \"ls é\"}" } })),
        chunk(&json!({}), Some("tool_calls")),
        json!({ "model": "m-1", "choices": [], "usage": { "prompt_tokens": 9, "completion_tokens": 5,
            "completion_tokens_details": { "reasoning_tokens": 2 } } })
        .to_string(),
        "[DONE]".to_owned(),
    ]
}

fn essence(mut reply: Reply) -> Reply {
    reply.elapsed_ms = 0;
    reply
}

async fn reply_to(events: &[String]) -> Reply {
    let server = FakeServer::scripted([Answer::events(events)]);
    essence(ask(&attempt(&provider(&streaming(&server)))).await.unwrap())
}

#[tokio::test]
async fn pieces_make_the_whole() {
    let reply = reply_to(&rich()).await;
    assert_eq!(reply.text, "Let me\nlook 🙂");
    assert_eq!(reply.reasoning.as_deref(), Some("Hm, ü."));
    assert_eq!(reply.finish_reason, FinishReason::ToolCalls);
    assert_eq!(reply.model.as_deref(), Some("m-1"));
    assert_eq!((reply.usage.input, reply.usage.reasoning), (9, 2));
    let arguments: Vec<_> = reply
        .tool_calls
        .iter()
        .map(|call| (call.id.as_str(), call.arguments.as_str()))
        .collect();
    assert_eq!(
        arguments,
        [
            ("a", "{\"command\": \"ls é\"}"),
            ("b", "{\"command\": \"pwd\"}")
        ]
    );
    let raw: Value = serde_json::from_str(reply.raw.unwrap().get()).unwrap();
    assert_eq!(raw["reasoning_content"], "Hm, ü.");
    assert_eq!(
        raw["tool_calls"][0]["function"]["arguments"],
        "{\"command\": \"ls é\"}"
    );
}

#[tokio::test]
async fn a_cut_at_any_byte_changes_nothing() {
    let body =
        event_stream(&rich()).replace("\n\ndata: [DONE]", "\r\n\r\n: ping\r\n\r\ndata: [DONE]");
    let whole = reply_to(&rich()).await;
    let cuts = body.len();
    let bytes = body.into_bytes();
    let parts = bytes.clone();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let server = FakeServer::start(move |_| {
        let cut = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let (start, end) = parts.split_at(cut.min(parts.len()));
        Answer::pieces(SSE, [start, end])
    });
    let model = attempt(&provider(&streaming(&server)));
    for cut in 0..=cuts {
        let reply = essence(ask(&model).await.unwrap());
        assert_eq!(reply, whole, "cut at byte {cut}");
    }
    let server = FakeServer::start(move |_| Answer::pieces(SSE, bytes.chunks(1)));
    let reply = ask(&attempt(&provider(&streaming(&server)))).await.unwrap();
    assert_eq!(essence(reply), whole, "byte by byte");
}

#[tokio::test]
async fn calls_without_an_index_are_told_apart() {
    let calls = |events: Vec<String>| async move {
        let mut events = events;
        events.push(chunk(&json!({}), Some("stop")));
        let reply = reply_to(&events).await;
        reply
            .tool_calls
            .into_iter()
            .map(|call| (call.id, call.name, call.arguments))
            .collect::<Vec<_>>()
    };
    let two = |first: &str, second: &str| {
        vec![
            (first.to_owned(), "bash".to_owned(), "{\"a\":1}".to_owned()),
            (second.to_owned(), "view".to_owned(), "{}".to_owned()),
        ]
    };
    let call = |id: Option<&str>, index: Option<u64>, name: &str, arguments: &str| {
        let mut call = json!({ "function": { "name": name, "arguments": arguments } });
        if let Some(id) = id {
            call["id"] = id.into();
        }
        if let Some(index) = index {
            call["index"] = index.into();
        }
        call_delta(&call)
    };
    let piece = |arguments: &str| call_delta(&json!({ "function": { "arguments": arguments } }));
    // By id alone, the arguments following.
    let events = vec![
        call(Some("a"), None, "bash", ""),
        piece("{\"a\""),
        piece(":1}"),
        call(Some("b"), None, "view", "{}"),
    ];
    assert_eq!(calls(events).await, two("a", "b"));
    // All with index 0, each whole.
    let events = vec![
        call(Some("a"), Some(0), "bash", "{\"a\":1}"),
        call(Some("b"), Some(0), "view", "{}"),
    ];
    assert_eq!(calls(events).await, two("a", "b"));
    // The same id in both.
    let events = vec![
        call(Some("a"), Some(0), "bash", "{\"a\":1}"),
        call(Some("a"), Some(1), "view", "{}"),
    ];
    assert_eq!(calls(events).await, two("a", "call_0_1"));
    // The name again with every piece.
    let events = vec![
        call(Some("a"), Some(0), "bash", "{\"a\""),
        call(Some("a"), Some(0), "bash", ":1}"),
        call(None, Some(1), "view", "{}"),
    ];
    assert_eq!(calls(events).await, two("a", "call_0_1"));
}

#[tokio::test]
async fn an_answer_is_whole_by_its_reason_or_its_mark() {
    let text = chunk(&json!({ "content": "hi" }), None);
    let end = chunk(&json!({}), Some("stop"));
    let whole = [
        vec![text.clone(), end.clone()],
        vec![text.clone(), end.clone(), "[DONE]".to_owned()],
        vec![text.clone(), "[DONE]".to_owned()],
        vec![text.clone(), end.clone(), "{\"garbage".to_owned()],
    ];
    for events in whole {
        assert_eq!(reply_to(&events).await.text, "hi", "{events:?}");
    }
    let torn = [
        vec![text.clone()],
        vec![],
        vec!["[DONE]".to_owned()],
        vec![text, "{\"choi".into()],
    ];
    for events in torn {
        let server = FakeServer::start(move |_| Answer::events(&events));
        let failure = ask(&attempt(&provider(&streaming(&server))))
            .await
            .unwrap_err();
        assert_eq!(failure.kind, Some(ModelFailureKind::Overloaded));
        assert_eq!(failure.retries.len(), 3, "{failure:?}");
    }
}

#[tokio::test]
async fn what_fails_after_the_answer_costs_nothing() {
    let body = event_stream(&[
        chunk(&json!({ "content": "hi" }), None),
        chunk(&json!({}), Some("stop")),
    ]);
    let server = FakeServer::scripted([
        Answer::chunked(SSE).chunk(body.as_bytes()).close(),
        Answer::chunked(SSE).chunk(body.as_bytes()).stall(),
    ]);
    let settings = Settings {
        deadlines: Deadlines {
            idle: Duration::from_millis(50),
            ..Deadlines::default()
        },
        ..streaming(&server)
    };
    let model = attempt(&provider(&settings));
    for _ in 0..2 {
        let reply = ask(&model).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.retries.len()), ("hi", 0));
    }
}

#[tokio::test]
async fn errors_inside_a_stream_have_classes() {
    for (event, kind, tries) in [
        (
            json!({ "error": { "code": 429, "message": "slow" } }),
            ModelFailureKind::Overloaded,
            3,
        ),
        (
            json!({ "error": { "code": "insufficient_quota", "message": "pay" } }),
            ModelFailureKind::Billing,
            1,
        ),
        (
            json!({ "object": "error", "message": "bad", "code": 400 }),
            ModelFailureKind::BadRequest,
            1,
        ),
        (
            json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "error" }] }),
            ModelFailureKind::Overloaded,
            3,
        ),
    ] {
        let events = vec![chunk(&json!({ "content": "x" }), None), event.to_string()];
        let server = FakeServer::start(move |_| Answer::events(&events));
        let failure = ask(&attempt(&provider(&streaming(&server))))
            .await
            .unwrap_err();
        assert_eq!(failure.kind, Some(kind), "{event}");
        assert_eq!(failure.retries.len(), tries, "{event}");
    }
}
