//! Repositories, sandboxes and questions to them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sandbox::place::apptainer::{Apptainer, ApptainerSettings};
use sandbox::place::bubblewrap::Bubblewrap;
use sandbox::place::docker::{Docker, DockerSettings};
use sandbox::place::host::{HostSettings, KeepCommand};
use sandbox::place::local::Local;
use sandbox::place::{Backend, Labels, PlaceSpec};
use sandbox::repository::{self, Prepared};
use sandbox::{Captured, End, RunOptions, Sandbox, SandboxSpec};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::archived::Archived;

pub(crate) const TRIAL: &str = env!("CARGO_BIN_EXE_sandbox-trial");

/// Runs git in a directory with no configuration but its own, and returns what it printed.
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
    String::from_utf8(git_bytes(directory, arguments)).unwrap()
}

pub(crate) fn git_bytes(directory: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .envs(["AUTHOR", "COMMITTER"].iter().flat_map(|who| {
            [
                (format!("GIT_{who}_NAME"), "t"),
                (format!("GIT_{who}_EMAIL"), "t@example.invalid"),
                (format!("GIT_{who}_DATE"), "2024-01-01T00:00:00Z"),
            ]
        }))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// A small repository with two commits.
pub(crate) fn repository(directory: &Path) -> PathBuf {
    let path = directory.join("source");
    std::fs::create_dir_all(path.join("pkg")).unwrap();
    git(&path, &["init", "-q", "-b", "main"]);
    std::fs::write(path.join("README.md"), "# one\n").unwrap();
    commit(&path, "first");
    std::fs::write(path.join("pkg/a.py"), "def a():\n    return 1\n").unwrap();
    std::fs::write(path.join("run.sh"), "#!/bin/sh\necho run\n").unwrap();
    set_mode(&path.join("run.sh"), 0o755);
    std::fs::write(path.join(".gitignore"), "*.log\nbuild/\n").unwrap();
    commit(&path, "second");
    path
}

pub(crate) fn commit(path: &Path, message: &str) -> String {
    git(path, &["add", "-A"]);
    git(path, &["commit", "-q", "--allow-empty", "-m", message]);
    git(path, &["rev-parse", "HEAD"]).trim().to_owned()
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// A directory for everything that a test makes.
pub(crate) struct Ground {
    pub(crate) directory: TempDir,
    /// Containers that may still be there.
    started: Mutex<Vec<String>>,
}

/// A test that failed leaves nothing either.
impl Drop for Ground {
    fn drop(&mut self) {
        let started = std::mem::take(
            self.started
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner),
        );
        testkit::remove_containers(started);
    }
}

impl Ground {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            started: Mutex::default(),
        }
    }

    pub(crate) fn at(directory: &Path) -> Self {
        Self {
            directory: tempfile::tempdir_in(directory).unwrap(),
            started: Mutex::default(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Sees to it that a sandbox's container goes with the test.
    pub(crate) fn remember(&self, sandbox: &Sandbox) {
        if sandbox.applied().image.is_some() {
            self.remember_container(&sandbox.id().0);
        }
    }

    /// The same for a container.
    pub(crate) fn remember_container(&self, name: &str) {
        self.started.lock().unwrap().push(name.to_owned());
    }

    /// The workspace of a sandbox as it is now, on the host.
    pub(crate) fn workspace(&self, kind: BackendKind, sandbox: &Sandbox) -> PathBuf {
        let host = self.root().join("run-instance-s1-a1/workspace");
        match kind {
            BackendKind::Local | BackendKind::Bubblewrap | BackendKind::Archived => return host,
            BackendKind::Apptainer => return host.join("workspace"),
            BackendKind::Docker => {}
        }
        let target = self.path().join("workspace");
        let _ = Command::new("rm").arg("-rf").arg(&target).status();
        std::fs::create_dir(&target).unwrap();
        let copy = format!(
            "docker cp '{}:{}/.' - | tar -x -C '{}'",
            sandbox.id().0,
            sandbox.workdir(),
            target.display()
        );
        let status = Command::new("sh").args(["-c", &copy]).status();
        assert!(status.unwrap().success());
        target
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path().join("root")
    }

    pub(crate) fn settings(&self) -> HostSettings {
        HostSettings {
            keep: keep(),
            ..HostSettings::new(self.root())
        }
    }

    pub(crate) fn prepare(&self, source: &Path, base: Option<&str>) -> Arc<Prepared> {
        repository::prepare(source, base, &self.root()).unwrap()
    }

    pub(crate) fn local(&self) -> Arc<dyn Backend> {
        Arc::new(Local::new(self.settings()).unwrap())
    }

    /// A sandbox of the small repository.
    pub(crate) async fn start(&self, kind: BackendKind) -> Sandbox {
        let source = repository(self.path());
        self.start_from(kind, &source).await
    }

    pub(crate) async fn start_from(&self, kind: BackendKind, source: &Path) -> Sandbox {
        self.start_prepared(kind, self.prepare(source, None)).await
    }

    pub(crate) async fn start_prepared(
        &self,
        kind: BackendKind,
        prepared: Arc<Prepared>,
    ) -> Sandbox {
        let backend = kind.backend(self).await;
        let mut spec = spec(prepared);
        if kind == BackendKind::Docker {
            spec.place.image = testkit::docker_image("base").map(str::to_owned);
        }
        if kind == BackendKind::Apptainer {
            spec.place.image = Some(self.unpacked());
        }
        let sandbox = Sandbox::start(backend, spec, Duration::from_mins(1))
            .await
            .unwrap();
        self.remember(&sandbox);
        sandbox
    }
}

impl Ground {
    /// An unpacked image for Apptainer's stand-in.
    pub(crate) fn unpacked(&self) -> String {
        let path = self.path().join("unpacked");
        if !path.exists() {
            testkit::apptainer_image(&path);
        }
        path.to_str().unwrap().to_owned()
    }

    /// Settings of the backend for it.
    pub(crate) fn apptainer(&self) -> ApptainerSettings {
        ApptainerSettings {
            program: Some(testkit::apptainer(&self.path().join("standin"))),
            ..ApptainerSettings::new(self.settings())
        }
    }
}

pub(crate) fn keep() -> KeepCommand {
    KeepCommand {
        program: PathBuf::from(TRIAL),
        ..KeepCommand::default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BackendKind {
    Local,
    Bubblewrap,
    /// As `Local`, with its files behind archives.
    Archived,
    /// On a stand-in for the program.
    Apptainer,
    Docker,
}

impl BackendKind {
    pub(crate) async fn backend(self, ground: &Ground) -> Arc<dyn Backend> {
        match self {
            Self::Local => ground.local(),
            Self::Bubblewrap => Arc::new(Bubblewrap::probe(ground.settings()).await.unwrap()),
            Self::Archived => Arc::new(Archived {
                inner: ground.local(),
                image: None,
            }),
            Self::Apptainer => Arc::new(Apptainer::probe(ground.apptainer()).await.unwrap()),
            Self::Docker => {
                let settings = DockerSettings::new(ground.root());
                Arc::new(Docker::connect(settings).await.unwrap())
            }
        }
    }

    /// Both, or only `local` where bubblewrap does not work and nobody requires it.
    pub(crate) async fn available() -> Vec<Self> {
        if bubblewrap_works().await {
            vec![Self::Local, Self::Bubblewrap]
        } else {
            vec![Self::Local]
        }
    }
}

impl BackendKind {
    /// All that work here, and those that must.
    pub(crate) async fn all() -> Vec<Self> {
        let mut all = Self::available().await;
        if all.contains(&Self::Bubblewrap) {
            all.push(Self::Apptainer);
        }
        all.push(Self::Archived);
        if testkit::docker_image("base").is_some() {
            all.push(Self::Docker);
        }
        all
    }
}

/// Whether bubblewrap works; where it must and does not, the test fails.
pub(crate) async fn bubblewrap_works() -> bool {
    let ground = Ground::new();
    match Bubblewrap::probe(ground.settings()).await {
        Ok(_) => true,
        Err(error) => {
            testkit::missing("bwrap", &error.to_string());
            false
        }
    }
}

pub(crate) fn spec(repository: Arc<Prepared>) -> SandboxSpec {
    SandboxSpec {
        place: place_spec(),
        repository: repository::Origin::Host(repository),
        setup_commands: Vec::new(),
        setup_timeout: Duration::from_secs(10),
    }
}

pub(crate) fn place_spec() -> PlaceSpec {
    PlaceSpec::new(Labels::new("run", "instance", "s1-a1"))
}

pub(crate) async fn run(sandbox: &Sandbox, text: &str) -> Captured {
    run_for(sandbox, text, Duration::from_secs(20)).await
}

pub(crate) async fn run_for(sandbox: &Sandbox, text: &str, timeout: Duration) -> Captured {
    let options = RunOptions {
        timeout,
        ..RunOptions::default()
    };
    sandbox
        .run(text, &options, &CancellationToken::new())
        .await
        .unwrap()
}

/// Output and end of a command whose output fits into memory.
pub(crate) async fn ask(sandbox: &Sandbox, text: &str) -> (String, End) {
    let captured = run(sandbox, text).await;
    assert!(captured.is_whole());
    (
        String::from_utf8_lossy(&captured.head).into_owned(),
        captured.end,
    )
}

pub(crate) async fn remove(sandbox: &Sandbox) {
    sandbox.remove(Duration::from_secs(10)).await.unwrap();
}

/// Whether some process has exactly this command line, its words ended by NULs.
pub(crate) fn is_running(command: &str) -> bool {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| line.strip_suffix(b"\0").unwrap_or(&line) == command.as_bytes())
}

/// Waits, looking again and again, until something holds.
pub(crate) async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(5), "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A number of seconds that no other test sleeps.
pub(crate) fn unique_seconds() -> u64 {
    static COUNTER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    1_000_000 + u64::from(std::process::id()) * 100 + number
}
