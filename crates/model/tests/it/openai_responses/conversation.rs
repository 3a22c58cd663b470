//! Whole conversations with a server that refuses what the real service refuses.

use std::sync::Arc;

use agent::ports::{Fragment, Head, Model, Shape};
use model::Settings;
use schema::{FinishReason, Reply, Turn};
use serde_json::json;
use testkit::StrictResponses;
use testkit::strict_openai_responses::Said;

use super::model_with;
use crate::support::{KEY, answered, head, request, settings};

fn script(_: &str) -> Vec<Said> {
    vec![
        Said::call("bash", &json!({ "command": "ls -la | grep 'ü'" }))
            .and_call("bash", &json!({ "command": "pwd" }))
            .after_reasoning("**Looking** — zuerst."),
        Said::text("Let me think about \"it\" — 日本語.\n")
            .and_call("bash", &json!({}))
            .after_reasoning(""),
        Said::default()
            .after_reasoning("Too long.")
            .incomplete("max_output_tokens"),
        Said::text("no call"),
        Said::refusal("I cannot go on."),
        Said::call("task_done", &json!({})),
    ]
}

/// Goes through the script; where a reply holds no call, a note follows.
async fn converse(model: &Arc<dyn Model>) -> Vec<Reply> {
    let mut turns: Vec<Fragment> = Vec::new();
    let mut replies = Vec::new();
    for index in 0..6 {
        let reply = model.query(request(model, &turns, index)).await.unwrap();
        turns.push(answered(model, &reply));
        if reply.tool_calls.is_empty() {
            let note = Turn::User {
                text: "Go on.".into(),
            };
            turns.push(model.turn(&note, Shape::Full));
        }
        replies.push(reply);
    }
    replies
}

fn strict(stream: bool, extra_body: &serde_json::Value) -> (StrictResponses, Settings) {
    let server = StrictResponses::start(script);
    let settings = Settings {
        stream,
        temperature: Some(0.0),
        max_output_tokens: Some(1000),
        extra_body: extra_body.as_object().unwrap().clone(),
        ..settings(server.base_url())
    };
    (server, settings)
}

#[tokio::test]
async fn streamed_or_whole_is_the_same_conversation() {
    let effort = json!({ "reasoning": { "effort": "high", "summary": "auto" } });
    let mut all = Vec::new();
    for stream in [false, true] {
        let (server, settings) = strict(stream, &effort);
        let mut replies = converse(&model_with(&settings)).await;
        assert_eq!(server.violations(), [""; 0]);
        assert_eq!(server.rewrites(), 0, "a turn only appends");
        assert_eq!(replies[0].tool_calls.len(), 2, "parallel calls");
        assert_eq!(
            replies[0].reasoning.as_deref(),
            Some("**Looking** — zuerst.")
        );
        assert_eq!(replies[1].text, "Let me think about \"it\" — 日本語.\n");
        assert_eq!(replies[1].reasoning, None);
        let ends: Vec<_> = replies.iter().map(|reply| reply.finish_reason).collect();
        assert_eq!(
            ends,
            [
                FinishReason::ToolCalls,
                FinishReason::ToolCalls,
                FinishReason::Length,
                FinishReason::Stop,
                FinishReason::ContentFilter,
                FinishReason::ToolCalls,
            ]
        );
        for reply in &mut replies {
            assert!(reply.usage.cached > 0 && reply.usage.cache_write > 0);
            reply.usage = schema::Usage::default();
            reply.elapsed_ms = 0;
        }
        all.push(replies);
    }
    assert_eq!(all[0], all[1]);
}

#[tokio::test]
async fn a_model_without_reasoning_to_keep_is_asked_without_it() {
    for stream in [false, true] {
        let (server, settings) = strict(stream, &json!({ "include": null }));
        converse(&model_with(&settings)).await;
        assert_eq!(server.violations(), [""; 0]);
        let last = server.requests().pop().unwrap().json();
        let items = last["input"].as_array().unwrap();
        assert!(items.iter().all(|item| item["type"] != "reasoning"));
        assert!(last.get("include").is_none());
    }
}

#[tokio::test]
async fn the_same_script_gives_the_same_bytes() {
    for stream in [false, true] {
        let mut bodies = Vec::new();
        for _ in 0..2 {
            let (server, settings) = strict(stream, &json!({}));
            converse(&model_with(&settings)).await;
            let requests = server.requests();
            assert_eq!(requests.len(), 6);
            for request in &requests {
                let length = request.body.len().to_string();
                assert_eq!(request.header("content-length"), Some(length.as_str()));
                assert_eq!(request.path, "/v1/responses");
                let bearer = format!("Bearer {KEY}");
                assert_eq!(request.header("authorization"), Some(bearer.as_str()));
                assert_eq!(request.connection, 0, "one connection serves all");
                let body = request.json();
                assert_eq!(body["stream"].as_bool().unwrap_or(false), stream);
                assert_eq!(body["store"], false);
            }
            let body = |request: testkit::Captured| request.body;
            bodies.push(requests.into_iter().map(body).collect::<Vec<_>>());
        }
        assert_eq!(bodies[0], bodies[1]);
    }
}

#[tokio::test]
async fn reasoning_goes_back_byte_for_byte() {
    let (server, settings) = strict(true, &json!({}));
    let replies = converse(&model_with(&settings)).await;
    let last = server.requests().pop().unwrap();
    let body = String::from_utf8(last.body).unwrap();
    for reply in &replies[..2] {
        let items = reply.raw.as_ref().unwrap().get();
        let items = items.trim_start_matches('[').trim_end_matches(']');
        assert!(items.contains("encrypted_content"), "{items}");
        assert!(body.contains(items), "{items}");
    }
}

#[tokio::test]
async fn images_of_the_problem_are_sent() {
    let (server, settings) = strict(false, &json!({}));
    let model = model_with(&settings);
    let mut asked = request(&model, &[], 0);
    asked.head = model.head(&Head {
        images: vec!["https://example.org/a.png".into()],
        ..head()
    });
    model.query(asked).await.unwrap();
    assert_eq!(server.violations(), [""; 0]);
    let body = server.requests()[0].json();
    assert_eq!(
        body["input"][0]["content"][1]["image_url"],
        "https://example.org/a.png"
    );
}
