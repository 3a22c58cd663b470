//! Engines that go away in the middle of a run: real ones, killed and started again.

use std::process::Child;
use std::time::Duration;

use schema::{Outcome, RunEvent};
use serde_json::json;
use testkit::PrivateEngine;

use crate::command::Place;
use crate::fixture::{Fixture, wait};

/// An engine with an image, and instances that run in it.
pub(crate) fn with_engine(count: usize) -> Option<(PrivateEngine, Fixture)> {
    let image = testkit::docker_image("busybox")?;
    let engine = PrivateEngine::start()?;
    engine.load(image);
    let place = Place::new().variable("DOCKER_HOST", &engine.host());
    let mut fixture = Fixture::at(place, count);
    for index in 0..count {
        fixture.change(index, "image", json!(image));
    }
    Some((engine, fixture))
}

const FLAGS: [&str; 6] = [
    "--sandbox",
    "docker",
    "--workers",
    "4",
    "--min-free-disk",
    "none",
];

/// A command that ends when the test says so.
const UNTIL_TOLD: &str = "until test -e /tmp/go; do sleep 0.1; done";

/// Says so to all containers that run.
fn tell(engine: &PrivateEngine) {
    for name in containers(engine) {
        // One that has just ended needs no telling.
        engine.try_docker(&["exec", &name, "touch", "/tmp/go"]);
    }
}

/// Names of all its containers.
pub(crate) fn containers(engine: &PrivateEngine) -> Vec<String> {
    let listed = engine.docker(&["ps", "--all", "--format", "{{.Names}}"]);
    listed.lines().map(str::to_owned).collect()
}

fn started(fixture: &Fixture) -> usize {
    let ready = |event: &RunEvent| matches!(event, RunEvent::SandboxReady { .. });
    fixture.events().iter().filter(|event| ready(event)).count()
}

fn warned(fixture: &Fixture, part: &str) -> usize {
    let says =
        |event: &RunEvent| matches!(event, RunEvent::Warning { message } if message.contains(part));
    fixture.events().iter().filter(|event| says(event)).count()
}

fn code(mut child: Child) -> i32 {
    let mut code = None;
    wait_long(|| {
        code = child.try_wait().unwrap();
        code.is_some()
    });
    code.unwrap().code().unwrap()
}

fn wait_long(mut holds: impl FnMut() -> bool) {
    let started = std::time::Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_mins(3), "waited in vain");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_an_outage_ends_is_one_failure_and_is_tried_again() {
    let Some((mut engine, fixture)) = with_engine(12) else {
        return;
    };
    // Eleven at once: more than the breaker bears in a row.
    fixture.script(&[UNTIL_TOLD, "echo good > value.txt"]);
    let more = [
        "--workers",
        "11",
        "--start-workers",
        "4",
        "--max-attempts",
        "1",
    ];
    let mut child = fixture.start(&[&FLAGS[..2], &FLAGS[4..], &more[..]].concat());
    wait("eleven sandboxes stand", || started(&fixture) >= 11);
    engine.kill();
    wait("the outage is told", || {
        warned(&fixture, "does not answer") == 1
    });
    engine.start_again();
    wait_long(|| {
        tell(&engine);
        child.try_wait().unwrap().is_some()
    });
    assert_eq!(code(child), 0, "{:?}", fixture.outcomes());
    assert_eq!(warned(&fixture, "answers again"), 1);
    let outcomes = fixture.outcomes();
    let good = |outcome: &&(String, Outcome)| outcome.1 == Outcome::Completed;
    assert_eq!(outcomes.iter().filter(good).count(), 12, "{outcomes:?}");
    let lost = outcomes.len() - 12;
    assert!(lost >= 11, "{outcomes:?}");
    assert_eq!(containers(&engine), Vec::<String>::new());
    fixture.assert_swept();
}

