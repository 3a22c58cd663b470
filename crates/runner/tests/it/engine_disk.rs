//! An engine whose disk fills up under its containers.

use schema::{FailureKind, Outcome};
use serde_json::json;
use testkit::{EngineOptions, PrivateEngine};

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
        disk: Some(DISK),
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
    // Some file systems of engines tell the writer nothing. The second one only says so, after the first has made room again.
    fixture.script_of(0, &["head -c 200000000 /dev/zero >big"]);
    let only_said = "echo 'No space left on device' >&2; false";
    fixture.script_of(1, &[only_said, "echo good >value.txt"]);
    let flags = ["--sandbox", "docker", "--min-free-disk=none", "--workers=1"];
    let flags = [&flags[..], &["--model", "script:scripts"]].concat();
    let said = fixture.run(&flags);
    assert_eq!(said.code, 3, "{}", said.all());
    let outcomes = fixture.outcomes();
    let full = |outcome: &Outcome| {
        let reason = FailureKind::EnvironmentDisk;
        matches!(outcome, Outcome::Failed { reason: found, .. } if *found == reason)
    };
    let of = |index: usize| {
        let id = fixture.id(index);
        let ours = outcomes.iter().filter(move |(key, _)| key.starts_with(&id));
        ours.map(|(_, outcome)| outcome).collect::<Vec<_>>()
    };
    let first = of(0);
    assert_eq!(first.len(), 3, "it is tried again: {outcomes:?}");
    assert!(first.into_iter().all(full), "{outcomes:?}");
    assert_eq!(of(1), [&Outcome::Completed], "{outcomes:?}");
    assert_eq!(fixture.predictions().len(), 1);
    assert_eq!(containers(&engine), Vec::<String>::new());
    fixture.assert_swept();

    // What filled it is gone, so the run goes on.
    fixture.script_of(0, &["echo good >value.txt"]);
    let said = fixture.run(&[&flags[..], &["--resume", "--retry=infra"]].concat());
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(fixture.predictions().len(), 2);
    assert_eq!(containers(&engine), Vec::<String>::new());
}
