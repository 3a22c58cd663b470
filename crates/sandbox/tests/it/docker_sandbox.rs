//! Whole sandboxes in containers.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use sandbox::limits::{Limit, Limits};
use sandbox::place::{Backend, Leftover};
use sandbox::{Captured, End, RunOptions, Sandbox, SandboxSpec};
use tokio_util::sync::CancellationToken;

use crate::deaf::Deaf;
use crate::docker_support::{Engine, LIMIT, docker};
use crate::support::{Ground, TRIAL, ask, eventually, remove, repository, run, spec};

async fn start(engine: &Engine, ground: &Ground, limits: Limits) -> Sandbox {
    start_on(engine.backend.clone(), engine, ground, limits).await
}

async fn start_on(
    backend: Arc<dyn Backend>,
    engine: &Engine,
    ground: &Ground,
    limits: Limits,
) -> Sandbox {
    let source = repository(ground.path());
    let mut spec: SandboxSpec = spec(ground.prepare(&source, None));
    spec.place = engine.spec();
    spec.place.limits = limits;
    let sandbox = Sandbox::start(backend, spec, LIMIT).await.unwrap();
    ground.remember(&sandbox);
    sandbox
}

fn little_memory() -> Limits {
    Limits {
        memory: Some(Limit {
            value: 64 << 20,
            explicit: true,
        }),
        cpus: None,
        pids: None,
        disk: None,
    }
}

/// Takes more memory than there is.
const HOG: &str = "python3 -c 'x = bytearray(200 << 20)'";

/// Whether the model was told of a kill for memory.
fn is_told(captured: &Captured) -> bool {
    let note = captured.shell_note.as_deref().unwrap_or_default();
    note.contains("memory was used up")
}

#[tokio::test]
async fn a_kill_for_memory_that_nobody_told_of_is_found_in_the_kernels_counter() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    for hears in [true, false] {
        let ground = Ground::new();
        let inner = engine.backend.clone();
        let deaf = Arc::new(Deaf { inner, hears });
        let sandbox = start_on(deaf, &engine, &ground, little_memory()).await;
        let one = "sh -c 'kill -9 $$'";
        let grow = "x=x; while :; do x=$x$x; done";
        let table = [
            (one, End::Exited(137), false),
            (HOG, End::Exited(137), true),
            (one, End::Exited(137), false),
            ("kill -9 $$", End::ShellEnded(137), false),
            (grow, End::ShellEnded(137), true),
            // What ends commands is gone too, and opened again for the question.
            ("kill -9 -1", End::Exited(0), false),
            (HOG, End::Exited(137), true),
        ];
        for (text, end, told) in table {
            let captured = run(&sandbox, text).await;
            assert_eq!(captured.end, end, "{text}");
            assert_eq!(
                is_told(&captured),
                told,
                "{text}: {:?}",
                captured.shell_note
            );
        }
        let options = RunOptions::default();
        let never = CancellationToken::new();
        let apart = sandbox.exec(HOG, &options, &never).await.unwrap();
        assert_eq!(apart.end, End::Exited(137));
        assert!(is_told(&apart), "{:?}", apart.shell_note);
        // One that was no command's end is nobody else's either, where it is known that nothing is heard.
        if !hears {
            let behind = format!("{HOG} & wait; echo on");
            assert_eq!(run(&sandbox, &behind).await.end, End::Exited(0));
            assert!(!is_told(&run(&sandbox, one).await));
        }
        remove(&sandbox).await;
    }
}

#[tokio::test]
async fn a_kill_for_memory_is_told_to_the_model() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let ground = Ground::new();
    let sandbox = start(&engine, &ground, little_memory()).await;
    let killed = run(&sandbox, "sh -c 'kill -9 $$'").await;
    assert_eq!(killed.end, End::Exited(137));
    assert_eq!(killed.shell_note, None);
    let killed = run(&sandbox, HOG).await;
    assert_eq!(killed.end, End::Exited(137));
    assert!(killed.shell_note.unwrap().contains("memory was used up"));
    assert_eq!(ask(&sandbox, "echo on").await.0, "on\n");
    remove(&sandbox).await;
}

/// A runner, which ends with its test.
struct Runner(Child);

