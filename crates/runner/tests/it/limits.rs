//! What a whole run may use up: money, disk syncs, memory.

use std::fs;

use schema::{Outcome, RunEvent};
use serde_json::json;
use testkit::{Answer, FakeServer};

use crate::fixture::{Fixture, wait};

/// Most memory of the runner, in KiB, however much a command prints.
const MOST_MEMORY: u64 = 100 << 10;

#[test]
fn a_run_ends_when_it_has_spent_what_it_may_and_keeps_what_was_done() {
    let server = FakeServer::start(|_| {
        let call = json!({ "id": "c", "type": "function", "function": { "name": "bash", "arguments": "{\"command\":\"date +%N\"}" } });
        Answer::json(&json!({
            "choices": [{ "message": { "role": "assistant", "tool_calls": [call] }, "finish_reason": "tool_calls" }],
            "usage": { "prompt_tokens": 1_000_000, "completion_tokens": 0 },
        }))
    });
    let fixture = Fixture::shared(50);
    let spend = |most: &str| {
        let base_url = server.base_url();
        let flags = [
            "--model",
            "openai:m",
            "--base-url",
            &base_url,
            "--workers",
            "2",
            "--max-steps",
            "4",
            "--price",
            "input=1",
            "--price",
            "output=1",
            "--max-total-cost",
            most,
        ];
        if fixture.file("run.json").exists() {
            fixture.run(&[&flags[..], &["--resume"]].concat())
        } else {
            fixture.run(&flags)
        }
    };
    let said = spend("10");
    assert_eq!(said.code, 4, "{}", said.all());
    assert!(said.err.contains("--max-total-cost"), "{}", said.err);
    let asked = server.requests().len();
    // A dollar a reply; the other worker, if it was asking when the money ran out, had its answer.
    assert!((10..=11).contains(&asked), "{asked} requests");
    let stopped = |outcome: &Outcome| matches!(outcome, Outcome::Stopped { .. });
    let done = fixture
        .outcomes()
        .iter()
        .filter(|(_, outcome)| stopped(outcome))
        .count();
    assert_eq!(fixture.predictions().len(), done);
    assert!(
        fixture
            .events()
            .iter()
            .any(|event| matches!(event, RunEvent::Aborted { .. }))
    );
    fixture.assert_clean();

    // What was spent before counts when the run is taken up again.
    let said = spend("10");
    assert_eq!(said.code, 4, "{}", said.all());
    assert_eq!(server.requests().len(), asked);
}

#[test]
fn a_durable_run_leaves_what_any_other_leaves() {
    let fixture = Fixture::new(2);
    fixture.script(&["cat value.txt", "echo good > value.txt"]);
    let said = fixture.run(&["--durable"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(fixture.predictions().len(), 2);
    assert_eq!(fixture.trajectory(0).outcome(), Some(&Outcome::Completed));
    let file = fs::read_to_string(fixture.file("run.json")).unwrap();
    assert!(file.contains("\"durable\": true"), "{file}");
    let said = fixture.run(&["--resume", "--no-durable"]);
    assert_eq!(said.code, 0, "{}", said.all());
}

#[test]
fn a_command_that_prints_a_gigabyte_costs_little_memory_and_disk() {
    let fixture = Fixture::new(1);
    let mark = fixture.place.path().join("mark");
    let held = format!("until test -e {}; do sleep 0.02; done", mark.display());
    fixture.script(&[
        "yes 'a line that is printed again and again' | head -c 1G",
        &held,
        "echo good > value.txt",
    ]);
    let mut child = fixture.start(&[]);
    let log = fixture.file(&format!(
        "instances/{}/s1-a1/trajectory.jsonl",
        fixture.id(0)
    ));
    wait("the flood is over", || {
        fs::read_to_string(&log).is_ok_and(|text| text.matches("\"tool_started\"").count() == 2)
    });
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let most = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let most: u64 = most.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(most < MOST_MEMORY, "{most} KiB");
    fs::write(&mark, "").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let outputs = fixture.file(&format!("instances/{}/s1-a1/outputs", fixture.id(0)));
    let stored: u64 = fs::read_dir(outputs)
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(stored < 16 << 20, "{stored} bytes");
    assert!(fixture.predictions()[0].model_patch.contains("+good"));
    fixture.assert_clean();
}

#[test]
fn prices_of_the_users_own_make_a_cost_known() {
    let fixture = Fixture::new(1);
    fixture.place.write(
        "prices.toml",
        "[[model]]\nname = \"homemade\"\ninput = 1.0\noutput = 2.0\n",
    );
    let server = FakeServer::start(|_| {
        let call = json!({ "id": "c", "type": "function", "function": { "name": "task_done", "arguments": "{}" } });
        Answer::json(&json!({
            "choices": [{ "message": { "role": "assistant", "tool_calls": [call] }, "finish_reason": "tool_calls" }],
            "usage": { "prompt_tokens": 1_000_000, "completion_tokens": 500_000 },
        }))
    });
    let url = format!("{}?code=very-secret-code", server.base_url());
    let run = |prices: &str| {
        fixture.run(&[
            "--model",
            "openai:homemade",
            "--base-url",
            &url,
            "--max-cost",
            "2",
            "--prices",
            prices,
            "--format",
            "json",
        ])
    };
    let said = run("prices.toml");
    assert_eq!(said.code, 0, "{}", said.all());
    let summary: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(summary["usage"]["cost"], 2.0);
    assert_eq!(summary["reasons"]["stopped:max_cost"], 1);
    // What an address holds beside the place of the server is written nowhere.
    let text = fs::read_to_string(fixture.file("run.json")).unwrap();
    assert!(text.contains("?code=redacted"), "{text}");
    assert!(!text.contains("very-secret-code"), "{text}");

    fixture
        .place
        .write("broken.toml", "[[model]]\nname = \"homemade\"\n");
    let said = run("broken.toml");
    assert_eq!(said.code, 2, "{}", said.all());
}

#[test]
fn a_silent_command_is_ended_by_its_own_limit_and_the_model_told_which() {
    let fixture = Fixture::new(1);
    fixture.script(&["echo one; sleep 1000", "echo good >value.txt"]);
    let ran = fixture.run(&["--command-idle-timeout", "700ms"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let said = serde_json::to_string(&fixture.trajectory(0)).unwrap();
    assert!(
        said.contains("one\\n[killed: it printed nothing for 0.7 s, the limit"),
        "{said}"
    );
    let run = fs::read_to_string(fixture.file("run.json")).unwrap();
    let run: String = run.split_whitespace().collect();
    assert!(run.contains("\"command_idle_timeout\":0.7"), "{run}");
}
