//! `runner run --repo PATH --task FILE --apply`.

use std::io::Write as _;
use std::process::Stdio;

use crate::command::Place;

const FIX: &str = "sed -i s/helo/hello/ greet.sh";

fn place(commands: &[&str]) -> Place {
    let place = Place::new();
    place.repository("repo");
    place.script(commands);
    place.write("task.md", "It should say hello.\n");
    place
}

const RUN: [&str; 13] = [
    "run",
    "--repo",
    "repo",
    "--task",
    "task.md",
    "--model",
    "script:script.jsonl",
    "--out",
    "out",
    "--sandbox",
    "local",
    "--quiet",
    "--apply",
];

fn greeting(place: &Place) -> String {
    std::fs::read_to_string(place.path().join("repo/greet.sh")).unwrap()
}

#[test]
fn a_completed_attempt_is_applied() {
    let place = place(&[FIX]);
    let said = place.run(&RUN);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(greeting(&place), "echo hello\n");
}

#[test]
fn without_apply_the_work_tree_is_left_alone() {
    let place = place(&[FIX]);
    assert_eq!(place.run(&RUN[..12]).code, 0);
    assert_eq!(greeting(&place), "echo helo\n");
    let patches = std::fs::read_dir(place.path().join("out/patches")).unwrap();
    assert_eq!(patches.count(), 1);
}

#[test]
fn an_attempt_that_did_not_complete_is_not_applied() {
    let place = place(&[FIX]);
    let mut arguments = RUN.to_vec();
    arguments.retain(|argument| *argument != "--quiet");
    arguments.extend(["--max-steps", "1", "--progress", "none"]);
    let said = place.run(&arguments);
    assert!(
        said.err
            .contains("warning: the attempt did not complete: nothing was applied"),
        "{}",
        said.err
    );
    assert_eq!(greeting(&place), "echo helo\n");
}

#[test]
fn a_patch_that_no_longer_fits_is_refused_and_kept() {
    let place = place(&[FIX]);
    place.write("repo/greet.sh", "echo something of mine\n");
    let said = place.run(&RUN);
    insta::assert_snapshot!(said.err);
    assert_eq!(said.code, 1);
    assert_eq!(greeting(&place), "echo something of mine\n");
}

#[test]
fn the_task_can_come_from_standard_input() {
    let place = place(&[FIX]);
    let mut arguments = RUN.to_vec();
    arguments[4] = "-";
    let mut child = place
        .command(&arguments)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"Say hello.\n")
        .unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(greeting(&place), "echo hello\n");
}

#[test]
fn what_cannot_work_is_said_before_anything_starts() {
    let place = place(&[FIX]);
    git2::Repository::init_bare(place.path().join("bare.git")).unwrap();
    place.write("empty.md", " \n");
    place.write("plain/file", "x");
    let with = |repo: &str, task: &str| {
        let mut arguments = RUN.to_vec();
        (arguments[2], arguments[4]) = (repo, task);
        place.run(&arguments).all()
    };
    let said = [
        with("bare.git", "task.md"),
        with("plain", "task.md"),
        with("repo", "empty.md"),
        with("repo", "none.md"),
        place.run(&["run", "--repo", "repo"]).all(),
        place.run(&["run", "--apply"]).all(),
    ];
    insta::assert_snapshot!(said.join("\n"));
    assert!(!place.path().join("out").exists());
}
