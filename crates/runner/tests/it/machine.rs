//! Machines that are full, closed, or not the user's own.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;

use schema::{FailureKind, Outcome};
use serde_json::json;

use crate::command::{Said, permitted};
use crate::fixture::Fixture;

/// A user without any rights.
const NOBODY: u32 = 65_534;

fn may_mount() -> bool {
    permitted(
        "mount",
        &["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
    )
}

/// Runs the batch in mounts of its own, made by `before`; what `after` does still sees them.
fn run_in_mounts(fixture: &Fixture, before: &str, more: &[&str], after: &str) -> Said {
    let script = format!("set -e\n{before}\nset +e\n\"$@\"\ncode=$?\n{after}\nexit $code\n");
    let wrapper = ["unshare", "-m", "sh", "-c", &script, "sh"];
    // The disk is to be met, not to be waited for.
    fixture.run_under(&wrapper, &[&["--min-free-disk=none"], more].concat())
}

fn only_outcomes(fixture: &Fixture) -> Vec<Outcome> {
    fixture
        .outcomes()
        .into_iter()
        .map(|(_, outcome)| outcome)
        .collect()
}

fn all_failed_for_disk(outcomes: &[Outcome]) -> bool {
    !outcomes.is_empty()
        && outcomes.iter().all(|outcome| {
            matches!(
                outcome,
                Outcome::Failed {
                    reason: FailureKind::EnvironmentDisk,
                    ..
                }
            )
        })
}

#[test]
fn a_full_disk_under_the_sandboxes_is_not_the_models_doing() {
    if !may_mount() {
        return;
    }
    let small = "mkdir -p scratch && mount -t tmpfs -o size=24m tmpfs scratch";
    let fixture = Fixture::new(1);
    fixture.script(&["head -c 40M /dev/zero > big", "echo good > value.txt"]);
    let said = run_in_mounts(&fixture, small, &[], "");
    assert_eq!(said.code, 3, "{}", said.all());
    let outcomes = only_outcomes(&fixture);
    assert!(all_failed_for_disk(&outcomes), "{outcomes:?}");
    assert_eq!(outcomes.len(), 3, "it is tried again");
    assert_eq!(fixture.predictions(), []);

    // The edit tool meets the same.
    let fixture = Fixture::new(1);
    let create =
        json!({ "command": "create", "path": "new.txt", "file_text": "x".repeat(3 << 20) });
    let calls = [
        (
            "bash",
            json!({ "command": "head -c 40M /dev/zero > big; true" }),
        ),
        ("str_replace_based_edit_tool", create),
        ("task_done", json!({})),
    ];
    let lines = calls.map(|(name, arguments)| {
        let reply = json!({ "tool_calls": [{ "name": name, "arguments": arguments }] });
        format!("{reply}\n")
    });
    fixture.place.write("script.jsonl", lines.concat());
    let said = run_in_mounts(&fixture, small, &["--max-attempts", "1"], "");
    assert_eq!(said.code, 3, "{}", said.all());
    let outcomes = only_outcomes(&fixture);
    assert!(all_failed_for_disk(&outcomes), "{outcomes:?}");
}

#[test]
fn a_command_that_only_says_that_the_disk_is_full_is_the_models_doing() {
    let fixture = Fixture::new(1);
    fixture.script(&[
        "echo 'No space left on device' >&2; false",
        "echo good > value.txt",
    ]);
    let said = fixture.run(&[]);
    assert_eq!(said.code, 0, "{}", said.all());
}

/// A command that waits until so many attempts have ended.
fn until_ended(fixture: &Fixture, count: usize) -> String {
    format!(
        "until test \"$(grep -c '\"attempt_finished\"' {})\" -ge {count}; do sleep 0.02; done",
        fixture.file("writers/w1/journal.jsonl").display()
    )
}

/// Puts the copy that was made inside the mounts where the run is looked for.
fn take_kept(fixture: &Fixture) {
    let run = fixture.place.path().join("run");
    fs::remove_dir(&run).unwrap();
    fs::rename(fixture.place.path().join("kept"), run).unwrap();
}

#[test]
fn a_run_that_cannot_be_written_down_any_more_ends_and_goes_on_later() {
    if !may_mount() {
        return;
    }
    let fixture = Fixture::new(3);
    fixture.script_of(0, &["echo good > value.txt"]);
    let fill = format!(
        "{}; head -c 40M /dev/zero > {}; echo good > value.txt",
        until_ended(&fixture, 1),
        fixture.file("fill").display()
    );
    fixture.script_of(1, &[&fill]);
    fixture.script_of(2, &["echo good > value.txt"]);
    let small = "mkdir -p run && mount -t tmpfs -o size=3m tmpfs run";
    let flags = [
        "--model",
        "script:scripts",
        "--workers",
        "2",
        "--start-workers",
        "1",
    ];
    let said = run_in_mounts(&fixture, small, &flags, "rm run/fill; cp -a run kept");
    assert_eq!(said.code, 4, "{}", said.all());
    assert!(
        said.err.contains("No space left on device"),
        "{}",
        said.all()
    );
    assert!(said.err.contains("hint: free some space"), "{}", said.all());
    take_kept(&fixture);
    // Whichever came first: two workers take turns as they like.
    let (first, outcome) = fixture.outcomes().into_iter().next().unwrap();
    assert_eq!(outcome, Outcome::Completed);
    let first = first.split(' ').next().unwrap();
    assert_ne!(first, fixture.id(1));

    fixture.script_of(1, &["echo good > value.txt"]);
    let said = fixture.run(&[&flags[..], &["--resume"]].concat());
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(fixture.predictions().len(), 3);
    let again = fixture
        .outcomes()
        .iter()
        .filter(|(key, _)| key.starts_with(first))
        .count();
    assert_eq!(again, 1, "what was finished is not done again");
    fixture.assert_clean();
}

#[test]
fn a_full_disk_under_the_run_loses_nothing_that_was_done() {
    if !may_mount() {
        return;
    }
    let fixture = Fixture::new(3);
    fixture.script_of(0, &["echo good > value.txt"]);
    // What cannot be compressed is kept whole, and does not fit.
    let flood = format!(
        "{}; head -c 6M /dev/urandom | base64",
        until_ended(&fixture, 2)
    );
    fixture.script_of(1, &[&flood, "echo good > value.txt"]);
    fixture.script_of(2, &["echo good > value.txt"]);
    let small = "mkdir -p run && mount -t tmpfs -o size=3m tmpfs run";
    let keep = "cp -a run kept";
    let flags = [
        "--model",
        "script:scripts",
        "--workers",
        "3",
        "--max-attempts",
        "1",
    ];
    let said = run_in_mounts(&fixture, small, &flags, keep);
    assert_eq!(said.code, 3, "{}", said.all());
    assert!(
        said.all().contains("No space left on device"),
        "{}",
        said.all()
    );
    take_kept(&fixture);
    let first = fixture.predictions().into_iter().next().unwrap();
    assert_eq!(first.instance_id.as_str(), fixture.id(0));
    assert!(first.model_patch.contains("+good"));
    for (key, outcome) in fixture.outcomes() {
        let flooded = key.starts_with(&fixture.id(1));
        assert_eq!(all_failed_for_disk(&[outcome]), flooded, "{key}");
    }

    // With space again it goes on from there.
    fixture.script_of(1, &["echo good > value.txt"]);
    let said = fixture.run(&[&flags[..], &["--resume"]].concat());
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(fixture.predictions().len(), 3);
    fixture.assert_clean();
}

#[test]
fn a_dataset_that_cannot_be_written_to_serves_as_well() {
    if !may_mount() {
        return;
    }
    let fixture = Fixture::new(2);
    fixture.script(&["echo good > value.txt"]);
    let closed = "mount --bind repos repos && mount -o remount,ro,bind repos && \
                  mount --bind rows.jsonl rows.jsonl && mount -o remount,ro,bind rows.jsonl && ! touch repos/x 2>/dev/null";
    let said = run_in_mounts(&fixture, closed, &["--grade", "--fail-under", "1"], "");
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(fixture.predictions().len(), 2);
    fixture.assert_clean();
}

/// Gives a directory and all in it to another user.
fn give(path: &Path, user: u32) {
    chown(path, Some(user), Some(user)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path(), user);
        }
    }
}

