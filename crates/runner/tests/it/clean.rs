//! What dead runs left is removed; what a living one has is not.

use std::fs;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use schema::RunEvent;
use serde_json::{Value, json};

use crate::command::{Said, permitted};
use crate::fixture::{Fixture, processes_at, signal, wait};
use crate::shell::Visit;

const SLEEP: &str = "sleep 600 # until somebody ends it";

fn clean(fixture: &Fixture, more: &[&str]) -> Said {
    let flags = ["clean", "--scratch", "scratch"];
    fixture.place.run(&[&flags, more].concat())
}

/// Names in the sandboxes' directory, sorted.
fn scratch(fixture: &Fixture) -> Vec<String> {
    let entries = fs::read_dir(fixture.place.path().join("scratch")).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A run whose agent sleeps in a sandbox.
fn sleeping(fixture: &Fixture, more: &[&str]) -> Child {
    fixture.script(&[SLEEP]);
    let child = fixture.start(more);
    wait("the agent sleeps", || {
        let path = fixture.file(&format!(
            "instances/{}/s1-a1/trajectory.jsonl",
            fixture.id(0)
        ));
        fs::read_to_string(path).is_ok_and(|text| text.contains("\"tool_started\""))
    });
    child
}

/// Processes whose parent is `parent`.
fn children(parent: u32) -> Vec<i32> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        (rest.split_whitespace().nth(1)? == parent.to_string()).then_some(pid)
    });
    pids.collect()
}

/// Kills a runner and all that would clean up behind it.
fn kill_with_keepers(runner: &mut Child) {
    signal(runner, Signal::STOP);
    for pid in children(runner.id()) {
        let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    }
    signal(runner, Signal::KILL);
    runner.wait().unwrap();
}

