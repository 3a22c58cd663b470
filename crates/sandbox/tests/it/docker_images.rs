//! Images that are there, that are not, and that are hostile.

use std::sync::Arc;

use sandbox::place::docker::Pull;
use sandbox::place::{Backend, PlaceState};
use sandbox::{End, Error, Sandbox};

use crate::docker_support::{Engine, LIMIT, ask, docker, hold_main, launch, say};
use crate::support::{self, Ground, repository, spec};

/// Why nothing starts from an image that is at fault itself.
async fn refusal(engine: &Engine, image: &str) -> Error {
    let error = failure(engine, image).await;
    assert_eq!(error.kind(), schema::FailureKind::EnvironmentImage);
    error
}

async fn failure(engine: &Engine, image: &str) -> Error {
    let mut spec = engine.spec();
    spec.image = Some(image.to_owned());
    let started = engine.backend.start(&spec, LIMIT).await;
    started.map(|_| ()).unwrap_err()
}

#[tokio::test]
async fn an_image_that_is_not_there_is_named_with_a_hint() {
    let never = Engine::settled("busybox", |settings| settings.pull = Pull::Never);
    let Some(engine) = never.await else {
        return;
    };
    let error = refusal(&engine, "patchmill-none:1").await;
    assert_eq!(
        error.to_string(),
        "cannot use the image `patchmill-none:1`: the engine does not have it, and it is not to be pulled"
    );
    assert!(error.hint().unwrap().contains("--pull missing"));
    let error = refusal(&engine, "Not A Name").await;
    assert!(error.to_string().contains("`Not A Name`"), "{error}");
    let mut spec = engine.spec();
    spec.image = None;
    let error = engine.backend.start(&spec, LIMIT).await.map(|_| ());
    assert!(error.unwrap_err().to_string().contains("--image"));
}

#[tokio::test]
async fn an_image_for_another_platform_is_told_apart() {
    let other = Engine::settled("busybox", |settings| {
        // No registry is asked for what was made here, whatever the policy.
        settings.pull = Pull::Missing;
        settings.platform = Some("linux/s390x".to_owned());
    });
    let Some(engine) = other.await else {
        return;
    };
    let error = refusal(&engine, engine.image).await;
    assert!(
        error
            .to_string()
            .ends_with("not for linux/s390x, which was asked for"),
        "{error}"
    );
}

#[tokio::test]
async fn an_image_without_a_shell_is_told_apart() {
    let Some(engine) = Engine::with("empty").await else {
        return;
    };
    let error = refusal(&engine, engine.image).await;
    assert!(error.to_string().contains("no /bin/sh"), "{error}");
    // From now on nobody tries.
    let error = engine.backend.prepare(&engine.spec()).await.unwrap_err();
    assert!(error.is_hopeless() && error.image() == Some(engine.image));
    let left = docker(&[
        "ps",
        "--all",
        "--quiet",
        "--filter",
        &format!("ancestor={}", engine.image),
    ]);
    assert_eq!(left, "");
}

#[tokio::test]
async fn a_container_that_breaks_its_own_shell_harms_only_itself() {
    let Some(engine) = Engine::with("busybox").await else {
        return;
    };
    let place = engine.start().await;
    let mut main = hold_main(&place).await;
    let broken = "rm -f /bin/sh; printf '#!/nowhere\\n' >/bin/sh; chmod +x /bin/sh; echo done";
    assert_eq!(say(&place, broken).await.0, "done\n");
    let error = place.open(&launch("echo")).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), schema::FailureKind::EnvironmentLost);
    // What runs goes on, and the engine still ends it.
    assert_eq!(ask(&mut main, "echo there").await, "there");
    place.stop(LIMIT).await.unwrap();
    assert!(matches!(
        place.state().await.unwrap(),
        PlaceState::Exited { .. }
    ));
    engine.remove(&place).await;
}

#[tokio::test]
async fn a_shell_that_lies_about_being_one_is_told_apart() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    // An image whose /bin/sh does something else.
    let name = format!("patchmill-liar:{}", std::process::id());
    let container = docker(&[
        "run",
        "--detach",
        "--network=none",
        engine.image,
        "/bin/ln",
        "-sf",
        "true",
        "/bin/sh",
    ]);
    docker(&["wait", &container]);
    docker(&["commit", &container, &name]);
    docker(&["rm", &container]);
    let error = failure(&engine, &name).await;
    docker(&["rmi", &name]);
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("did not start as a shell"), "{cause}");
}

#[tokio::test]
async fn what_an_image_declares_does_not_get_in_the_way() {
    let Some(engine) = Engine::with("awkward").await else {
        return;
    };
    let ground = Ground::new();
    let source = repository(ground.path());
    let mut spec = spec(ground.prepare(&source, None));
    spec.place = engine.spec();
    let backend: Arc<dyn Backend> = engine.backend.clone();
    let sandbox = Sandbox::start(backend, spec, LIMIT).await.unwrap();
    ground.remember(&sandbox);
    assert_eq!(sandbox.applied().user, "4321:0");
    let inspect = |format: &str| docker(&["inspect", "--format", format, &sandbox.id().0]);
    // Nobody examines it, and its volume is one that nothing else has.
    let health = "{{if .State.Health}}{{.State.Health.Status}}{{end}}";
    assert_eq!(inspect(health), "");
    let volume = inspect("{{range .Mounts}}{{.Name}}{{end}}");
    assert!(!volume.is_empty());
    let work = "id -u; ls /data; touch /data/made; ls /tmp/examined 2>&1 | grep -c 'No such'; git status --short; \
                echo x >new.txt; git add -A; git commit -qm work; git log -1 --format=%s";
    assert_eq!(
        support::ask(&sandbox, work).await,
        (String::from("4321\nbrought\n1\nwork\n"), End::Exited(0))
    );
    let diff = String::from_utf8(sandbox.diff().await.unwrap().full).unwrap();
    assert!(diff.contains("+++ b/new.txt"), "{diff}");
    support::remove(&sandbox).await;
    let volumes = docker(&["volume", "ls", "--quiet"]);
    assert!(!volumes.contains(&volume), "{volume} is left");
}
