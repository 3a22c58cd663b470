//! What only the grader may know reaches neither the model nor the sandbox that solves.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{Said, StrictChat};

use crate::fixture::Fixture;

/// Stands in every part of a row that is no part of the task.
const CANARY: &str = "canary-3b1f";

/// Looks for it in all that the agent can reach of its own: files, variables, programs that run, objects of the repository.
const SEARCH: &str = r#"
word=canary; word=$word-3b1f
grep -rl "$word" "$PWD" "$HOME" "$TMPDIR" 2>/dev/null && echo LEAK: a file
env | grep "$word" && echo LEAK: a variable
for process in /proc/self /proc/$PPID; do
    tr '\0' '\n' < $process/cmdline | grep "$word" && echo LEAK: a command line
    tr '\0' '\n' < $process/environ | grep "$word" && echo LEAK: an environment
done
git cat-file --batch-all-objects --batch | grep -a "$word" && echo LEAK: an object
git for-each-ref | grep "$word" && echo LEAK: a reference
echo searched
"#;

/// Makes every field secret that `dataset` does not put into the instance.
fn fill_with_canaries(fixture: &mut Fixture) {
    let patch = format!(
        "diff --git a/{CANARY}.txt b/{CANARY}.txt\nnew file mode 100644\n--- /dev/null\n+++ b/{CANARY}.txt\n@@ -0,0 +1 @@\n+{CANARY}\n"
    );
    for (field, value) in [
        ("patch", json!(patch)),
        ("test_patch", json!(patch)),
        ("hints_text", json!(CANARY)),
        ("FAIL_TO_PASS", json!([format!("value {CANARY}")])),
        ("PASS_TO_PASS", json!([format!("keep {CANARY}")])),
        (
            "eval_script",
            json!(format!(
                "grep -q good value.txt && echo 'ok 1 value {CANARY}'; echo 'ok 2 keep {CANARY}'\n"
            )),
        ),
        ("title", json!(CANARY)),
        ("body", json!(CANARY)),
        ("test_cmds", json!([CANARY])),
        ("install_config", json!({"install": CANARY})),
        ("parser_script", json!(CANARY)),
        (
            "image_assets",
            json!({"patch": [CANARY], "test_patch": [CANARY]}),
        ),
        ("unknown", json!({"deep": [CANARY]})),
    ] {
        fixture.change(0, field, value);
    }
}

fn holds(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holds(&path));
        } else if fs::read(&path)
            .is_ok_and(|content| String::from_utf8_lossy(&content).contains(CANARY))
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn the_answer_key_stays_with_the_grader() {
    let mut fixture = Fixture::new(1);
    fill_with_canaries(&mut fixture);
    let server = StrictChat::start(|_| {
        vec![
            Said::call("bash", &json!({"command": SEARCH})),
            Said::call("bash", &json!({"command": "echo good > value.txt"})),
            Said::call("task_done", &json!({})),
        ]
    });
    let said = fixture.run(&[
        "--model",
        "openai:m",
        "--base-url",
        &server.base_url(),
        "--grade",
        "--fail-under=1",
    ]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(server.violations().is_empty(), "{:?}", server.violations());

    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    for request in &requests {
        let text = String::from_utf8_lossy(&request.body);
        assert!(!text.contains(CANARY), "a request holds it: {text}");
    }
    let last: Value = serde_json::from_slice(&requests[2].body).unwrap();
    let messages = last["messages"].as_array().unwrap();
    let mut results = messages.iter().filter(|message| message["role"] == "tool");
    // It ends with the one word when nothing was found.
    assert_eq!(
        results.next().unwrap()["content"],
        "searched\n[exit code 0]"
    );
    // What was solved holds it nowhere, what was graded does: the search could have found it.
    let attempt = fixture.file(&format!("instances/{}/s1-a1", fixture.id(0)));
    let found = holds(&attempt);
    assert!(!found.is_empty());
    for path in found {
        assert!(path.contains("/grade-1/"), "{path}");
    }
}
