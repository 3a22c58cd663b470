//! Whole conversations with a server that refuses what the real service refuses.

use std::sync::Arc;

use agent::ports::{Fragment, Model};
use model::Settings;
use schema::FinishReason;
use serde_json::json;
use testkit::{Said, StrictChat};

use crate::support::{KEY, answered, attempt, provider, request, settings};

fn script(_: &str) -> Vec<Said> {
    vec![
        Said::call("bash", &json!({ "command": "ls -la | grep 'ü'" }))
            .and_call("bash", &json!({ "command": "pwd" })),
        Said::text("Let me think about \"it\" — 日本語.\n").and_call("bash", &json!({})),
        Said::text("no call"),
        Said::call("task_done", &json!({})),
    ]
}

async fn converse(model: &Arc<dyn Model>) -> Vec<schema::Reply> {
    let mut turns: Vec<Fragment> = Vec::new();
    let mut replies = Vec::new();
    for index in 0..4 {
        let reply = model.query(request(model, &turns, index)).await.unwrap();
        turns.push(answered(model, &reply));
        replies.push(reply);
    }
    replies
}

fn strict(stream: bool) -> (StrictChat, Settings) {
    let server = StrictChat::start(script);
    let settings = Settings {
        stream,
        temperature: Some(0.0),
        max_output_tokens: Some(1000),
        extra_body: json!({ "seed": 1 }).as_object().unwrap().clone(),
        ..settings(server.base_url())
    };
    (server, settings)
}

#[tokio::test]
async fn streamed_or_whole_is_the_same_conversation() {
    let mut all = Vec::new();
    for stream in [false, true] {
        let (server, settings) = strict(stream);
        let replies = converse(&attempt(&provider(&settings))).await;
        assert_eq!(server.violations(), [""; 0]);
        assert_eq!(server.rewrites(), 0, "a turn only appends");
        let seen: Vec<_> = replies
            .iter()
            .map(|reply| {
                (
                    reply.text.clone(),
                    reply.tool_calls.clone(),
                    reply.finish_reason,
                )
            })
            .collect();
        assert_eq!(seen[0].1.len(), 2, "parallel calls");
        assert_eq!(seen[1].0, "Let me think about \"it\" — 日本語.\n");
        assert_eq!(seen[2].2, FinishReason::Stop);
        assert!(replies.iter().all(|reply| reply.usage.cached > 0));
        all.push(seen);
    }
    assert_eq!(all[0], all[1]);
}

#[tokio::test]
async fn the_same_script_gives_the_same_bytes() {
    for stream in [false, true] {
        let mut bodies = Vec::new();
        for _ in 0..2 {
            let (server, settings) = strict(stream);
            converse(&attempt(&provider(&settings))).await;
            let requests = server.requests();
            assert_eq!(requests.len(), 4);
            for request in &requests {
                let length = request.body.len().to_string();
                assert_eq!(request.header("content-length"), Some(length.as_str()));
                assert_eq!(request.header("transfer-encoding"), None);
                assert_eq!(request.path, "/v1/chat/completions");
                let bearer = format!("Bearer {KEY}");
                assert_eq!(request.header("authorization"), Some(bearer.as_str()));
                assert_eq!(request.connection, 0, "one connection serves all");
                assert_eq!(request.json()["stream"].as_bool().unwrap_or(false), stream);
            }
            bodies.push(
                requests
                    .into_iter()
                    .map(|request| request.body)
                    .collect::<Vec<_>>(),
            );
        }
        assert_eq!(bodies[0], bodies[1]);
    }
}

#[tokio::test]
async fn a_large_history_arrives_whole() {
    let (server, settings) = strict(false);
    let model = attempt(&provider(&settings));
    let note = schema::Turn::User {
        text: "x\n\"".repeat(5000),
    };
    let turns = vec![model.turn(&note, agent::ports::Shape::Full); 300];
    let asked = request(&model, &turns, 0);
    let size = asked.head.bytes.len() + turns.iter().map(|turn| turn.bytes.len()).sum::<usize>();
    model.query(asked).await.unwrap();
    let captured = &server.requests()[0];
    assert_eq!(captured.body.len(), size + 2);
    assert_eq!(
        captured.json()["messages"].as_array().unwrap().len(),
        2 + 300
    );
}
