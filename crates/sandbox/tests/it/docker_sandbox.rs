//! Whole sandboxes in containers.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;

use sandbox::limits::{Limit, Limits};
use sandbox::place::Backend;
use sandbox::{End, Sandbox, SandboxSpec};

use crate::docker_support::{Engine, LIMIT, docker};
use crate::support::{Ground, TRIAL, ask, eventually, remove, repository, run, spec};

async fn start(engine: &Engine, ground: &Ground, limits: Limits) -> Sandbox {
    let source = repository(ground.path());
    let mut spec: SandboxSpec = spec(ground.prepare(&source, None));
    spec.place = engine.spec();
    spec.place.limits = limits;
    let backend: Arc<dyn Backend> = engine.backend.clone();
    Sandbox::start(backend, spec, LIMIT).await.unwrap()
}

#[tokio::test]
async fn a_kill_for_memory_is_told_to_the_model() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let ground = Ground::new();
    let limits = Limits {
        memory: Some(Limit {
            value: 64 << 20,
            explicit: true,
        }),
        cpus: None,
        pids: None,
        disk: None,
    };
    let sandbox = start(&engine, &ground, limits).await;
    let killed = run(&sandbox, "sh -c 'kill -9 $$'").await;
    assert_eq!(killed.end, End::Exited(137));
    assert_eq!(killed.shell_note, None);
    let hog = "python3 -c 'x = bytearray(200 << 20)'";
    let killed = run(&sandbox, hog).await;
    assert_eq!(killed.end, End::Exited(137));
    assert!(killed.shell_note.unwrap().contains("memory was used up"));
    assert_eq!(ask(&sandbox, "echo on").await.0, "on\n");
    remove(&sandbox).await;
}

#[tokio::test]
async fn a_killed_runner_leaves_a_container_that_ends_and_that_the_next_one_removes() {
    let Some(image) = testkit::docker_image("base") else {
        return;
    };
    let ground = Ground::new();
    repository(ground.path());
    let mut child = Command::new(TRIAL)
        .arg(format!("docker:{image}"))
        .arg(ground.root())
        .arg(ground.path().join("source"))
        .arg("sleep 1000 & echo started")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    while lines.read_line(&mut said).unwrap() > 0 && !said.ends_with("ready\n") {}
    assert!(said.ends_with("ready\n"), "{said}");
    let owner = format!("label=patchmill.owner.pid={}", child.id());
    let list = |state: &str| {
        let state = format!("status={state}");
        docker(&[
            "ps",
            "-aq",
            "--no-trunc",
            "--filter",
            &owner,
            "--filter",
            &state,
        ])
    };
    let container = list("running");
    assert_eq!(container.lines().count(), 1, "{container}");
    let root = ground.root();
    let settled = Engine::settled("base", move |settings| settings.root = root);
    let engine = settled.await.unwrap();
    let orphans = engine.backend.orphans().await.unwrap();
    assert!(!orphans.iter().any(|orphan| orphan.id.0 == container));
    child.kill().unwrap();
    child.wait().unwrap();
    // Nobody holds its input any more.
    eventually("the container ends", || list("exited") == container).await;
    let orphans = engine.backend.orphans().await.unwrap();
    let mine: Vec<_> = orphans
        .into_iter()
        .filter(|orphan| orphan.id.0 == container || orphan.name.starts_with("prepared-"))
        .collect();
    assert_eq!(
        mine.len(),
        3,
        "a container, its directory, a repository: {mine:?}"
    );
    for orphan in &mine {
        engine.backend.remove(&orphan.id, LIMIT).await.unwrap();
    }
    assert_eq!(list("exited"), "");
    let left = std::fs::read_dir(ground.root()).unwrap();
    let names = left.map(|entry| entry.unwrap().file_name());
    assert_eq!(names.filter(|name| name != "images-used").count(), 0);
}
