//! Agents that ruin the image they work in, up to the verdict: what they did before and after counts, and nothing is lost.

use std::fmt::Write;

use schema::journal::RunEvent;
use serde_json::{Value, json};

use crate::fixture::Fixture;

const SILENT_BASH: &str =
    "rm /bin/bash; printf '#!/bin/sh\\nsleep 1000\\n' >/bin/bash; chmod 755 /bin/bash";
const NO_LOADER: &str = "rm -rf /lib64 /usr/lib64 /lib/ld-* /lib/*/ld-*";
/// Ends what ends commands, and then no command.
const SPIN: &str = "kill -9 -1; while :; do :; done";

/// Ruins, each followed by the end of the shell, after which the work is still to be done by built-ins.
const RUINS: &[&str] = &[
    SILENT_BASH,
    "rm -rf /bin /usr/bin",
    "export PATH=/nowhere",
    "chmod 000 /bin/bash /bin/sh /bin/dash",
    "rm /bin/sh /bin/bash; printf '#!/bin/dash\\nsleep 1000\\n' >/bin/sh; cp /bin/sh /bin/bash; chmod 755 /bin/sh /bin/bash",
    NO_LOADER,
];

const FLAGS: &[&str] = &[
    "--sandbox",
    "docker",
    "--image",
    "patchmill-base:bookworm",
    "--model",
    "script:scripts",
    "--grade",
    "--fail-under=1",
    "--max-attempts=1",
];

fn call(name: &str, arguments: &Value) -> String {
    let line = json!({ "tool_calls": [{ "name": name, "arguments": arguments }] });
    format!("{line}\n")
}

fn bash(command: &str) -> String {
    call("bash", &json!({ "command": command, "timeout": 1 }))
}

fn edit() -> String {
    call(
        "str_replace_based_edit_tool",
        &json!({ "command": "str_replace", "path": "value.txt", "old_str": "bad", "new_str": "good" }),
    )
}

fn run(fixture: &Fixture, scripts: &[String]) {
    for (index, text) in scripts.iter().enumerate() {
        let name = format!("scripts/{}.jsonl", fixture.id(index));
        let text = format!("{text}{}", call("task_done", &json!({})));
        fixture.place.write(&name, text);
    }
    let said = fixture.run(FLAGS);
    for (id, outcome) in fixture.outcomes() {
        assert_eq!(outcome.name(), "completed", "{id}: {}", said.all());
    }
    assert_eq!(said.code, 0, "{}", said.all());
    let attempts = fixture
        .events()
        .into_iter()
        .filter(|event| matches!(event, RunEvent::AttemptFinished { .. }))
        .count();
    assert_eq!(attempts, scripts.len(), "{}", said.all());
}

#[test]
fn an_agent_that_ruins_its_shells_works_on_and_is_graded() {
    if testkit::docker_image("base").is_none() {
        return;
    }
    let fixture = Fixture::new(RUINS.len() + 1);
    let mut scripts: Vec<String> = RUINS
        .iter()
        .map(|ruin| [bash(ruin), bash("exit 3"), bash("echo good > value.txt")].concat())
        .collect();
    // The edit tool needs none of the programs that are gone.
    scripts.push([bash("rm -rf /bin /usr/bin; exit 3"), edit()].concat());
    run(&fixture, &scripts);
}

#[test]
fn an_agent_without_any_shell_is_told_so_and_its_edits_are_graded() {
    if testkit::docker_image("base").is_none() {
        return;
    }
    let fixture = Fixture::new(1);
    let script = [
        bash(NO_LOADER),
        bash(SPIN),
        bash("echo hello"),
        edit(),
        call("search", &json!({ "pattern": "good" })),
    ];
    run(&fixture, &[script.concat()]);
    let trajectory = serde_json::to_value(fixture.trajectory(0)).unwrap();
    let mut results = String::new();
    write!(results, "{trajectory:#}").unwrap();
    let told = results
        .matches("No shell starts any more in this sandbox")
        .count();
    assert!(told >= 3, "once for each command: {results}");
}
