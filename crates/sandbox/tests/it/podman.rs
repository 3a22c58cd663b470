//! Podman's service, chosen by name. CI runs the tests of containers on it too, as if it were Docker.

use std::sync::Arc;

use sandbox::limits::{Limit, Network};
use sandbox::place::docker::{Docker, DockerSettings, Engine};
use sandbox::place::{Backend, PlaceState};
use sandbox::{End, Sandbox, SandboxSpec};

use crate::docker_support::{LIMIT, ask as ask_line, hold_main, launch, say};
use crate::support::{Ground, ask, place_spec, repository, run, spec};

async fn podman(ground: &Ground, change: impl FnOnce(&mut DockerSettings)) -> Arc<Docker> {
    let mut settings = DockerSettings::new(ground.root());
    settings.engine = Engine::Podman;
    change(&mut settings);
    Arc::new(Docker::connect(settings).await.unwrap())
}

#[tokio::test]
async fn a_repository_is_sealed_changed_and_compared_without_roots_rights() {
    let Some(image) = testkit::podman_image("base") else {
        return;
    };
    let ground = Ground::new();
    let backend = podman(&ground, |_| {}).await;
    assert_eq!(backend.capabilities().backend, "podman");
    let source = repository(ground.path());
    let mut spec: SandboxSpec = spec(ground.prepare(&source, None));
    spec.place.image = Some(image.to_owned());
    let sandbox = Sandbox::start(backend.clone(), spec, LIMIT).await.unwrap();
    assert!(sandbox.seal().verified);
    assert_eq!(sandbox.applied().network, Network::None);
    let (said, end) = ask(&sandbox, "cd /tmp; X=1; git -C $OLDPWD status --short").await;
    assert_eq!((said.as_str(), end), ("", End::Exited(0)));
    assert_eq!(ask(&sandbox, "echo $X $PWD").await.0, "1 /tmp\n");
    let work = "cd $OLDPWD; printf 'new\\n' >new.txt; git add -A; git commit -qm work; rm -rf .git";
    assert_eq!(run(&sandbox, work).await.end, End::Exited(0));
    // A container that is dead can still be read.
    sandbox.stop_processes(LIMIT).await.unwrap();
    let diff = String::from_utf8(sandbox.diff().await.unwrap().full).unwrap();
    assert!(diff.contains("+++ b/new.txt"), "{diff}");
    assert_eq!(ask(&sandbox, "cat new.txt").await.0, "new\n");
    sandbox.remove(LIMIT).await.unwrap();
}

#[tokio::test]
async fn a_container_is_stopped_twice_started_again_and_removed_twice() {
    let Some(image) = testkit::podman_image("busybox") else {
        return;
    };
    let ground = Ground::new();
    let backend = podman(&ground, |_| {}).await;
    let mut spec = place_spec();
    spec.image = Some(image.to_owned());
    spec.rights.user = Some(String::from("1000:1000"));
    spec.rights.temporary = Some(1 << 20);
    let place = backend.start(&spec, LIMIT).await.unwrap();
    assert_eq!(place.applied().user, "1000:1000");
    let main = hold_main(&place).await;
    let (said, code) = say(&place, "id -u; exit 3").await;
    assert_eq!((said.as_str(), code), ("1000\n", Some(3)));
    let filled = "head -c 9000000 /dev/zero >/tmp/x; wc -c </tmp/x";
    let (said, _) = say(&place, filled).await;
    assert!(said.ends_with("1048576\n"), "{said}");
    drop(main);
    for _ in 0..2 {
        place.stop(LIMIT).await.unwrap();
        let state = place.state().await.unwrap();
        assert!(matches!(state, PlaceState::Exited { .. }), "{state:?}");
    }
    let mut main = hold_main(&place).await;
    assert_eq!(ask_line(&mut main, "echo again").await, "again");
    for _ in 0..2 {
        backend.remove(place.id(), LIMIT).await.unwrap();
    }
    assert_eq!(place.state().await.unwrap(), PlaceState::Gone);
    let error = place.open(&launch("echo")).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), schema::FailureKind::EnvironmentLost);
}

#[tokio::test]
async fn limits_that_it_would_forget_are_refused_or_recorded() {
    let Some(image) = testkit::podman_image("busybox") else {
        return;
    };
    let ground = Ground::new();
    let strict = podman(&ground, |_| {}).await;
    let mut spec = place_spec();
    spec.image = Some(image.to_owned());
    let limit = |value, explicit| Some(Limit { value, explicit });
    spec.limits.disk = limit(1 << 30, false);
    if strict.capabilities().memory_limit {
        // With groups of version 2 it can.
        return;
    }
    spec.limits.memory = limit(64 << 20, true);
    let refused = strict.start(&spec, LIMIT).await.map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("cannot limit memory"));
    let lenient = podman(&ground, |settings| settings.best_effort_limits = true).await;
    let place = lenient.start(&spec, LIMIT).await.unwrap();
    let mut unenforced = place.applied().unenforced.clone();
    unenforced.sort();
    assert_eq!(unenforced, ["disk", "file_size", "memory"]);
    lenient.remove(place.id(), LIMIT).await.unwrap();
}
