//! A shell in a place of each kind.

use std::sync::Arc;
use std::time::Duration;

use sandbox::limits::Limit;
use sandbox::place::{Backend, Place};
use sandbox::{Captured, End, RunOptions, Shell};
use tokio_util::sync::CancellationToken;

use crate::docker_support::{Engine, LIMIT};
use crate::support::{BackendKind, Ground, is_running, place_spec};

/// A kind of place with the shell that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Host(BackendKind),
    /// A container of this image.
    Docker(&'static str),
}

/// Containers with bash and with nothing but busybox.
pub(crate) const CONTAINERS: [Kind; 2] = [Kind::Docker("base"), Kind::Docker("busybox")];

/// The base image without bash, which is made here.
const DASH: &str = "dash";
const DASH_IMAGE: &str = "patchmill-dash:1";

/// It stays, as the other images of tests do: built again, it costs nothing.
fn build_without_bash() {
    let ground = tempfile::tempdir().unwrap();
    let text = "FROM patchmill-base:bookworm\nRUN rm -f /bin/bash /bin/rbash\n";
    std::fs::write(ground.path().join("Dockerfile"), text).unwrap();
    let status = std::process::Command::new("docker")
        .args([
            "build",
            "-q",
            "--network=none",
            "--force-rm",
            "-t",
            DASH_IMAGE,
        ])
        .arg(ground.path())
        .stdout(std::process::Stdio::null())
        .status();
    assert!(status.unwrap().success());
}

/// All that work here.
pub(crate) async fn kinds() -> Vec<Kind> {
    let host = BackendKind::available().await.into_iter().map(Kind::Host);
    host.chain(CONTAINERS).chain([Kind::Docker(DASH)]).collect()
}

/// A place with an open shell. Fork bombs end at 128 processes, in containers only.
pub(crate) struct Subject {
    pub(crate) kind: Kind,
    pub(crate) shell: Shell,
    pub(crate) place: Arc<dyn Place>,
    home: Home,
    /// Processes inside a container when its shell is there.
    at_rest: u32,
}

enum Home {
    Host {
        backend: Arc<dyn Backend>,
        _ground: Ground,
    },
    Engine(Engine),
}

impl Subject {
    /// `None`, loudly, where the kind does not work and nobody requires it.
    pub(crate) async fn start(kind: Kind) -> Option<Self> {
        let (place, home) = match kind {
            Kind::Host(kind) => {
                let ground = Ground::new();
                let backend = kind.backend(&ground).await;
                let place = backend.start(&place_spec(), LIMIT).await.unwrap();
                (
                    place,
                    Home::Host {
                        backend,
                        _ground: ground,
                    },
                )
            }
            Kind::Docker(image) => {
                let engine = if image == DASH {
                    let mut engine = Engine::with("base").await?;
                    build_without_bash();
                    engine.image = DASH_IMAGE;
                    engine
                } else {
                    Engine::with(image).await?
                };
                let mut spec = engine.spec();
                // An engine that cannot limit them gets no bombs and no hogs.
                let limit = |value| {
                    Some(Limit {
                        value,
                        explicit: false,
                    })
                };
                spec.limits.pids = limit(128);
                spec.limits.memory = limit(512 << 20);
                let place = engine.start_as(&spec).await;
                (place, Home::Engine(engine))
            }
        };
        let shell = Shell::of(Arc::clone(&place));
        shell.open().await.unwrap();
        let mut subject = Self {
            kind,
            shell,
            place,
            home,
            at_rest: 0,
        };
        subject.at_rest = subject.count().await;
        Some(subject)
    }

    /// Whether what takes all that it can get takes it from its own place only.
    pub(crate) fn is_limited(&self) -> bool {
        let enforced = &self.place.applied().enforced;
        let limited = ["pids", "memory"]
            .iter()
            .all(|name| enforced.iter().any(|found| found == name));
        if !limited {
            testkit::missing("limits", &format!("the engine enforces {enforced:?} alone"));
        }
        limited
    }

    /// How many processes there are inside a container, 0 elsewhere.
    async fn count(&self) -> u32 {
        match self.kind {
            Kind::Host(_) => 0,
            Kind::Docker(_) => {
                let text = "n=0; for p in /proc/[0-9]*; do n=$((n+1)); done; echo $n";
                self.ask(text).await.0.trim().parse().unwrap()
            }
        }
    }

    /// Whether something runs that was started by a command: on the host a `sleep` of so many seconds, in a container anything, since busybox
    /// sleeps under the name of its shell.
    pub(crate) async fn sleeps(&self, seconds: u64) -> bool {
        match self.kind {
            Kind::Host(_) => is_running(&format!("sleep\0{seconds}")),
            Kind::Docker(_) => self.count().await > self.at_rest,
        }
    }

    pub(crate) async fn run(&self, text: &str) -> Captured {
        self.run_for(text, Duration::from_secs(20)).await
    }

    pub(crate) async fn run_for(&self, text: &str, timeout: Duration) -> Captured {
        let options = RunOptions {
            timeout,
            ..RunOptions::default()
        };
        self.run_with(text, &options).await
    }

    pub(crate) async fn run_with(&self, text: &str, options: &RunOptions) -> Captured {
        self.shell
            .run(text, options, &CancellationToken::new())
            .await
            .unwrap_or_else(|error| panic!("{:?} {text:?}: {error:?}", self.kind))
    }

    /// Output and end of a command whose output fits into memory.
    pub(crate) async fn ask(&self, text: &str) -> (String, End) {
        let captured = self.run(text).await;
        assert!(captured.is_whole());
        (
            String::from_utf8_lossy(&captured.head).into_owned(),
            captured.end,
        )
    }

    pub(crate) async fn remove(self) {
        self.shell.close().await;
        match &self.home {
            Home::Host { backend, .. } => backend.remove(self.place.id(), LIMIT).await.unwrap(),
            Home::Engine(engine) => engine.remove(&self.place).await,
        }
    }
}