#[test]
fn what_a_dead_run_left_is_removed_and_a_living_ones_is_not() {
    let fixture = Fixture::new(1);
    let mut child = sleeping(&fixture, &[]);
    let said = clean(&fixture, &[]);
    assert_eq!((said.code, said.out.as_str()), (0, "nothing to remove\n"));
    let before = scratch(&fixture);
    assert_eq!(before.len(), 2, "a sandbox and a prepared repository");
    kill_with_keepers(&mut child);
    assert_eq!(scratch(&fixture), before);

    let said = clean(&fixture, &["--dry-run", "--format=json"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let listed: Value = serde_json::from_str(&said.out).unwrap();
    for name in &before {
        let removed = listed["removed"].as_array().unwrap();
        assert!(removed.contains(&json!(name)), "{}", said.all());
    }
    assert_eq!(scratch(&fixture), before);
    assert!(!processes_at(fixture.place.path()).is_empty());

    let said = clean(&fixture, &[]);
    assert_eq!(said.code, 0, "{}", said.all());
    for name in &before {
        assert!(
            said.out.contains(&format!("removed {name}\n")),
            "{}",
            said.all()
        );
    }
    fixture.assert_clean();
}

#[test]
fn what_cannot_be_removed_is_named() {
    let probe = ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"];
    if !permitted("mount", &probe) {
        return;
    }
    let fixture = Fixture::new(1);
    let mut child = sleeping(&fixture, &[]);
    kill_with_keepers(&mut child);
    let held = scratch(&fixture).remove(1);
    let hold = format!(
        "cd scratch && mount --bind '{held}' '{held}' && mount -o remount,ro,bind '{held}' && cd .. && exec \"$@\""
    );
    let said = fixture.place.run_under(
        &["unshare", "-m", "sh", "-c", &hold, "sh"],
        &["clean", "--scratch", "scratch", "--format=json"],
    );
    assert_eq!(said.code, 3, "{}", said.all());
    let object: Value = serde_json::from_str(&said.out).unwrap();
    let left = object["left"].as_array().unwrap();
    assert_eq!((left.len(), &left[0]["name"]), (1, &json!(held)));
    let problem = left[0]["problem"].as_str().unwrap();
    assert!(problem.contains("Read-only"), "{problem}");

    let said = clean(&fixture, &[]);
    assert_eq!(said.code, 0, "{}", said.all());
    fixture.assert_clean();
}

fn docker(arguments: &[&str]) -> String {
    let output = std::process::Command::new("docker")
        .args(arguments)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn the_container_of_a_dead_run_is_removed() {
    let Some(image) = testkit::docker_image("busybox") else {
        return;
    };
    let mut fixture = Fixture::new(1);
    fixture.change(0, "image", json!(image));
    let mut child = sleeping(&fixture, &["--sandbox", "docker"]);
    let ready = |event: &RunEvent| match event {
        RunEvent::SandboxReady { place, .. } => Some(place.clone()),
        _ => None,
    };
    // The agent may be at work before that is written down.
    let ready = || fixture.events().iter().find_map(ready);
    wait("the sandbox is told of", || ready().is_some());
    let name = ready().unwrap();
    let filter = format!("name={name}");
    let list = || docker(&["ps", "--all", "--filter", &filter, "--format", "{{.Names}}"]);
    let said = clean(&fixture, &[]);
    assert!(!said.out.contains(&name), "{}", said.all());
    assert_eq!(list(), name);
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    let said = clean(&fixture, &[]);
    assert_eq!(said.code, 0, "{}", said.all());
    // Whichever run starts on this machine at the same time may have been quicker.
    wait("the container is gone", || list().is_empty());
    assert_eq!(scratch(&fixture), ["images-used"]);
}

/// Name and opening command of each sandbox that a run says it kept.
fn kept(fixture: &Fixture) -> Vec<(String, String)> {
    let kept = fixture
        .events()
        .into_iter()
        .filter_map(|event| match event {
            RunEvent::SandboxKept { place, open, .. } => Some((place, open)),
            _ => None,
        });
    kept.collect()
}

/// The one sandbox that is kept: nothing runs in it, neither another run nor `clean` alone removes it.
fn kept_on(fixture: &Fixture, said: &Said, sandbox: &str) -> (String, String) {
    let [(name, open)] = kept(fixture).try_into().unwrap();
    let line = format!("kept {name} of {} s1-a1: ", fixture.id(0));
    assert!(said.err.contains(&line), "{}", said.all());
    assert_eq!(processes_at(fixture.place.path()), Vec::<String>::new());

    fixture.script(&["echo good > value.txt"]);
    let again = fixture.run(&["--sandbox", sandbox, "--resume", "--retry", "failed"]);
    assert_eq!(again.code, 0, "{}", again.all());
    assert_eq!(kept(fixture).len(), 1);
    let plain = clean(fixture, &[]);
    assert!(!plain.out.contains(&name), "{}", plain.all());
    (name, open)
}

fn remove_kept(fixture: &Fixture, name: &str) {
    let dry = clean(fixture, &["--kept", "--dry-run"]);
    let line = format!("would remove {name}\n");
    assert!(dry.out.contains(&line), "{}", dry.all());
    let gone = clean(fixture, &["--kept"]);
    let line = format!("removed {name}\n");
    assert!(gone.out.contains(&line), "{}", gone.all());
    assert_eq!(gone.code, 0, "{}", gone.all());
}

/// A run whose only attempt fails when its agent has left something.
fn failing(fixture: &Fixture, more: &[&str]) -> Said {
    fixture.script(&["echo by the agent > left.txt; sleep 600 &"]);
    let path = fixture.place.path().join("script.jsonl");
    let script = fs::read_to_string(&path).unwrap();
    // Without the last reply the model has nothing more to say.
    let first = script.lines().next().unwrap();
    fs::write(path, format!("{first}\n")).unwrap();
    let flags = ["--keep-sandbox", "on-failure", "--max-attempts", "1"];
    let said = fixture.run(&[&flags, more].concat());
    assert_eq!(fixture.outcomes()[0].1.name(), "failed", "{}", said.all());
    said
}

#[test]
fn the_sandbox_of_a_failed_attempt_is_kept_until_it_is_asked_for() {
    for sandbox in ["local", "bubblewrap"] {
        if sandbox == "bubblewrap"
            && !permitted(
                "bwrap",
                &["bwrap", "--ro-bind", "/", "/", "--unshare-pid", "true"],
            )
        {
            continue;
        }
        let fixture = Fixture::new(1);
        let said = failing(&fixture, &["--sandbox", sandbox]);
        let (name, open) = kept_on(&fixture, &said, sandbox);
        assert!(open.starts_with("runner shell "), "{open}");
        let seen = Visit::to(&fixture, &[&name]).run(&["cat left.txt"], 0);
        assert!(seen.contains("by the agent\r\n"), "{seen}");
        remove_kept(&fixture, &name);
        fixture.assert_clean();
    }
}

#[test]
fn the_container_of_a_failed_attempt_is_kept_until_it_is_asked_for() {
    let Some(image) = testkit::docker_image("busybox") else {
        return;
    };
    let mut fixture = Fixture::new(1);
    fixture.change(0, "image", json!(image));
    let said = failing(&fixture, &["--sandbox", "docker"]);
    let (name, open) = kept_on(&fixture, &said, "docker");
    assert!(
        open.starts_with("runner shell ") && open.ends_with(&name),
        "{open}"
    );
    let running = ["inspect", "--format", "{{.State.Running}}", &name];
    assert_eq!(docker(&running), "false");
    docker(&["start", &name]);
    // There is no terminal here.
    assert_eq!(docker(&["exec", &name, "cat", "left.txt"]), "by the agent");
    remove_kept(&fixture, &name);
    assert_eq!(docker(&running), "");
    assert_eq!(scratch(&fixture), ["images-used"]);
}

#[test]
fn the_sandbox_of_an_unresolved_grading_is_kept_and_that_of_a_resolved_one_is_not() {
    let fixture = Fixture::new(2);
    fixture.script_of(0, &["echo good > value.txt"]);
    fixture.script_of(1, &["echo other > value.txt"]);
    let said = fixture.run(&["--model", "script:scripts", "--grade"]);
    assert_eq!((said.code, kept(&fixture).len()), (0, 0), "{}", said.all());
    let said = fixture.grade(&["--only", "all", "--keep-sandbox", "on-failure"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let [(name, open)] = kept(&fixture).try_into().unwrap();
    let line = format!("kept {name} of {} s1-a1, grading 2: ", fixture.id(1));
    assert!(said.err.contains(&line), "{}", said.all());
    assert!(open.starts_with("runner shell "), "{open}");
    let seen = Visit::to(&fixture, &[&name]).run(&["cat value.txt"], 0);
    assert!(seen.contains("other\r\n"), "{seen}");
    remove_kept(&fixture, &name);
    fixture.assert_clean();
}
