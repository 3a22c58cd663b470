//! `runner replay`.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::command::Place;

/// A run of one instance that was solved.
fn solved(commands: &[&str]) -> Place {
    let place = Place::new();
    let base = place.repository("repo");
    place.dataset(&base);
    place.script(commands);
    let said = place.run(&[
        "run",
        "--dataset",
        "dataset.jsonl",
        "--model",
        "script:script.jsonl",
        "--out",
        "out",
        "--sandbox",
        "local",
        "--quiet",
    ]);
    assert_eq!(said.code, 0, "{}", said.all());
    place
}

const FIX: &str = "sed -i s/helo/hello/ greet.sh; sh greet.sh";

#[test]
fn what_was_recorded_happens_again() {
    let place = solved(&[FIX, "pwd; date +%s >/dev/null; false", "echo took 0.25s"]);
    let document = place.run(&[
        "replay",
        "out/trajectories/greet-1.json",
        "--sandbox",
        "local",
        "-q",
    ]);
    insta::assert_snapshot!(document.all());
    let log = place.run(&[
        "replay",
        "out/instances/greet-1/s1-a1/trajectory.jsonl",
        "--sandbox",
        "local",
        "-q",
        "--format",
        "json",
    ]);
    insta::assert_snapshot!(log.all());
}

#[test]
fn the_first_difference_is_shown() {
    let place = solved(&["echo one; cat greet.sh", FIX]);
    let path = place.path().join("out/trajectories/greet-1.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replacen("one\\necho helo", "one\\necho hallo", 1),
    )
    .unwrap();
    let said = place.run(&[
        "replay",
        "out/trajectories/greet-1.json",
        "--sandbox",
        "local",
        "-q",
    ]);
    insta::assert_snapshot!(said.all());
}

#[test]
fn a_patch_that_differs_is_a_divergence() {
    let place = solved(&[FIX]);
    place.write("out/patches/greet-1.patch", "something else\n");
    let said = place.run(&[
        "replay",
        "out/trajectories/greet-1.json",
        "--sandbox",
        "local",
        "-q",
    ]);
    insta::assert_snapshot!(said.all());
}

#[test]
fn a_repository_can_be_named() {
    let place = solved(&[FIX]);
    std::fs::copy(
        place.path().join("out/trajectories/greet-1.json"),
        place.path().join("moved.json"),
    )
    .unwrap();
    insta::assert_snapshot!(
        "replay_without_repository",
        place.run(&["replay", "moved.json", "-q"]).all()
    );
    let said = place.run(&[
        "replay",
        "moved.json",
        "--repo",
        "repo",
        "--sandbox",
        "local",
        "-q",
    ]);
    insta::assert_snapshot!("replay_with_repository", said.all());
}

#[test]
fn a_file_that_is_no_trajectory() {
    let place = Place::new();
    place.write("a.json", "{\"hello\": 1}");
    place.write("b.jsonl", "");
    let said = ["a.json", "b.jsonl", "c.json"].map(|file| place.run(&["replay", file]).all());
    insta::assert_snapshot!(said.join("\n"));
}

/// The recorded demo is what `make demo` shows: it must do again what it says. `make record-demo` records it anew.
#[test]
fn the_demo_happens_again_as_recorded() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let built = Command::new(root.join("scripts/build-demo.sh")).status();
    assert!(built.unwrap().success());
    let text = |path: &str| root.join(path).to_string_lossy().into_owned();
    let mut arguments = vec![
        "replay".to_owned(),
        "--dataset".to_owned(),
        text("datasets/demo.jsonl"),
    ];
    arguments.extend(["--sandbox", "local", "--quiet"].map(str::to_owned));
    let recorded = std::fs::read_dir(root.join("trajectories/demo")).unwrap();
    let files = recorded.map(|entry| entry.unwrap().path().to_string_lossy().into_owned());
    arguments.extend(files);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let said = Place::new().run(&arguments);
    assert_eq!(said.code, 0, "{}", said.all());
}

#[test]
fn what_the_checks_were_is_recorded_and_done_again() {
    let place = Place::new();
    let base = place.repository("repo");
    place.dataset(&base);
    // The first `task_done` is rejected by the command, the second is not; nothing else differs between the two.
    let bash = |command: &str| json!({"tool_calls": [{"name": "bash", "arguments": {"command": command}}]});
    let done = json!({"tool_calls": [{"name": "task_done", "arguments": {}}]});
    let replies = [
        bash("true"),
        done.clone(),
        bash("mkdir -p x && touch x/ok"),
        done,
    ];
    let lines: Vec<String> = replies.iter().map(|reply| format!("{reply}\n")).collect();
    place.write("script.jsonl", lines.concat());
    let said = place.run(&[
        "run",
        "--dataset",
        "dataset.jsonl",
        "--out",
        "out",
        "--sandbox",
        "local",
        "--quiet",
        "--model",
        "script:script.jsonl",
        "--verify-command",
        "test -e x/ok",
        "--no-must-patch",
    ]);
    assert_eq!(said.code, 0, "{}", said.all());
    let replay = [
        "replay",
        "out/trajectories/greet-1.json",
        "--sandbox",
        "local",
        "--quiet",
    ];
    let said = place.run(&replay);
    assert_eq!(said.code, 0, "{}", said.all());
    // Given anew, they are what is given.
    let said = place.run(&[&replay[..], &["--verify-command", "true"]].concat());
    assert_eq!(said.code, 1, "{}", said.all());
}
