//! Whole conversations with a server that refuses what the real service refuses.

use std::sync::Arc;

use agent::ports::{Fragment, Head, Model, Shape};
use model::Settings;
use schema::{FinishReason, Reply, ToolResult, Turn};
use serde_json::{Value, json};
use testkit::StrictAnthropic;
use testkit::strict_anthropic::Said;

use super::model_of;
use crate::support::{KEY, answered, head, request, settings};

/// Thoughts open and sealed, text, calls side by side, more of them than a mark looks back, an answer without a word.
fn script(_: &str) -> Vec<Said> {
    let many = (0..25).fold(Said::thought(""), |said, number| {
        said.and_call("bash", &json!({ "command": format!("echo {number}") }))
    });
    vec![
        Said::thought("First, I look — 日本語.\n")
            .and_sealed("c2VhbGVk")
            .and_call("bash", &json!({ "command": "ls -la | grep 'ü'" }))
            .and_call(
                "bash",
                &json!({ "command": "pwd", "depth": [1, 2.5, { "a": null }] }),
            ),
        many,
        Said::text("Let me think about \"it\".").and_call("bash", &json!({})),
        Said::default(),
        Said::thought("Only a thought."),
        Said::text(" ").and_text("no call"),
        Said::call("task_done", &json!({})),
    ]
}

const STEPS: usize = 7;

fn note(model: &Arc<dyn Model>) -> Fragment {
    let text = "Go on.".to_owned();
    model.turn(&Turn::User { text }, Shape::Full)
}

/// Asks as the agent does: replies without calls are followed by a note.
async fn converse(model: &Arc<dyn Model>) -> Vec<Reply> {
    let mut turns: Vec<Fragment> = Vec::new();
    let mut replies = Vec::new();
    for index in 0..u32::try_from(STEPS).unwrap() {
        let reply = model.query(request(model, &turns, index)).await.unwrap();
        turns.push(answered(model, &reply));
        if reply.tool_calls.is_empty() {
            turns.push(note(model));
        }
        replies.push(reply);
    }
    replies
}

fn strict(stream: bool) -> (StrictAnthropic, Settings) {
    let server = StrictAnthropic::start(script);
    let settings = Settings {
        stream,
        temperature: Some(0.0),
        max_output_tokens: Some(4000),
        extra_body: json!({ "top_k": 5, "output_config": { "effort": "high" } })
            .as_object()
            .unwrap()
            .clone(),
        ..settings(server.base_url())
    };
    (server, settings)
}

#[tokio::test]
async fn streamed_or_whole_is_the_same_conversation() {
    let mut all = Vec::new();
    for stream in [false, true] {
        let (server, settings) = strict(stream);
        let replies = converse(&model_of(&settings)).await;
        assert_eq!(server.violations(), [""; 0]);
        assert_eq!(server.rewrites(), 0, "a turn only appends");
        let seen: Vec<_> = replies
            .iter()
            .map(|reply| {
                let raw: Value = serde_json::from_str(reply.raw.as_ref().unwrap().get()).unwrap();
                (
                    reply.text.clone(),
                    reply.reasoning.clone(),
                    reply.tool_calls.clone(),
                    reply.finish_reason,
                    reply.usage,
                    raw,
                )
            })
            .collect();
        assert_eq!(seen[0].1.as_deref(), Some("First, I look — 日本語.\n"));
        assert_eq!(seen[0].2.len(), 2, "parallel calls");
        assert_eq!(seen[1].2.len(), 25);
        assert_eq!(seen[3].0, "");
        assert_eq!(seen[5].0, " no call");
        assert_eq!(seen[5].3, FinishReason::Stop);
        assert!(
            replies[0].usage.reasoning > 0 && replies[0].usage.output > replies[0].usage.reasoning
        );
        all.push(seen);
    }
    assert_eq!(all[0], all[1]);
}

#[tokio::test]
async fn the_cache_holds_all_that_the_last_request_held() {
    for stream in [false, true] {
        let (_server, settings) = strict(stream);
        let replies = converse(&model_of(&settings)).await;
        let first = replies[0].usage;
        assert_eq!((first.cached, first.input), (0, first.cache_write));
        for pair in replies.windows(2) {
            let (before, after) = (pair[0].usage, pair[1].usage);
            assert_eq!(after.cached, before.cached + before.cache_write);
            assert_eq!(
                after.input,
                after.cached + after.cache_write,
                "all is marked"
            );
        }
    }
}

