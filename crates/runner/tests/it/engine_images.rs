//! Images of a real registry, got, listed and removed by a real engine of the tests' own.

use schema::{FailureKind, Outcome, RunEvent};
use serde_json::{Value, json};
use testkit::{EngineOptions, PrivateEngine, Registry};

use crate::command::Place;
use crate::fixture::Fixture;

/// An engine, and a registry that holds copies of an image with a shell under these names.
fn both(options: EngineOptions, copies: &[&str]) -> Option<(PrivateEngine, Registry)> {
    let image = testkit::docker_image("busybox")?;
    let registry = Registry::start(|_| None)?;
    let engine = PrivateEngine::start_with(options)?;
    for copy in copies {
        registry.push_copy(image, copy);
    }
    Some((engine, registry))
}

fn at(engine: &PrivateEngine) -> Place {
    let place = Place::new().variable("DOCKER_HOST", &engine.host());
    place.variable("PATCHMILL_SCRATCH", "scratch")
}

fn listed(place: &Place) -> Vec<Value> {
    let said = place.run(&["images", "list", "--format=json"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let listed: Value = serde_json::from_str(&said.out).unwrap();
    listed["images"].as_array().unwrap().clone()
}

#[test]
fn images_are_pulled_listed_and_pruned() {
    let Some((engine, registry)) = both(EngineOptions::default(), &["hub/a/one:1"]) else {
        return;
    };
    registry.push("two:1", 3 << 20);
    let place = at(&engine);
    let (thing, two) = (registry.image(), registry.name("two:1"));
    let absent = registry.name("absent:1");
    let said = place.run(&["images", "pull", "--pulls", "2", &thing, &absent, &two]);
    assert_eq!(said.code, 3, "{}", said.all());
    // In the order in which they were asked for.
    let names: Vec<_> = said
        .out
        .lines()
        .filter_map(|line| line.split_once("  "))
        .collect();
    assert_eq!(names.len(), 2, "{}", said.all());
    assert!(names.iter().all(|(_, digest)| digest.contains("@sha256:")));
    assert!(said.err.contains("manifest unknown"), "{}", said.all());
    assert!(said.err.contains("hint:"), "{}", said.all());

    // The mirror stands in for the registry of names without a host.
    let rows =
        json!({"instance_id": "a", "problem_statement": "b", "repo": "a/b", "image": "a/one:1"});
    place.write("rows.jsonl", format!("{rows}\n"));
    let mirror = format!("{}/hub", registry.address());
    let said = place.run(&[
        "images",
        "pull",
        "--dataset",
        "rows.jsonl",
        "--image-mirror",
        &mirror,
    ]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(
        said.out.starts_with(&format!("{mirror}/a/one:1  ")),
        "{}",
        said.all()
    );

    let images = listed(&place);
    assert_eq!(images.len(), 3);
    assert!(
        images
            .iter()
            .all(|image| image["pulled"] == json!(true) && image["used"].is_string())
    );
    assert!(
        images
            .iter()
            .any(|image| image["bytes"].as_u64().unwrap() >= 3 << 20)
    );
    // Those used last stay.
    let said = place.run(&["images", "prune", "--keep", "2MiB"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let left = listed(&place);
    assert_eq!(left.len(), 1, "{}", said.all());
    assert_eq!(left[0]["names"], json!([format!("{mirror}/a/one:1")]));
}

#[test]
fn a_batch_goes_on_without_the_images_that_cannot_be_had() {
    let Some((engine, registry)) = both(EngineOptions::default(), &["good:1"]) else {
        return;
    };
    let mut fixture = Fixture::at(at(&engine), 15);
    let absent = registry.name("absent:1");
    // One in a row less than the breaker bears, were they not the same one.
    for index in 0..15 {
        let image = match index {
            0..12 => absent.clone(),
            12 => registry.image(),
            _ => registry.name("good:1"),
        };
        fixture.change(index, "image", json!(image));
    }
    fixture.script(&["echo good > value.txt"]);
    let said = fixture.run(&[
        "--sandbox",
        "docker",
        "--workers",
        "2",
        "--min-free-disk",
        "none",
    ]);
    assert_eq!(said.code, 3, "{}", said.all());
    let outcomes = fixture.outcomes();
    assert_eq!(outcomes.len(), 15, "each once: {outcomes:?}");
    let failed = |text: &str| {
        let says = |outcome: &Outcome| matches!(outcome, Outcome::Failed { reason: FailureKind::EnvironmentImage, message } if message.contains(text));
        outcomes.iter().filter(|(_, outcome)| says(outcome)).count()
    };
    assert_eq!(failed("manifest unknown"), 12, "{outcomes:?}");
    assert_eq!(failed("no /bin/sh"), 1, "{outcomes:?}");
    let absent = registry.requests();
    let asked = absent
        .iter()
        .filter(|request| request.path.contains("/absent/manifests/"));
    assert!(asked.count() <= 2, "HEAD and GET at most");
    assert_eq!(fixture.predictions().len(), 2);
}

/// An engine whose storage is this small, with the image that rows use.
fn small() -> Option<(PrivateEngine, Registry, &'static str)> {
    let options = EngineOptions {
        disk: Some(48 << 20),
        ..EngineOptions::default()
    };
    let (engine, registry) = both(options, &[])?;
    let image = testkit::docker_image("busybox")?;
    engine.load(image);
    Some((engine, registry, image))
}

fn removed(fixture: &Fixture) -> Vec<String> {
    let image = |event| match event {
        RunEvent::ImageRemoved { image, .. } => Some(image),
        _ => None,
    };
    fixture.events().into_iter().filter_map(image).collect()
}

/// Fills the engine's storage but for some bytes.
fn fill(engine: &PrivateEngine, free: u64) -> std::path::PathBuf {
    let path = engine.data().join("filler");
    let state = rustix::fs::statvfs(engine.data().as_path()).unwrap();
    let bytes = (state.f_bavail * state.f_frsize).saturating_sub(free);
    std::fs::write(&path, vec![1; usize::try_from(bytes).unwrap()]).unwrap();
    path
}

#[test]
fn images_are_got_ahead_and_go_when_there_is_no_room_for_the_next() {
    let Some((engine, registry, base)) = small() else {
        return;
    };
    // Four do not fit, three do.
    let mut fixture = Fixture::at(at(&engine), 5);
    for index in 0..5 {
        let name = format!("big:{index}");
        push_large(&registry, base, &name);
        fixture.change(index, "image", json!(registry.name(&name)));
    }
    fixture.script(&["echo good > value.txt"]);
    let flags = [
        "--sandbox",
        "docker",
        "--workers",
        "1",
        "--start-workers",
        "1",
        "--prefetch",
        "1",
        "--pulls",
        "1",
    ];
    let said = fixture.run(&flags);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(fixture.predictions().len(), 5);
    assert_eq!(fixture.outcomes().len(), 5, "{}", said.all());
    // Only one of the first two, in whatever order they came, can be done by then.
    let removed = removed(&fixture);
    let first = [registry.name("big:0"), registry.name("big:1")];
    assert!(
        removed.first().is_some_and(|name| first.contains(name)),
        "{removed:?}"
    );
    assert!(said.err.contains("to make room"), "{}", said.all());
    // What the user brought stays.
    let left = engine.docker(&["images", "--format", "{{.Repository}}:{{.Tag}}"]);
    assert!(left.contains(base), "{left}");
}

#[test]
fn instances_wait_for_room_and_only_what_the_run_pulled_goes() {
    let Some((engine, registry, base)) = small() else {
        return;
    };
    let mut fixture = Fixture::at(at(&engine), 2);
    for index in 0..2 {
        fixture.change(index, "image", json!(base));
    }
    fixture.script(&["echo good > value.txt"]);
    let (ours, theirs) = (registry.image(), registry.name("large:1"));
    push_large(&registry, base, "large:1");
    let said = fixture.place.run(&["images", "pull", &ours]);
    assert_eq!(said.code, 0, "{}", said.all());
    engine.docker(&["pull", &theirs]);
    // Less than a tenth, and what goes makes no more than a little of it.
    let filler = fill(&engine, 2 << 20);
    let flags = ["--sandbox", "docker"];
    let mut child = fixture.start(&flags);
    let paused = |event: &RunEvent| matches!(event, RunEvent::Warning { message } if message.contains("no instance starts for now"));
    fixture.wait_for("the pause is told", paused);
    assert_eq!(removed(&fixture), [ours]);
    assert!(
        !fixture
            .events()
            .iter()
            .any(|event| matches!(event, RunEvent::SandboxReady { .. }))
    );
    std::fs::remove_file(filler).unwrap();
    assert_eq!(
        child.wait().unwrap().code(),
        Some(0),
        "{:?}",
        fixture.events()
    );
    let left = engine.docker(&["images", "--format", "{{.Repository}}:{{.Tag}}"]);
    assert!(left.contains(base) && left.contains(&theirs), "{left}");
}

/// The base with a file in it that no compression makes smaller.
fn push_large(registry: &Registry, base: &str, name: &str) {
    let container = format!(
        "patchmill-large-{}-{}",
        std::process::id(),
        name.replace(':', "-")
    );
    let script = "head -c 10485760 /dev/urandom >/large";
    let run = [
        "run",
        "--name",
        &container,
        "--network=none",
        base,
        "/bin/sh",
        "-c",
        script,
    ];
    docker(&run);
    let image = format!("{container}:1");
    docker(&["commit", &container, &image]);
    docker(&["rm", &container]);
    registry.push_copy(&image, name);
    docker(&["rmi", &image]);
}

fn docker(arguments: &[&str]) {
    let output = std::process::Command::new("docker")
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "docker {arguments:?}: {said}");
}
