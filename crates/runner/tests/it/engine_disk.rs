//! An engine whose disk fills up under its containers.

use schema::{FailureKind, Outcome};
use serde_json::json;
use testkit::{EngineDisk, EngineOptions, PrivateEngine};

use crate::command::Place;
use crate::engines::containers;
use crate::fixture::Fixture;

/// Bytes of the engine's disk: the image, and some room beside it.
const DISK: u64 = 64 << 20;

#[test]
fn a_full_disk_under_a_container_is_not_the_models_doing() {
    let Some(image) = testkit::docker_image("busybox") else {
        return;
    };
    let options = EngineOptions {
        disk: Some(EngineDisk::Memory(DISK)),
        ..EngineOptions::default()
    };
    let Some(engine) = PrivateEngine::start_with(options) else {
        return;
    };
    engine.load(image);
    let place = Place::new().variable("DOCKER_HOST", &engine.host());
    let mut fixture = Fixture::at(place, 2);
    for index in 0..2 {
        fixture.change(index, "image", json!(image));
    }
    fixture.script_of(0, &["head -c 200000000 /dev/zero >big"]);
    // Some file systems of engines tell the writer nothing.
    let only_said = "echo 'No space left on device' >&2; false";
    fixture.script_of(1, &[only_said, "echo good >value.txt"]);
    let flags = ["--sandbox", "docker", "--min-free-disk=none", "--workers=1"];
    let flags = [&flags[..], &["--model", "script:scripts"]].concat();
    // One at a time: the next sandbox is started ahead, and would find the disk that this one filled.
    let (one, other) = (fixture.id(0), fixture.id(1));
    let said = fixture.run(&[&flags[..], &["--ids", &one]].concat());
    assert_eq!(said.code, 3, "{}", said.all());
    let outcomes = fixture.outcomes();
    let full = |outcome: &Outcome| {
        let reason = FailureKind::EnvironmentDisk;
        matches!(outcome, Outcome::Failed { reason: found, .. } if *found == reason)
    };
    assert_eq!(outcomes.len(), 3, "it is tried again: {outcomes:?}");
    assert!(
        outcomes.iter().all(|(_, outcome)| full(outcome)),
        "{outcomes:?}"
    );
    assert!(fixture.predictions().is_empty());
    assert_eq!(containers(&engine), Vec::<String>::new());
    fixture.assert_swept();

    let said = fixture.run(&[&flags[..], &["--resume", "--ids", &other]].concat());
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(fixture.predictions().len(), 1);

    // What filled it is gone, so the run goes on.
    fixture.script_of(0, &["echo good >value.txt"]);
    let said = fixture.run(&[&flags[..], &["--resume", "--retry=infra"]].concat());
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(fixture.predictions().len(), 2);
    assert_eq!(containers(&engine), Vec::<String>::new());
}

#[test]
fn a_limit_of_the_disk_is_kept_where_the_engine_can() {
    let Some(image) = testkit::docker_image("busybox") else {
        return;
    };
    let options = EngineOptions {
        disk: Some(EngineDisk::Limiting(2 << 30)),
        ..EngineOptions::default()
    };
    let Some(engine) = PrivateEngine::start_with(options) else {
        return;
    };
    engine.load(image);
    let place = Place::new().variable("DOCKER_HOST", &engine.host());
    let mut fixture = Fixture::at(place, 1);
    fixture.change(0, "image", json!(image));
    // Each file is smaller than the limit, which also bounds a single one.
    let fill = "for i in 1 2 3 4; do head -c 15000000 /dev/zero >big$i && sync || break; done; echo stopped at $i; rm big*";
    fixture.script(&[fill, "echo good >value.txt"]);
    let flags = ["--sandbox", "docker", "--disk=40MiB"];
    let said = fixture.run(&flags);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(!said.all().contains("disk limit"), "{}", said.all());
    let trajectory = serde_json::to_string(&fixture.trajectory(0)).unwrap();
    assert!(trajectory.contains("stopped at 3"), "{trajectory}");
    let patch = fixture.predictions().remove(0).model_patch;
    assert!(patch.contains("+good") && !patch.contains("big"), "{patch}");
}