#[tokio::test]
async fn the_head_is_cached_for_other_conversations() {
    let (server, settings) = strict(false);
    let model = model_of(&settings);
    let ask = |prompt: &str| {
        let mut asked = request(&model, &[], 0);
        asked.head = model.head(&Head {
            prompt: prompt.to_owned(),
            ..head()
        });
        model.query(asked)
    };
    assert_eq!(ask("One.").await.unwrap().usage.cached, 0);
    assert!(ask("Another.").await.unwrap().usage.cached > 0);
    assert_eq!(server.violations(), [""; 0]);
}

#[tokio::test]
async fn the_same_script_gives_the_same_bytes() {
    for stream in [false, true] {
        let mut bodies = Vec::new();
        for _ in 0..2 {
            let (server, settings) = strict(stream);
            converse(&model_of(&settings)).await;
            let requests = server.requests();
            assert_eq!(requests.len(), STEPS);
            for request in &requests {
                let length = request.body.len().to_string();
                assert_eq!(request.header("content-length"), Some(length.as_str()));
                assert_eq!(request.header("transfer-encoding"), None);
                assert_eq!(request.path, "/v1/messages");
                assert_eq!(request.header("x-api-key"), Some(KEY));
                assert_eq!(request.header("authorization"), None);
                assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
                assert_eq!(request.connection, 0, "one connection serves all");
                assert_eq!(request.json()["stream"].as_bool().unwrap_or(false), stream);
            }
            let sent = requests.into_iter().map(|request| request.body);
            bodies.push(sent.collect::<Vec<_>>());
        }
        assert_eq!(bodies[0], bodies[1]);
    }
}

#[tokio::test]
async fn manual_thoughts_images_and_errors_are_accepted() {
    let server = StrictAnthropic::start(|_| {
        vec![
            Said::thought("Hm.").and_call("bash", &json!({})),
            Said::thought("So.").and_call("bash", &json!({})),
            Said::text("done"),
        ]
    });
    let thinking = json!({ "thinking": { "type": "enabled", "budget_tokens": 2000 } });
    let settings = Settings {
        extra_body: thinking.as_object().unwrap().clone(),
        ..settings(format!("{}/v1/", server.base_url()))
    };
    let model = model_of(&settings);
    let head = model.head(&Head {
        system: String::new(),
        images: vec![
            "https://x/y.png".into(),
            "data:image/png;base64,aGk=".into(),
        ],
        ..head()
    });
    let mut turns = Vec::new();
    for (index, shape) in [(0, Shape::Elided), (1, Shape::Full), (2, Shape::Full)] {
        let mut asked = request(&model, &turns, index);
        asked.head = head.clone();
        let reply = model.query(asked).await.unwrap();
        let results = reply.tool_calls.iter().map(|call| ToolResult {
            call_id: call.id.clone(),
            content: String::new(),
            is_error: true,
        });
        let turn = Turn::Assistant {
            results: results.collect(),
            reply: Box::new(reply),
        };
        turns.push(model.turn(&turn, shape));
    }
    assert_eq!(server.violations(), [""; 0]);
    assert_eq!(
        server.requests()[0].json()["max_tokens"],
        23_333,
        "room beyond the thoughts"
    );
}

#[tokio::test]
async fn a_large_history_arrives_whole() {
    let (server, settings) = strict(true);
    let model = model_of(&settings);
    let text = "x\n\"".repeat(5000);
    let turns = vec![model.turn(&Turn::User { text }, Shape::Full); 300];
    let asked = request(&model, &turns, 0);
    let size = asked.head.bytes.len() + turns.iter().map(|turn| turn.bytes.len()).sum::<usize>();
    model.query(asked).await.unwrap();
    let captured = &server.requests()[0];
    let mark = r#","cache_control":{"type":"ephemeral"}"#.len();
    assert_eq!(captured.body.len(), size + 3 * mark + 2);
    assert_eq!(
        captured.json()["messages"].as_array().unwrap().len(),
        1 + 300
    );
}
