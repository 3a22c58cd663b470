//! Pulls from a real registry on the loopback interface, behind a proxy that misbehaves on request.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use sandbox::Error;
use sandbox::place::docker::{DockerSettings, Pull};
use sandbox::place::{Backend, PlaceSpec};
use testkit::{Answer, Captured, FakeServer};

use crate::docker_support::{Engine, docker};

/// Whether Debian's registry is installed; where it must be and is not, the test fails.
fn registry_works() -> bool {
    let found = Command::new("docker-registry").arg("--version").output();
    if found.is_ok_and(|output| output.status.success()) {
        return true;
    }
    let required = std::env::var("PATCHMILL_REQUIRE").unwrap_or_default();
    assert!(
        !required.split(',').any(|name| name.trim() == "registry"),
        "the program docker-registry is required"
    );
    eprintln!("SKIPPED for pulls: there is no program docker-registry");
    false
}

/// A registry with one image that no engine has, and the proxy before it.
struct Registry {
    process: Child,
    proxy: FakeServer,
    _directory: tempfile::TempDir,
}

impl Registry {
    /// `fault` may answer in the registry's place.
    fn start(fault: impl Fn(&Captured) -> Option<Answer> + Send + Sync + 'static) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
        let address = port.unwrap();
        let root = directory.path().join("data");
        let configuration = directory.path().join("config.yml");
        let text = format!(
            "version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: '{address}'}}\n",
            root.display()
        );
        std::fs::write(&configuration, text).unwrap();
        let process = Command::new("docker-registry")
            .arg("serve")
            .arg(&configuration)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for(address);
        push(address, directory.path());
        let proxy = FakeServer::start(move |request| {
            fault(request).unwrap_or_else(|| forward(address, request))
        });
        Self {
            process,
            proxy,
            _directory: directory,
        }
    }

    fn image(&self) -> String {
        format!("{}/some/thing:1", self.proxy.address())
    }

    /// How many times a part of the image was asked for.
    fn asked(&self, method: &str, part: &str) -> usize {
        let requests = self.proxy.requests();
        let of = |request: &&Captured| request.method == method && request.path.contains(part);
        requests.iter().filter(of).count()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = Command::new("docker")
            .args(["rmi", "--force", &self.image()])
            .output();
    }
}

fn wait_for(address: SocketAddr) {
    let start = std::time::Instant::now();
    while TcpStream::connect(address).is_err() {
        assert!(start.elapsed() < Duration::from_secs(20), "no registry");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Pushes an image of one file that nobody has seen before, and forgets it.
fn push(address: SocketAddr, directory: &Path) {
    let content: Vec<u8> = (0..200_000).map(|_| fastrand::u8(..)).collect();
    std::fs::write(directory.join("file"), content).unwrap();
    let tar = directory.join("image.tar");
    let made = Command::new("tar")
        .arg("-C")
        .arg(directory)
        .arg("-cf")
        .arg(&tar)
        .arg("file")
        .status();
    assert!(made.unwrap().success());
    let name = format!("{address}/some/thing:1");
    docker(&["import", tar.to_str().unwrap(), &name]);
    docker(&["push", &name]);
    docker(&["rmi", &name]);
}

fn forward(address: SocketAddr, request: &Captured) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut head = format!("{} {} HTTP/1.0\r\n", request.method, request.path);
    for (name, value) in &request.headers {
        if name != "connection" && name != "accept-encoding" {
            for part in [name, ": ", value, "\r\n"] {
                head.push_str(part);
            }
        }
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    // A body without a length ends with the connection.
    Answer::default().send(answer).close()
}

async fn engine(change: impl FnOnce(&mut DockerSettings)) -> Option<Engine> {
    if !registry_works() {
        return None;
    }
    Engine::settled("busybox", change).await
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
    let Some(engine) = engine(|_| {}).await else {
        return;
    };
    let registry = Registry::start(|_| None);
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
        let body = r#"{"errors":[{"code":"TOOMANYREQUESTS","message":"too many requests"}]}"#;
        busy.then(|| Answer::new(429, &[("content-type", "application/json")], body))
    });
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
    engine
        .backend
        .prepare(&spec(&engine, &registry))
        .await
        .unwrap();
}

#[tokio::test]
async fn what_no_waiting_changes_is_told_at_once_with_the_registrys_words() {
    let Some(engine) = engine(|settings| settings.pull = Pull::Always).await else {
        return;
    };
    let registry = Registry::start(|_| None);
    let mut wrong = spec(&engine, &registry);
    wrong.image = Some(format!("{}/some/thing:2", registry.proxy.address()));
    let error = engine.backend.prepare(&wrong).await.unwrap_err();
    assert!(error.to_string().contains("manifest unknown"), "{error}");
    assert!(error.hint().unwrap().contains("name is right"));
    // Nor is it asked for a second time.
    let asked = registry.proxy.requests().len();
    engine.backend.prepare(&wrong).await.unwrap_err();
    assert_eq!(registry.proxy.requests().len(), asked);
}

#[tokio::test]
async fn an_image_for_another_platform_is_refused() {
    let Some(engine) = engine(|settings| settings.platform = Some("linux/s390x".into())).await
    else {
        return;
    };
    let registry = Registry::start(|_| None);
    let (problem, _) = problem(&engine, &registry).await;
    assert!(problem.ends_with("not for linux/s390x"), "{problem}");
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
    let registry = Registry::start(closed);
    let (problem, hint) = problem(&engine, &registry).await;
    assert!(
        problem.contains("no basic auth credentials")
            || problem.contains("authentication required"),
        "{problem}"
    );
    assert!(hint.contains("docker login"), "{hint}");
    let text = format!(
        r#"{{"auths": {{"{}": {{"auth": "dXNlcjpzZWNyZXQ="}}}}}}"#,
        registry.proxy.address()
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
