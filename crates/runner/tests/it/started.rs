//! Rows whose task is made by a change of the repository: a bug that is brought in before anybody works.

use std::fs;

use serde_json::{Value, json};

use crate::command::Said;
use crate::fixture::Fixture;

/// Brings the bug in, in a file of the fixture's commit.
const BUG: &str = "diff --git a/keep.txt b/keep.txt\n--- a/keep.txt\n+++ b/keep.txt\n@@ -1 +1 @@\n-kept\n+broken\n";

/// Tests of `keep.txt`, in the form of SWE-smith's profiles for Python.
const SCRIPT: &str = "test -f hidden.py && echo 'hidden.py::there PASSED'\nif grep -q kept keep.txt; then echo 'hidden.py::keep PASSED'; else echo 'hidden.py::keep FAILED'; fi\necho 'other.py::ran PASSED'\n";

/// The same fixture as a row of SWE-smith: `keep.txt` is whole at the commit, and the row's `patch` breaks it.
fn smith(count: usize) -> Fixture {
    let mut fixture = Fixture::new(count);
    for index in 0..count {
        fixture.change(index, "repo", json!("swesmith/tiny__tiny.01234567"));
        fixture.change(index, "patch", json!(BUG));
        fixture.change(index, "eval_script", json!(SCRIPT));
        fixture.change(index, "log_parser", json!("swe_smith"));
        fixture.change(index, "FAIL_TO_PASS", json!(["hidden.py::keep"]));
        fixture.change(index, "PASS_TO_PASS", json!(["other.py::ran"]));
    }
    fixture
}

fn grade(fixture: &Fixture, what: &str, more: &[&str]) -> Said {
    let always = [
        "grade",
        what,
        "--dataset",
        "rows.jsonl",
        "--scratch",
        "scratch",
        "--out",
        "run",
    ];
    fixture.place.run(&[&always, more].concat())
}

fn summary(fixture: &Fixture, name: &str) -> Value {
    serde_json::from_slice(&fs::read(fixture.file(name)).unwrap()).unwrap()
}

#[test]
fn undoing_the_bug_is_the_known_fix_and_leaving_it_is_none() {
    let fixture = smith(3);
    let said = grade(&fixture, "gold", &["--sandbox", "local"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(summary(&fixture, "gold.run.json")["resolved_instances"], 3);

    // A patch that does something else leaves the bug; so does none; one that fixes it is applied to the broken tree.
    let other = "diff --git a/value.txt b/value.txt\n--- a/value.txt\n+++ b/value.txt\n@@ -1 +1 @@\n-bad\n+good\n";
    let fix = "diff --git a/keep.txt b/keep.txt\n--- a/keep.txt\n+++ b/keep.txt\n@@ -1 +1 @@\n-broken\n+kept again\n";
    let all: Vec<Value> = [other, "", fix]
        .iter()
        .enumerate()
        .map(|(index, patch)| json!({"instance_id": fixture.id(index), "model_name_or_path": "m", "model_patch": patch}))
        .collect();
    fs::remove_dir_all(fixture.file("")).unwrap();
    fixture
        .place
        .write("preds.json", Value::from(all).to_string());
    let said = grade(&fixture, "preds.json", &["--sandbox", "local"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let summary = summary(&fixture, "m.run.json");
    assert_eq!(summary["unresolved_ids"], json!([fixture.id(0)]));
    assert_eq!(summary["empty_patch_ids"], json!([fixture.id(1)]));
    assert_eq!(summary["resolved_ids"], json!([fixture.id(2)]));
    fixture.assert_clean();
}

/// Looks for what was there before the bug: in the tree, in the history, among all objects.
const LOOK: &str = "cat keep.txt; git status --porcelain; git log --oneline | wc -l; git rev-list --all --objects | wc -l; \
    git cat-file --batch-all-objects --batch-check --unordered | while read id kind size; do [ $kind != blob ] || git cat-file blob $id; done";

fn solved(more: &[&str], change: impl FnOnce(&mut Fixture)) -> Fixture {
    let mut fixture = smith(1);
    change(&mut fixture);
    fixture.script(&[LOOK, "ls", "printf 'kept\\n' > keep.txt"]);
    let said = fixture.run(&[&["--grade"], more].concat());
    assert_eq!(said.code, 0, "{}", said.all());
    let patch =
        fs::read_to_string(fixture.file(&format!("patches/{}.patch", fixture.id(0)))).unwrap();
    assert!(patch.contains("-broken\n+kept\n"), "{patch}");
    let results = fs::read_to_string(fixture.file("results.csv")).unwrap();
    assert!(results.contains(",resolved,true,"), "{results}");
    let trajectory =
        fs::read_to_string(fixture.file(&format!("trajectories/{}.json", fixture.id(0)))).unwrap();
    // What the agent sees is the bug, committed, and nothing of the tree before it.
    let seen = trajectory.split("printf 'kept").next().unwrap();
    assert!(seen.contains("broken\\n1\\n"), "{seen}");
    assert!(!seen.contains("\\nkept\\n"), "{seen}");
    fixture
}

#[test]
fn an_agent_gets_the_broken_tree_and_no_history_that_shows_the_fix() {
    let fixture = solved(&["--sandbox", "local"], |_| {});
    fixture.assert_clean();
}

#[test]
fn a_container_gets_the_broken_tree_too() {
    let Some(image) = testkit::docker_image("base") else {
        return;
    };
    let flags = ["--sandbox", "docker", "--image", image];
    let fixture = solved(&flags, |fixture| {
        fixture.change(0, "workdir", json!("/home/tiny"));
    });
    fixture.assert_swept();
}

#[test]
fn a_bug_that_does_not_apply_is_named() {
    let mut fixture = smith(1);
    fixture.change(0, "patch", json!(BUG.replace("-kept", "-never")));
    let said = grade(&fixture, "gold", &["--sandbox", "local"]);
    assert_ne!(said.code, 0);
    assert!(
        said.all()
            .contains("the change that starts the instance does not apply"),
        "{}",
        said.all()
    );
}
