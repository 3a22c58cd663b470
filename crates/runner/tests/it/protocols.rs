//! An agent's whole run by each protocol: an instance of the demo, solved with its recorded replies by way of a strict server.

use std::path::{Path, PathBuf};
use std::process::Command;

use schema::event::Event;
use schema::{Reply, Trajectory};
use testkit::strict_anthropic::{self, Fault};
use testkit::{StrictAnthropic, StrictResponses, strict_openai_responses};

use crate::command::Place;

const INSTANCE: &str = "patchmill-demo__cronline-5";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The replies that solved the instance.
fn recorded() -> Vec<Reply> {
    let path = root().join(format!("trajectories/demo/{INSTANCE}.json"));
    let trajectory: Trajectory = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let replies = trajectory.events.into_iter().filter_map(|record| {
        if let Event::Replied { reply, .. } = record.event {
            Some(reply)
        } else {
            None
        }
    });
    replies.collect()
}

/// Runs and grades the instance in a place of its own.
fn solve(place: &Place, model: &str, more: &[&str]) {
    let built = Command::new(root().join("scripts/build-demo.sh")).status();
    assert!(built.unwrap().success());
    let dataset = root().join("datasets/demo.jsonl");
    let dataset = dataset.to_string_lossy();
    let mut arguments = vec!["run", "--dataset", &*dataset, "--ids", INSTANCE];
    arguments.extend(["--out", "out", "--sandbox", "local", "--quiet"]);
    arguments.extend(["--grade", "--fail-under", "1", "--model", model]);
    arguments.extend_from_slice(more);
    let said = place.run(&arguments);
    assert_eq!(said.code, 0, "{}", said.all());
}

/// A recorded reply as Anthropic's models say it, with thoughts before it.
fn as_message(reply: &Reply) -> strict_anthropic::Said {
    let said = strict_anthropic::Said::thought("Thinking.")
        .and_sealed("c2VhbGVk")
        .and_text(reply.text.as_str());
    reply.tool_calls.iter().fold(said, |said, call| {
        let arguments = serde_json::from_str(&call.arguments).unwrap();
        said.and_call(call.name.as_str(), &arguments)
    })
}

/// A recorded reply as Responses say it, after reasoning.
fn as_response(reply: &Reply) -> strict_openai_responses::Said {
    let said = strict_openai_responses::Said::text(reply.text.as_str());
    let said = said.after_reasoning("Thinking.");
    reply.tool_calls.iter().fold(said, |said, call| {
        let arguments = serde_json::from_str(&call.arguments).unwrap();
        said.and_call(call.name.as_str(), &arguments)
    })
}

#[test]
fn messages() {
    let replies = recorded();
    let mut script: Vec<_> = replies.iter().map(as_message).collect();
    script[1] = script[1]
        .clone()
        .after([Fault::Status(529, "overloaded_error")]);
    for stream in ["--stream", "--no-stream"] {
        let script = script.clone();
        let server = StrictAnthropic::start(move |_| script.clone());
        let place = Place::new()
            .variable("ANTHROPIC_API_KEY", "sk-ant-test")
            .variable("ANTHROPIC_BASE_URL", &server.base_url());
        solve(&place, "anthropic:claude-opus-5", &[stream]);
        assert!(server.violations().is_empty(), "{:?}", server.violations());
        assert_eq!(
            (server.requests().len(), server.rewrites()),
            (1 + replies.len(), 0)
        );
        let last = server.requests().pop().unwrap().json();
        let messages = last["messages"].as_array().unwrap().iter();
        let blocks = messages
            .filter_map(|message| message["content"].as_array())
            .flatten();
        let thoughts = blocks.filter(|block| block["type"] == "thinking");
        assert_eq!(thoughts.count(), replies.len() - 1);
    }
}

#[test]
fn responses() {
    let replies = recorded();
    let script: Vec<_> = replies.iter().map(as_response).collect();
    for stream in ["--stream", "--no-stream"] {
        let script = script.clone();
        let server = StrictResponses::start(move |_| script.clone());
        let place = Place::new().variable("OPENAI_BASE_URL", &server.base_url());
        solve(&place, "openai-responses:m", &[stream]);
        assert!(server.violations().is_empty(), "{:?}", server.violations());
        assert_eq!(
            (server.requests().len(), server.rewrites()),
            (replies.len(), 0)
        );
        let last = server.requests().pop().unwrap().json();
        let items = last["input"].as_array().unwrap();
        let thoughts = items.iter().filter(|item| item["type"] == "reasoning");
        assert_eq!(thoughts.count(), replies.len() - 1);
    }
}

#[test]
fn a_customary_variable_without_an_address_is_named() {
    let place = Place::new().variable("OPENAI_BASE_URL", "localhost");
    place.dataset(&place.repository("repo"));
    let dataset = ["run", "--dataset", "dataset.jsonl"];
    let said = place.run(&[&dataset[..], &["--model", "openai-responses:m"]].concat());
    assert_eq!(said.code, 2, "{}", said.all());
    let told = "OPENAI_BASE_URL `localhost` is not an address";
    assert!(said.err.contains(told), "{}", said.all());
}
