//! Runners that die at random moments, and the runs that others take up after them.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use schema::{AttemptKey, RunEvent};
use serde_json::json;

use crate::command::Place;
use crate::engines::{containers, with_engine};
use crate::fixture::{Fixture, signal};

/// Deaths of the runner in each test.
const DEATHS: usize = 20;
const INSTANCES: usize = 12;
const COMMANDS: [&str; 3] = ["cat value.txt", "sleep 0.05", "echo good > value.txt"];

/// No instance that an attempt settled is tried again.
pub(crate) fn assert_nothing_done_twice(events: &[RunEvent]) {
    let mut settled: HashMap<(String, u32), AttemptKey> = HashMap::new();
    for event in events {
        match event {
            RunEvent::AttemptStarted { key, .. } => {
                let sample = (key.instance_id.to_string(), key.sample);
                assert!(!settled.contains_key(&sample), "{key} after {settled:?}");
            }
            RunEvent::AttemptFinished { key, outcome, .. } if outcome.is_final() => {
                let sample = (key.instance_id.to_string(), key.sample);
                settled.insert(sample, key.clone());
            }
            _ => {}
        }
    }
}

/// Runs batches whose runner is killed after a time of `lives`, in milliseconds, until it has died often enough; each must end like the first,
/// which nobody disturbs.
fn die(
    random_seed: u64,
    undisturbed: &Fixture,
    flags: &[&str],
    lives: &Range<u64>,
    make: impl Fn() -> Fixture,
    clean: impl Fn(&Fixture),
) {
    let expected = undisturbed.predictions();
    assert_eq!(expected.len(), INSTANCES);
    let mut random = fastrand::Rng::with_seed(random_seed);
    let mut deaths = 0;
    while deaths < DEATHS {
        let fixture = make();
        fixture.script(&COMMANDS);
        loop {
            let resume: &[&str] = if fixture.file("writers").exists() {
                &["--resume"]
            } else {
                &[]
            };
            let mut child = fixture.start(&[flags, resume].concat());
            if deaths < DEATHS {
                std::thread::sleep(Duration::from_millis(random.u64(lives.clone())));
                signal(&child, Signal::KILL);
            }
            let status = child.wait().unwrap();
            if status.code().is_some() {
                assert_eq!(status.code(), Some(0), "{status}");
                break;
            }
            deaths += 1;
        }
        assert_eq!(fixture.predictions(), expected);
        assert_nothing_done_twice(&fixture.events());
        clean(&fixture);
    }
}

#[test]
fn a_run_whose_runner_dies_again_and_again_ends_like_an_undisturbed_one() {
    let flags = ["--workers", "4"];
    let undisturbed = Fixture::new(INSTANCES);
    undisturbed.script(&COMMANDS);
    assert_eq!(undisturbed.run(&flags).code, 0);
    let make = || Fixture::new(INSTANCES);
    die(
        7,
        &undisturbed,
        &flags,
        &(20..600),
        make,
        Fixture::assert_clean,
    );
}

#[test]
fn so_does_one_in_containers_and_nothing_is_left_in_the_engine() {
    let Some((engine, undisturbed)) = with_engine(INSTANCES) else {
        return;
    };
    let flags = [
        "--sandbox",
        "docker",
        "--workers",
        "4",
        "--min-free-disk",
        "none",
    ];
    let make = || {
        let place = Place::new().variable("DOCKER_HOST", &engine.host());
        let mut fixture = Fixture::at(place, INSTANCES);
        for index in 0..INSTANCES {
            fixture.change(index, "image", json!("patchmill-busybox:1"));
        }
        fixture
    };
    undisturbed.script(&COMMANDS);
    let started = Instant::now();
    let said = undisturbed.run(&flags);
    assert_eq!(said.code, 0, "{}", said.all());
    // Half of what a whole run takes on this machine: some deaths come before anything is done, others after some instances are.
    let longest = u64::try_from(started.elapsed().as_millis() / 2).unwrap();
    die(
        11,
        &undisturbed,
        &flags,
        &(20..longest.max(600)),
        make,
        |fixture| {
            assert_eq!(containers(&engine), Vec::<String>::new());
            for kind in ["volume", "network"] {
                let listed = engine.docker(&[kind, "ls", "--format", "{{.Name}}"]);
                let made = listed
                    .lines()
                    .filter(|name| !["none", "host"].contains(name));
                assert_eq!(made.count(), 0, "{kind}: {listed}");
            }
            fixture.assert_swept();
        },
    );
}