#[test]
fn a_user_without_rights_runs_and_grades_a_batch() {
    let user = NOBODY.to_string();
    let change = [
        "setpriv",
        "--reuid",
        &user,
        "--regid",
        &user,
        "--clear-groups",
    ];
    if !permitted("setpriv", &[&change[..], &["true"]].concat()) {
        return;
    }
    let fixture = Fixture::new(2);
    // What the agent takes from itself is its own doing, not a lost sandbox.
    fixture.script(&["echo good > value.txt", "chmod 000 value.txt ."]);
    fixture.place.write("tmp/here", "");
    // The binary may lie where that user cannot go.
    fs::copy(
        env!("CARGO_BIN_EXE_runner"),
        fixture.place.path().join("runner"),
    )
    .unwrap();
    give(fixture.place.path(), NOBODY);
    let wrapper = [
        &change[..],
        &["sh", "-c", "shift; exec ./runner \"$@\"", "sh"],
    ]
    .concat();
    for sandbox in ["local", "auto"] {
        let _ = fs::remove_dir_all(fixture.file(""));
        let flags = ["--grade", "--fail-under", "1", "--sandbox", sandbox];
        let said = fixture.run_under(&wrapper, &flags);
        assert_eq!(said.code, 0, "{sandbox}: {}", said.all());
        assert_eq!(fixture.predictions().len(), 2);
        fixture.assert_clean();
    }
}