#[test]
fn an_engine_that_stays_away_ends_the_run() {
    let Some((mut engine, fixture)) = with_engine(6) else {
        return;
    };
    fixture.script(&["sleep 30"]);
    let child = fixture.start(&[&FLAGS[..], &["--engine-wait", "2s"]].concat());
    wait("sandboxes stand", || started(&fixture) >= 4);
    engine.kill();
    assert_eq!(code(child), 4, "{:?}", fixture.events());
    let reason = fixture.events().into_iter().find_map(|event| match event {
        RunEvent::Aborted { reason } => Some(reason),
        _ => None,
    });
    let reason = reason.unwrap();
    assert!(reason.contains(&engine.host()), "{reason}");
    assert!(reason.contains("did not answer for 2 s"), "{reason}");
    // The run goes on when the engine is back, and what the dead runner left goes.
    engine.start_again();
    fixture.script(&["echo good > value.txt"]);
    let said = fixture.run(&[&FLAGS[..], &["--resume", "--retry", "infra"]].concat());
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(containers(&engine), Vec::<String>::new());
}

#[test]
fn an_engine_that_hangs_is_waited_for() {
    let Some((engine, fixture)) = with_engine(3) else {
        return;
    };
    fixture.script(&[UNTIL_TOLD, "echo good > value.txt"]);
    let mut child = fixture.start(&FLAGS);
    wait("sandboxes stand", || started(&fixture) >= 3);
    engine.freeze();
    wait("the outage is told", || {
        warned(&fixture, "does not answer") == 1
    });
    engine.thaw();
    wait_long(|| {
        tell(&engine);
        child.try_wait().unwrap().is_some()
    });
    assert_eq!(code(child), 0, "{:?}", fixture.events());
    assert_eq!(warned(&fixture, "answers again"), 1);
    assert_eq!(containers(&engine), Vec::<String>::new());
}

/// Open file descriptors of a process; none when it has ended.
fn descriptors(child: &Child) -> usize {
    let listed = std::fs::read_dir(format!("/proc/{}/fd", child.id()));
    listed.map_or(0, Iterator::count)
}

fn ended(fixture: &Fixture) -> usize {
    let ends = |event: &RunEvent| matches!(event, RunEvent::AttemptFinished { .. });
    fixture.events().iter().filter(|event| ends(event)).count()
}

#[test]
fn a_batch_leaves_nothing_in_the_engine_and_opens_no_more_files_as_it_goes() {
    const COUNT: usize = 16;
    let Some((engine, fixture)) = with_engine(COUNT) else {
        return;
    };
    let objects = || {
        let listed = |what: &[&str]| engine.docker(what).lines().count();
        [
            listed(&["ps", "--all", "--quiet"]),
            listed(&["volume", "ls", "--quiet"]),
            listed(&["network", "ls", "--quiet"]),
            listed(&["images", "--all", "--quiet"]),
        ]
    };
    let before = objects();
    // One that leaves a daemon, one that kills its shell: whatever happens in a sandbox, it goes.
    fixture.script(&[
        "sleep 0.3",
        "(setsid sleep 1000 &)",
        "kill -9 $$",
        "echo good > value.txt",
    ]);
    let mut child = fixture.start(&[&FLAGS[..], &["--grade", "--grade-workers", "1"]].concat());
    // The most at any time: how many are open at one moment depends on what starts and ends just then.
    let (mut early, mut late) = (0, 0);
    wait_long(|| {
        let (open, ended) = (descriptors(&child), ended(&fixture));
        match ended {
            0..2 => {}
            2..8 => early = early.max(open),
            8.. => late = late.max(open),
        }
        child.try_wait().unwrap().is_some()
    });
    assert_eq!(code(child), 0, "{:?}", fixture.outcomes());
    assert_eq!(objects(), before);
    assert!(early > 0 && late > 0, "{early} {late}");
    // A leak of one for each instance would be eight.
    assert!(late < early + 5, "{early} files early, {late} late");
    fixture.assert_swept();
}
