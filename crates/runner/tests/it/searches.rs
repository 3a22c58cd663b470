//! The search tool where different programs do the work: with git, with GNU's grep, with `BusyBox`'s, and with neither.

use serde_json::{Value, json};

use crate::fixture::Fixture;

const EXPECTED: &str = "dir/a b.txt:1:bad one\nvalue.txt:1:bad";

/// What the tool said last.
fn said(fixture: &Fixture, index: usize) -> String {
    let trajectory = serde_json::to_value(fixture.trajectory(index)).unwrap();
    let mut found = Vec::new();
    results(&trajectory, &mut found);
    found
        .into_iter()
        .rfind(|text| text.contains("bad") || text.contains("needs grep"))
        .unwrap_or_else(|| panic!("{trajectory:#}"))
}

/// The contents of all results of tools.
fn results(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let is_result = fields.contains_key("call_id");
            if let (true, Some(Value::String(content))) = (is_result, fields.get("content")) {
                found.push(content.clone());
            }
            for field in fields.values() {
                results(field, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| results(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn a_search_finds_the_same_whatever_searches() {
    if testkit::docker_image("base").is_none() || testkit::docker_image("busybox").is_none() {
        return;
    }
    let base = "patchmill-base:bookworm";
    let rows = [
        (base, "true", EXPECTED),
        (base, "rm -rf .git /usr/bin/git", EXPECTED),
        ("patchmill-busybox:1", "true", EXPECTED),
        (
            base,
            "rm -rf .git /usr/bin/git /usr/bin/grep",
            "search needs grep and find",
        ),
    ];
    let mut fixture = Fixture::new(rows.len());
    for (index, (image, prepare, _)) in rows.iter().enumerate() {
        fixture.change(index, "image", json!(image));
        let files = "mkdir dir; echo 'bad one' >'dir/a b.txt'; printf 'bad\\000\\n' >binary";
        let call = |name: &str, arguments: Value| {
            let line = json!({ "tool_calls": [{ "name": name, "arguments": arguments }] });
            format!("{line}\n")
        };
        let script = [
            call("bash", json!({ "command": format!("{files}; {prepare}") })),
            call("search", json!({ "pattern": "^bad" })),
            call("task_done", json!({})),
        ];
        let name = format!("scripts/{}.jsonl", fixture.id(index));
        fixture.place.write(&name, script.concat());
    }
    let ran = fixture.run(&["--sandbox", "docker", "--model", "script:scripts"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    for (index, (image, prepare, expected)) in rows.iter().enumerate() {
        let said = said(&fixture, index);
        let mut lines: Vec<&str> = said.lines().collect();
        lines.sort_unstable();
        let sorted = lines.join("\n");
        assert!(sorted.contains(expected), "{image} {prepare}: {said}");
    }
}