impl Drop for Runner {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Runner {
    /// Starts one, and waits until its sandbox is there.
    fn start(command: &mut Command) -> Self {
        let mut runner = Self(command.stdout(Stdio::piped()).spawn().unwrap());
        let mut said = String::new();
        let mut lines = BufReader::new(runner.0.stdout.take().unwrap());
        while lines.read_line(&mut said).unwrap() > 0 && !said.ends_with("ready\n") {}
        assert!(said.ends_with("ready\n"), "{said}");
        runner
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_killed_runner_leaves_a_container_that_ends_and_that_the_next_one_removes() {
    let Some(image) = testkit::docker_image("base") else {
        return;
    };
    let ground = Ground::new();
    repository(ground.path());
    let mut runner = Runner::start(
        Command::new(TRIAL)
            .arg(format!("docker:{image}"))
            .arg(ground.root())
            .arg(ground.path().join("source"))
            .arg("sleep 1000 & echo started"),
    );
    let owner = format!("label=patchmill.owner.pid={}", runner.0.id());
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
    runner.kill();
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

#[tokio::test]
async fn a_runner_whose_process_cannot_be_seen_keeps_what_it_has() {
    let Some(image) = testkit::docker_image("base") else {
        return;
    };
    let apart = ["--pid", "--fork", "--mount-proc", "--kill-child"];
    if !testkit::permitted("unshare", &[&["unshare"], &apart[..], &["true"]].concat()) {
        return;
    }
    let ground = Ground::new();
    repository(ground.path());
    let mut runner = Runner::start(
        Command::new("unshare")
            .args(apart)
            .arg(TRIAL)
            .arg(format!("docker:{image}"))
            .arg(ground.root())
            .arg(ground.path().join("source"))
            .arg("echo started"),
    );
    let of_root = format!("label=patchmill.owner.root={}", ground.root().display());
    let list = |state: &str| {
        let state = format!("status={state}");
        let filters = ["--filter", &of_root, "--filter", &state];
        docker(&[&["ps", "-aq", "--no-trunc"][..], &filters].concat())
    };
    let container = list("running");
    assert_eq!(container.lines().count(), 1, "{container}");
    ground.remember_container(&container);
    let root = ground.root();
    let settled = Engine::settled("base", move |settings| settings.root = root);
    let engine = settled.await.unwrap();
    let is_left = async || {
        let orphans = engine.backend.orphans().await.unwrap();
        let mine =
            |orphan: &Leftover| orphan.id.0 == container || orphan.name.starts_with("prepared-");
        orphans.iter().any(mine)
    };
    assert!(!is_left().await);
    runner.kill();
    eventually("the container ends", || list("exited") == container).await;
    // Its runner may be starting it again at this moment, for all that can be seen.
    assert!(!is_left().await);
    docker(&["rm", "--force", &container]);
}

#[tokio::test]
async fn nothing_of_the_agents_runs_while_the_last_diff_is_taken() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let ground = Ground::new();
    let sandbox = start(&engine, &ground, Limits::default()).await;
    run(&sandbox, "echo work >work").await;
    let restless = "setsid sh -c 'trap \"\" TERM; while :; do echo x >busy; rm busy; done' </dev/null >/dev/null 2>&1 &";
    run(&sandbox, restless).await;
    let diff = sandbox.last_diff(LIMIT).await.unwrap();
    let full = String::from_utf8(diff.full).unwrap();
    assert!(full.contains("+work"), "{full}");
    let look = "rm -f busy; sleep 0.2; ls busy 2>/dev/null; echo over";
    assert_eq!(ask(&sandbox, look).await.0, "over\n");
    remove(&sandbox).await;
}

#[tokio::test]
async fn work_cannot_be_in_memory_that_no_archive_reaches() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let mut spec = engine.spec();
    spec.rights.temporary = Some(64 << 20);
    spec.workdir = Some("/tmp/work".to_owned());
    let refused = engine.backend.start(&spec, LIMIT).await.map(|_| ());
    let error = refused.unwrap_err().to_string();
    assert!(
        error.contains("/tmp/work") && error.contains("--tmpfs"),
        "{error}"
    );
}

fn unlimited() -> Limits {
    Limits {
        memory: None,
        cpus: None,
        pids: None,
        disk: None,
    }
}

#[tokio::test]
async fn an_edit_keeps_the_mode_of_a_file_that_nobody_here_may_give_away() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let ground = Ground::new();
    let sandbox = start(&engine, &ground, unlimited()).await;
    let program = "/usr/sbin/unix_chkpwd";
    let seen = format!("stat -c '%a %G' {program}");
    assert_eq!(ask(&sandbox, &seen).await.0, "2755 shadow\n");
    sandbox.write(program, b"new\n").await.unwrap();
    let seen = format!("stat -c %a {program}; cat {program}");
    // The kernel takes away what a change may not keep.
    assert_eq!(ask(&sandbox, &seen).await.0, "755\nnew\n");
    assert_eq!(ask(&sandbox, LEFT).await.0, "");
    remove(&sandbox).await;
}

/// What an edit may have left.
const LEFT: &str = "find /usr/sbin . -name '.patchmill*'";

#[tokio::test]
async fn an_edit_that_comes_to_nothing_leaves_nothing() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let ground = Ground::new();
    let sandbox = start(&engine, &ground, unlimited()).await;
    // The last step of an edit has nothing to be done with.
    ask(
        &sandbox,
        "echo old >file; rm /bin/mv; printf '#!/bin/sh\nexit 1\n' >/bin/mv; chmod 755 /bin/mv",
    )
    .await;
    let refused = sandbox.write("file", b"new\n").await.unwrap_err();
    assert!(matches!(refused, sandbox::Error::Refused(_)), "{refused:?}");
    assert_eq!(ask(&sandbox, "cat file").await.0, "old\n");
    assert_eq!(ask(&sandbox, LEFT).await.0, "");
    remove(&sandbox).await;
}

#[tokio::test]
async fn files_can_be_reached_where_everything_was_stopped() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let ground = Ground::new();
    let sandbox = start(&engine, &ground, unlimited()).await;
    ask(&sandbox, "echo there >file; kill -STOP -1").await;
    assert_eq!(sandbox.read("file", 100).await.unwrap(), b"there\n");
    sandbox.write("file", b"new\n").await.unwrap();
    assert_eq!(ask(&sandbox, "cat file").await.0, "new\n");
    remove(&sandbox).await;
}
