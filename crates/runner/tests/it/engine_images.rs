//! Images of a real registry, got, listed and removed by a real engine of the tests' own.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use schema::{FailureKind, Outcome, RunEvent};
use serde_json::{Value, json};
use testkit::{Answer, Captured, EngineOptions, PrivateEngine, Registry, too_many_requests};

use crate::command::Place;
use crate::fixture::Fixture;

/// An engine, and a registry that holds copies of an image with a shell under these names.
fn both(options: EngineOptions, copies: &[&str]) -> Option<(PrivateEngine, Registry)> {
    faulty(options, copies, |_| None)
}

/// The same with a registry in whose place `fault` may answer.
fn faulty(
    options: EngineOptions,
    copies: &[&str],
    fault: impl Fn(&Captured) -> Option<Answer> + Send + Sync + 'static,
) -> Option<(PrivateEngine, Registry)> {
    let image = testkit::docker_image("busybox")?;
    let registry = Registry::start(fault)?;
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

/// Limits pulls as long as it is told to.
fn limited(busy: &Arc<AtomicBool>) -> impl Fn(&Captured) -> Option<Answer> + Send + Sync + use<> {
    let busy = Arc::clone(busy);
    move |request| {
        let limits = request.path.contains("/manifests/") && busy.load(Ordering::SeqCst);
        limits.then(too_many_requests)
    }
}

fn warnings(fixture: &Fixture, part: &str) -> usize {
    let says =
        |event: &RunEvent| matches!(event, RunEvent::Warning { message } if message.contains(part));
    fixture.events().iter().filter(|event| says(event)).count()
}

const OF_TWO: [&str; 6] = [
    "--sandbox",
    "docker",
    "--workers",
    "2",
    "--min-free-disk",
    "none",
];

#[test]
fn a_registry_that_limits_pulls_for_long_costs_no_attempts() {
    let busy = Arc::new(AtomicBool::new(true));
    let copies = ["good:1", "good:2", "good:3"];
    let Some((engine, registry)) = faulty(EngineOptions::default(), &copies, limited(&busy)) else {
        return;
    };
    let mut fixture = Fixture::at(at(&engine), 6);
    for index in 0..6 {
        let image = registry.name(copies[index % copies.len()]);
        fixture.change(index, "image", json!(image));
    }
    fixture.script(&["echo good > value.txt"]);
    let mut child = fixture.start(&OF_TWO);
    // That takes longer than any single pull is tried for.
    let away = |event: &RunEvent| matches!(event, RunEvent::Warning { message } if message.contains("gives no images"));
    fixture.wait_for("the outage is told", away);
    busy.store(false, Ordering::SeqCst);
    assert_eq!(
        child.wait().unwrap().code(),
        Some(0),
        "{:?}",
        fixture.events()
    );
    let outcomes = fixture.outcomes();
    let done = |(_, outcome): &&(String, Outcome)| *outcome == Outcome::Completed;
    assert_eq!(outcomes.iter().filter(done).count(), 6, "{outcomes:?}");
    assert_eq!(outcomes.len(), 6, "each at its first attempt: {outcomes:?}");
    assert_eq!(warnings(&fixture, "gives no images"), 1);
    assert_eq!(warnings(&fixture, "gives images again"), 1);
}

#[test]
fn a_registry_that_stays_away_fails_what_needs_it_until_the_run_is_taken_up_again() {
    let busy = Arc::new(AtomicBool::new(true));
    let Some((engine, registry)) = faulty(EngineOptions::default(), &["good:1"], limited(&busy))
    else {
        return;
    };
    let image = testkit::docker_image("busybox").unwrap();
    engine.load(image);
    // More than the breaker bears in a row, were they not of one cause.
    let mut fixture = Fixture::at(at(&engine), 12);
    for index in 0..11 {
        fixture.change(index, "image", json!(registry.name("good:1")));
    }
    fixture.change(11, "image", json!(image));
    fixture.script(&["echo good > value.txt"]);
    let flags = [&OF_TWO[..], &["--registry-wait", "0s"]].concat();
    let said = fixture.run(&flags);
    assert_eq!(said.code, 3, "{}", said.all());
    let outcomes = fixture.outcomes();
    let failed = |(_, outcome): &&(String, Outcome)| matches!(outcome, Outcome::Failed { reason: FailureKind::EnvironmentRegistry, message } if message.contains("toomanyrequests"));
    assert_eq!(
        outcomes.iter().filter(failed).count(),
        33,
        "three attempts each: {outcomes:?}"
    );
    assert_eq!(fixture.predictions().len(), 1);
    assert_eq!(warnings(&fixture, "gave no images for 0 s"), 1);
    busy.store(false, Ordering::SeqCst);
    let said = fixture.run(&[&flags[..], &["--resume"]].concat());
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(fixture.predictions().len(), 12);
}

/// A registry that lets in only who shows this.
fn closed(authorization: &'static str) -> impl Fn(&Captured) -> Option<Answer> + Send + Sync {
    move |request| {
        let known = request.header("authorization") == Some(authorization);
        let host = request.header("host").unwrap_or_default();
        if request.path.starts_with("/token") {
            let form = String::from_utf8_lossy(&request.body);
            let holds = form.contains("grant_type=refresh_token")
                && form.contains("refresh_token=long-lived");
            let token = json!({"access_token": "short-lived", "expires_in": 300});
            let refusal = json!({"details": "no such token"});
            return Some(if holds {
                Answer::json(&token)
            } else {
                Answer::json_with(401, &refusal)
            });
        }
        let challenge = if authorization.starts_with("Bearer") {
            format!("Bearer realm=\"http://{host}/token\",service=\"here\"")
        } else {
            "Basic realm=\"here\"".to_owned()
        };
        let headers = [
            ("www-authenticate", challenge.as_str()),
            ("content-type", "application/json"),
        ];
        let body = r#"{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}"#;
        (!known).then(|| Answer::new(401, &headers, body))
    }
}

/// A credential helper that answers for one registry, and writes down what it was asked.
fn helper(directory: &Path, registry: &Registry, username: &str, secret: &str) {
    let answer = json!({"ServerURL": "", "Username": username, "Secret": secret});
    let script = format!(
        "#!/bin/sh\nread -r asked\necho \"$1 $asked\" >>'{}/asked'\nif test \"$1 $asked\" = 'get {}'; then echo '{answer}'; else echo 'credentials not found in native keychain'; exit 1; fi\n",
        directory.display(),
        registry.address(),
    );
    let program = directory.join("docker-credential-tests");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn credentials_come_from_helpers_and_tokens_too() {
    let Some(engine) = PrivateEngine::start() else {
        return;
    };
    // Whom the registry lets in, what the helper answers, and what the configuration says.
    let table = [
        // user:secret
        (
            "Basic dXNlcjpzZWNyZXQ=",
            ("user", "secret"),
            json!({"credsStore": "tests"}),
        ),
        (
            "Basic dXNlcjpzZWNyZXQ=",
            ("user", "secret"),
            json!({"credHelpers": {"REGISTRY": "tests"}}),
        ),
        (
            "Bearer short-lived",
            ("<token>", "long-lived"),
            json!({"credsStore": "tests"}),
        ),
        (
            "Bearer short-lived",
            ("", ""),
            json!({"auths": {"REGISTRY": {"identitytoken": "long-lived"}}}),
        ),
    ];
    for (authorization, (username, secret), configuration) in table {
        let Some(registry) = Registry::start(closed(authorization)) else {
            return;
        };
        let address = registry.address().to_string();
        let text = configuration.to_string().replace("REGISTRY", &address);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().display().to_string();
        let programs = format!("{path}:{}", std::env::var("PATH").unwrap());
        let place = at(&engine)
            .variable("DOCKER_CONFIG", &path)
            .variable("PATH", &programs);
        let image = registry.image();
        let said = place.run(&["images", "pull", &image]);
        assert_eq!(said.code, 3, "{text}: {}", said.all());
        assert!(said.err.contains("docker login"), "{}", said.all());
        helper(directory.path(), &registry, username, secret);
        std::fs::write(directory.path().join("config.json"), &text).unwrap();
        let said = place.run(&["images", "pull", &image]);
        assert_eq!(said.code, 0, "{text}: {}", said.all());
        let asked = std::fs::read_to_string(directory.path().join("asked")).unwrap_or_default();
        let expected = if username.is_empty() {
            String::new()
        } else {
            format!("get {address}\n")
        };
        assert_eq!(asked, expected, "{text}");
        engine.docker(&["rmi", &image]);
    }
}

#[test]
fn images_are_recorded_by_the_registrys_digest_and_named_by_it() {
    let Some((engine, registry)) = both(EngineOptions::default(), &["good:1"]) else {
        return;
    };
    let (tagged, digest) = (registry.name("good:1"), registry.digest("good:1"));
    let by_digest = registry.name(&format!("good@{digest}"));
    let mut fixture = Fixture::at(at(&engine), 2);
    // By its tag only after the engine has it by its digest alone.
    fixture.change(0, "image", json!(by_digest));
    fixture.change(1, "image", json!(tagged));
    fixture.script(&["echo good > value.txt"]);
    let said =
        fixture.run(&[&OF_TWO[..2], &["--workers", "1", "--min-free-disk", "none"]].concat());
    assert_eq!(said.code, 0, "{}", said.all());
    for (index, image) in [&by_digest, &tagged].into_iter().enumerate() {
        let header = serde_json::to_value(fixture.trajectory(index).header).unwrap();
        assert_eq!(header["environment"]["image"], **image, "{header}");
        let applied = &header["environment"]["applied"];
        assert_eq!(applied["image"], by_digest, "{applied}");
    }
    let said = fixture.place.run(&["images", "pull", &by_digest]);
    assert_eq!(
        said.out,
        format!("{by_digest}  {by_digest}\n"),
        "{}",
        said.all()
    );
}

/// An engine whose storage is this small, with the image that rows use.
fn small() -> Option<(PrivateEngine, Registry, &'static str)> {
    let options = EngineOptions {
        disk: Some(testkit::EngineDisk::Memory(48 << 20)),
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
