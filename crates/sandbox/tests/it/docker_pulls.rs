//! Pulls from a real registry on the loopback interface, behind a proxy that misbehaves on request.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use sandbox::Error;
use sandbox::place::docker::{DockerSettings, Pull};
use sandbox::place::{Backend, PlaceSpec};
use testkit::{Answer, Captured, Registry, too_many_requests};

use crate::docker_support::{Engine, LIMIT, docker};

async fn engine(change: impl FnOnce(&mut DockerSettings)) -> Option<Engine> {
    Engine::settled("busybox", change).await
}

/// Both, where both can be had.
async fn both(
    change: impl FnOnce(&mut DockerSettings),
    fault: impl Fn(&Captured) -> Option<Answer> + Send + Sync + 'static,
) -> Option<(Engine, Registry)> {
    let engine = engine(change).await?;
    Some((engine, Registry::start(fault)?))
}

fn spec(engine: &Engine, registry: &Registry) -> PlaceSpec {
    PlaceSpec {
        image: Some(registry.image()),
        ..engine.spec()
    }
}

async fn problem(engine: &Engine, registry: &Registry) -> (String, String) {
    let error = engine.backend.prepare(&spec(engine, registry)).await;
    match error.unwrap_err() {
        Error::Image { problem, hint, .. } => (problem, hint),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_image_is_pulled_once_for_all_who_wait() {
    let Some((engine, registry)) = both(|_| {}, |_| None).await else {
        return;
    };
    let spec = spec(&engine, &registry);
    let waiting = (0..20).map(|_| engine.backend.prepare(&spec));
    for done in join_all(waiting).await {
        done.unwrap();
    }
    assert_eq!(registry.asked("GET", "/manifests/"), 1);
    assert_eq!(
        registry.asked("GET", "/blobs/"),
        2,
        "configuration and layer"
    );
    // It is there now.
    engine.backend.prepare(&spec).await.unwrap();
    assert_eq!(registry.asked("GET", "/blobs/"), 2);
}

#[tokio::test]
async fn a_registry_that_is_busy_is_asked_again() {
    let Some(engine) = engine(|_| {}).await else {
        return;
    };
    let refusals = AtomicU32::new(0);
    let registry = Registry::start(move |request| {
        let busy =
            request.path.contains("/manifests/") && refusals.fetch_add(1, Ordering::SeqCst) < 2;
        busy.then(too_many_requests)
    });
    let Some(registry) = registry else {
        return;
    };
    engine
        .backend
        .prepare(&spec(&engine, &registry))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_layer_that_breaks_off_is_fetched_again() {
    let Some(engine) = engine(|_| {}).await else {
        return;
    };
    let cut = Mutex::new(Vec::new());
    let registry = Registry::start(move |request| {
        let mut cut = cut.lock().unwrap();
        let first = request.method == "GET"
            && request.path.contains("/blobs/")
            && !cut.contains(&request.path);
        first.then(|| {
            cut.push(request.path.clone());
            let head = Answer::head(200, &[("content-length", "5000")]);
            head.send(b"half of it".to_vec()).close()
        })
    });
    let Some(registry) = registry else {
        return;
    };
    engine
        .backend
        .prepare(&spec(&engine, &registry))
        .await
        .unwrap();
    let asked = registry.requests();
    let blobs = asked
        .iter()
        .filter(|request| request.method == "GET" && request.path.contains("/blobs/"));
    let mut times = std::collections::HashMap::new();
    for blob in blobs {
        *times.entry(blob.path.as_str()).or_insert(0) += 1;
    }
    assert_eq!(times.len(), 2, "configuration and layer");
    assert!(times.values().all(|&times| times >= 2), "{times:?}");
}

/// Whether an error is of a registry that gives nothing, which may pass.
fn is_away(error: &Error, answer: &str) -> bool {
    let Error::Registry { problem, .. } = error else {
        return false;
    };
    let retry = error.kind().handling().retry;
    problem.contains(answer) && retry == schema::failure::Retry::Always && !error.is_hopeless()
}

#[tokio::test]
async fn a_registry_that_gives_nothing_is_no_fault_of_the_image() {
    let Some(engine) = engine(|settings| settings.registry_wait = Duration::ZERO).await else {
        return;
    };
    let well = Arc::new(AtomicBool::new(false));
    let known = Arc::clone(&well);
    let fault = move |request: &Captured| {
        let broken = request.path.contains("/broken/");
        let ill = request.path.contains("/manifests/") && !known.load(Ordering::SeqCst);
        let unavailable = || Answer::new(503, &[("content-type", "text/html")], "<p>Later.</p>");
        ill.then(if broken {
            unavailable
        } else {
            too_many_requests
        })
    };
    let Some(registry) = Registry::start(fault) else {
        return;
    };
    registry.push("broken/thing:1", 1000);
    let nobody = testkit::refused_url();
    let nobody = nobody.trim_start_matches("http://").trim_end_matches("/v1");
    let specs = [
        registry.image(),
        registry.name("broken/thing:1"),
        format!("{nobody}/some/thing:1"),
    ];
    let specs = specs.map(|image| PlaceSpec {
        image: Some(image),
        ..engine.spec()
    });
    let pulls = specs.iter().map(|spec| engine.backend.prepare(spec));
    let answers = ["toomanyrequests", "503", "connection refused"];
    for (done, answer) in join_all(pulls).await.into_iter().zip(answers) {
        let error = done.unwrap_err();
        assert!(is_away(&error, answer), "{error:?}");
    }
    // Nobody waits any more, and each asks for itself: it comes as soon as it is given.
    let error = engine.backend.prepare(&specs[0]).await.unwrap_err();
    assert!(is_away(&error, answers[0]), "{error:?}");
    well.store(true, Ordering::SeqCst);
    engine.backend.prepare(&specs[0]).await.unwrap();
    engine.backend.prepare(&specs[1]).await.unwrap();
    docker(&["rmi", specs[1].image.as_deref().unwrap()]);
}

#[tokio::test]
async fn an_image_that_was_removed_is_got_again_once_for_all() {
    let Some(engine) = engine(|_| {}).await else {
        return;
    };
    // The second time it takes a while: who comes meanwhile waits for the same.
    let (gone, refusals) = (Arc::new(AtomicBool::new(false)), AtomicU32::new(0));
    let known = Arc::clone(&gone);
    let fault = move |request: &Captured| {
        let again = request.path.contains("/manifests/") && known.load(Ordering::SeqCst);
        let busy = again && refusals.fetch_add(1, Ordering::SeqCst) < 1;
        busy.then(too_many_requests)
    };
    let Some(registry) = Registry::start(fault) else {
        return;
    };
    let spec = spec(&engine, &registry);
    engine.backend.prepare(&spec).await.unwrap();
    docker(&["rmi", &registry.image()]);
    gone.store(true, Ordering::SeqCst);
    let before = registry.asked("GET", "/blobs/");
    let starts = (0..6).map(|_| engine.backend.start(&spec, LIMIT));
    for started in join_all(starts).await {
        // Nothing in it can be started.
        let error = started.map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("/bin/sh"), "{error}");
    }
    let manifests = registry.asked("GET", "/manifests/") + registry.asked("HEAD", "/manifests/");
    let blobs = registry.asked("GET", "/blobs/") - before;
    assert!(blobs <= 2, "{blobs} blobs, {manifests} manifests");
    assert!(manifests <= 6, "two for each of three pulls: {manifests}");
}

#[tokio::test]
async fn what_no_waiting_changes_is_told_at_once_with_the_registrys_words() {
    let Some((engine, registry)) = both(|settings| settings.pull = Pull::Always, |_| None).await
    else {
        return;
    };
    let mut wrong = spec(&engine, &registry);
    wrong.image = Some(format!("{}/some/thing:2", registry.address()));
    let error = engine.backend.prepare(&wrong).await.unwrap_err();
    assert!(error.to_string().contains("manifest unknown"), "{error}");
    assert!(error.hint().unwrap().contains("name is right"));
    // Nor is it asked for a second time.
    let asked = registry.requests().len();
    engine.backend.prepare(&wrong).await.unwrap_err();
    assert_eq!(registry.requests().len(), asked);
}

#[tokio::test]
async fn an_image_for_another_platform_is_refused() {
    let Some(engine) = engine(|settings| settings.platform = Some("linux/s390x".into())).await
    else {
        return;
    };
    let Some(registry) = Registry::start(|_| None) else {
        return;
    };
    let (problem, _) = problem(&engine, &registry).await;
    assert!(
        problem.contains("does not match the specified platform")
            || problem.contains("not for linux/s390x"),
        "{problem}"
    );
}

#[tokio::test]
async fn credentials_come_from_the_users_configuration() {
    let closed = |request: &Captured| {
        // user:secret
        let known = request.header("authorization") == Some("Basic dXNlcjpzZWNyZXQ=");
        let headers = [
            ("www-authenticate", "Basic realm=\"here\""),
            ("content-type", "application/json"),
        ];
        let body = r#"{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}"#;
        (!known).then(|| Answer::new(401, &headers, body))
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let Some(engine) = engine(move |settings| settings.configuration = Some(path)).await else {
        return;
    };
    let Some(registry) = Registry::start(closed) else {
        return;
    };
    let (problem, hint) = problem(&engine, &registry).await;
    assert!(
        problem.contains("no basic auth credentials")
            || problem.contains("authentication required"),
        "{problem}"
    );
    assert!(hint.contains("docker login"), "{hint}");
    let text = format!(
        r#"{{"auths": {{"{}": {{"auth": "dXNlcjpzZWNyZXQ="}}}}}}"#,
        registry.address()
    );
    std::fs::write(directory.path().join("config.json"), text).unwrap();
    let path = directory.path().to_owned();
    let with = Engine::settled("busybox", move |settings| {
        settings.configuration = Some(path);
    });
    let engine = with.await.unwrap();
    engine
        .backend
        .prepare(&spec(&engine, &registry))
        .await
        .unwrap();
}
