//! Streamed answers: cut anywhere, ended anyhow.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use model::{Deadlines, Settings};
use schema::{FinishReason, Reply};
use serde_json::{Value, json};
use testkit::{Answer, FakeServer, answer::event_stream};

use super::{call, done, event, message, model_at, model_with, reasoning, response};
use crate::support::{ask, settings};

const SSE: &str = "text/event-stream; charset=utf-8";

fn items() -> [Value; 4] {
    [
        reasoning(&["Hm, ü."]),
        message("Let me\nlook 🙂"),
        call("a", "ls é"),
        call("b", "pwd"),
    ]
}

/// A reply with everything, its items done in an order that is not theirs.
fn rich() -> Vec<String> {
    let items = items();
    let begun =
        json!({ "id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gA" });
    let mut last = response(&json!(items));
    last["usage"] = json!({ "input_tokens": 9, "output_tokens": 5, "output_tokens_details": { "reasoning_tokens": 2 } });
    vec![
        event(
            "response.created",
            json!({ "response": { "status": "in_progress", "error": null, "output": [] } }),
        ),
        event(
            "response.output_item.added",
            json!({ "output_index": 0, "item": begun }),
        ),
        event(
            "response.reasoning_summary_text.delta",
            json!({ "delta": "Hm, ü." }),
        ),
        done(1, &items[1]),
        done(0, &items[0]),
        event(
            "response.function_call_arguments.delta",
            json!({ "output_index": 2, "delta": "{\"comma" }),
        ),
        done(3, &items[3]),
        event(
            "response.something_new",
            json!({ "item": 7, "error": null }),
        ),
        done(2, &items[2]),
        event("response.completed", json!({ "response": last })),
    ]
}

fn essence(mut reply: Reply) -> Reply {
    reply.elapsed_ms = 0;
    reply
}

async fn reply_to(events: &[String]) -> Reply {
    let server = FakeServer::scripted([Answer::events(events)]);
    essence(ask(&model_at(server.base_url(), true)).await.unwrap())
}

#[tokio::test]
async fn pieces_make_the_whole() {
    let reply = reply_to(&rich()).await;
    assert_eq!(reply.text, "Let me\nlook 🙂");
    assert_eq!(reply.reasoning.as_deref(), Some("Hm, ü."));
    assert_eq!(reply.finish_reason, FinishReason::ToolCalls);
    assert_eq!(reply.model.as_deref(), Some("test-model-2026"));
    assert_eq!((reply.usage.input, reply.usage.reasoning), (9, 2));
    let calls: Vec<_> = reply.tool_calls.iter().map(|call| &call.id).collect();
    assert_eq!(calls, ["a", "b"]);
    assert_eq!(reply.raw.unwrap().get(), json!(items()).to_string());
}

#[tokio::test]
async fn a_cut_at_any_byte_changes_nothing() {
    let body = event_stream(&rich()).replace(
        "\n\ndata: {\"response\"",
        "\r\n\r\n: ping\r\n\r\nevent: x\r\ndata: {\"response\"",
    );
    let whole = reply_to(&rich()).await;
    let bytes = body.into_bytes();
    let parts = bytes.clone();
    let next = AtomicUsize::new(0);
    let server = FakeServer::start(move |_| {
        let cut = next.fetch_add(1, Ordering::SeqCst);
        let (start, end) = parts.split_at(cut.min(parts.len()));
        Answer::pieces(SSE, [start, end])
    });
    let model = model_at(server.base_url(), true);
    for cut in 0..=bytes.len() {
        let reply = essence(ask(&model).await.unwrap());
        assert_eq!(reply, whole, "cut at byte {cut}");
    }
    let server = FakeServer::start(move |_| Answer::pieces(SSE, bytes.chunks(1)));
    let reply = ask(&model_at(server.base_url(), true)).await.unwrap();
    assert_eq!(essence(reply), whole, "byte by byte");
}

#[tokio::test]
async fn items_may_come_in_the_last_event_alone_or_not_at_all_there() {
    let whole = reply_to(&rich()).await;
    let finished = |output: Value| {
        let mut last = response(&output);
        last["usage"] = json!({ "input_tokens": 9, "output_tokens": 5, "output_tokens_details": { "reasoning_tokens": 2 } });
        event("response.completed", json!({ "response": last }))
    };
    let all = items();
    let places = || {
        all.iter()
            .enumerate()
            .map(|(place, item)| done(place, item))
    };
    let alone = vec![finished(json!(all))];
    let mut empty: Vec<String> = places().collect();
    empty.push(finished(json!([])));
    let mut absent: Vec<String> = places().collect();
    absent.push(finished(Value::Null));
    for events in [alone, empty, absent] {
        assert_eq!(reply_to(&events).await, whole);
    }
    // Nothing but a mark: all that is lost is the usage.
    let mut marked: Vec<String> = places().collect();
    marked.push("[DONE]".to_owned());
    let reply = reply_to(&marked).await;
    assert_eq!((&reply.raw, reply.usage.input), (&whole.raw, 0));
}

#[tokio::test]
async fn an_item_that_was_cut_off_is_kept() {
    let mut last = response(&json!([message("so"), call("a", "ls")]));
    last["status"] = "incomplete".into();
    last["incomplete_details"] = json!({ "reason": "max_output_tokens" });
    let end = event("response.incomplete", json!({ "response": last }));
    let reply = reply_to(&[done(0, &message("so")), end]).await;
    assert_eq!(
        (reply.tool_calls.len(), reply.finish_reason),
        (1, FinishReason::Length)
    );
}

#[tokio::test]
async fn what_fails_after_the_answer_costs_nothing() {
    let end = event(
        "response.completed",
        json!({ "response": response(&json!([message("hi")])) }),
    );
    let body = event_stream(std::slice::from_ref(&end));
    let more = event_stream(&[end, "{\"garbage".to_owned()]);
    let server = FakeServer::scripted([
        Answer::chunked(SSE).chunk(body.as_bytes()).close(),
        Answer::chunked(SSE).chunk(body.as_bytes()).stall(),
        Answer::chunked(SSE).chunk(more.as_bytes()).close(),
    ]);
    let model = model_with(&Settings {
        stream: true,
        deadlines: Deadlines {
            idle: Duration::from_millis(50),
            ..Deadlines::default()
        },
        ..settings(server.base_url())
    });
    for _ in 0..3 {
        let reply = ask(&model).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.retries.len()), ("hi", 0));
    }
}

#[tokio::test]
async fn a_stream_is_read_though_none_was_asked_for() {
    let server = FakeServer::scripted([Answer::events(&rich())]);
    let reply = ask(&model_at(server.base_url(), false)).await.unwrap();
    assert_eq!(reply.text, "Let me\nlook 🙂");
}
