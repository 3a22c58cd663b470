//! A Docker engine of a test's own: it can be killed, stopped and started again, and nobody else notices.

use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::bridge::Bridge;
use super::missing;

/// How long an engine may take to start or to end on a busy machine.
const LIMIT: Duration = Duration::from_mins(2);
/// How often it is looked whether it has.
const LOOK: Duration = Duration::from_millis(50);

/// The file system that an engine keeps images and containers on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineDisk {
    /// So many bytes of memory.
    Memory(u64),
    /// A btrfs of so many bytes: the engine can limit each container's disk there.
    Limiting(u64),
}

/// What is special about an engine.
#[derive(Debug, Clone, Default)]
pub struct EngineOptions {
    /// `address:port` on which it listens too.
    pub tcp: Option<String>,
    /// Directory of ca.pem, cert.pem and key.pem, by which it is spoken to there.
    pub keys: Option<PathBuf>,
    /// A file system of its own for its storage; `None` is a directory on the disk.
    pub disk: Option<EngineDisk>,
    /// Whether its containers get a network: a bridge, which leads to this machine and no further.
    pub bridge: bool,
    /// More of its arguments.
    pub arguments: Vec<String>,
}

/// An engine with its own socket, storage and containerd. It has no images but those that are loaded, and no network unless that is asked for.
pub struct PrivateEngine {
    directory: TempDir,
    bridge: Option<Bridge>,
    driver: String,
    options: EngineOptions,
    process: Option<Child>,
}

impl PrivateEngine {
    /// Starts one, with the storage driver of this machine's own engine.
    ///
    /// `None`, after saying so, where this user may not; a panic instead where `PATCHMILL_REQUIRE` names `dockerd`. So for `bridge`,
    /// and for `btrfs`.
    pub fn start() -> Option<Self> {
        Self::start_with(EngineOptions::default())
    }

    /// The same with something special.
    pub fn start_with(options: EngineOptions) -> Option<Self> {
        let bridge = if options.bridge {
            match Bridge::new() {
                Ok(bridge) => Some(bridge),
                Err(problem) => {
                    missing("bridge", &problem);
                    return None;
                }
            }
        } else {
            None
        };
        let needed = match options.disk {
            Some(EngineDisk::Limiting(_)) => "btrfs",
            Some(EngineDisk::Memory(_)) | None => "dockerd",
        };
        match Self::try_start(options, bridge) {
            Ok(engine) => Some(engine),
            Err(problem) => {
                missing(needed, &problem);
                None
            }
        }
    }

    fn try_start(options: EngineOptions, bridge: Option<Bridge>) -> Result<Self, String> {
        let found = Command::new("dockerd").arg("--version").output();
        if !found.is_ok_and(|output| output.status.success()) {
            return Err(String::from("there is no program dockerd"));
        }
        let info = Command::new("docker")
            .args(["info", "--format", "{{.Driver}}"])
            .output()
            .map_err(|error| format!("there is no program docker: {error}"))?;
        let driver = match options.disk {
            Some(EngineDisk::Limiting(_)) => String::from("btrfs"),
            Some(EngineDisk::Memory(_)) | None => {
                String::from_utf8_lossy(&info.stdout).trim().to_owned()
            }
        };
        if !info.status.success() || driver.is_empty() {
            return Err(String::from(
                "no engine says which storage driver works here",
            ));
        }
        let directory = tempfile::Builder::new()
            .prefix("engine-")
            .tempdir()
            .map_err(|error| error.to_string())?;
        // Whether another user may use its socket is the socket's to say.
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(directory.path(), open).map_err(|error| error.to_string())?;
        // What is configured for this machine's engine is none of this one's business.
        fs::write(directory.path().join("daemon.json"), "{}").map_err(|error| error.to_string())?;
        match options.disk {
            Some(EngineDisk::Memory(bytes)) => {
                let size = format!("size={bytes}");
                mount(&["-t", "tmpfs", "-o", &size, "tmpfs"], &directory)?;
            }
            Some(EngineDisk::Limiting(bytes)) => mount_btrfs(&directory, bytes)?,
            None => {}
        }
        let mut engine = Self {
            directory,
            bridge,
            driver,
            options,
            process: None,
        };
        engine.launch()?;
        Ok(engine)
    }

    fn launch(&mut self) -> Result<(), String> {
        let at = |name: &str| self.directory.path().join(name).display().to_string();
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.directory.path().join("log"))
            .map_err(|error| error.to_string())?;
        let mut command = Command::new("dockerd");
        command
            .args(["--config-file", &at("daemon.json")])
            .args(["--data-root", &at("data"), "--exec-root", &at("exec")])
            .args(["--pidfile", &at("pid"), "--host", &self.host()])
            .args(["--storage-driver", &self.driver])
            .arg(format!(
                "--bridge={}",
                self.bridge.as_ref().map_or("none", Bridge::name)
            ))
            // Nothing of this machine's own network is changed.
            .args([
                "--iptables=false",
                "--ip6tables=false",
                "--ip-forward=false",
            ])
            .args(&self.options.arguments);
        // Where this machine's containerd is used after all, its names stay apart.
        let name = self.directory.path().file_name().unwrap_or_default();
        let namespace = name.to_string_lossy();
        command.args(["--containerd-namespace", &namespace]);
        command.args([
            "--containerd-plugins-namespace",
            &format!("{namespace}-plugins"),
        ]);
        if let Some(tcp) = &self.options.tcp {
            command.args(["--host", &format!("tcp://{tcp}")]);
        }
        if let Some(keys) = &self.options.keys {
            command.arg("--tlsverify");
            for (flag, name) in [("cacert", "ca"), ("cert", "cert"), ("key", "key")] {
                let path = keys.join(format!("{name}.pem"));
                command.arg(format!("--tls{flag}={}", path.display()));
            }
        }
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|error| format!("dockerd cannot be started: {error}"))?;
        self.process = Some(child);
        self.wait()
    }

    /// Waits until it answers.
    fn wait(&mut self) -> Result<(), String> {
        let started = Instant::now();
        loop {
            let output = self.command(&["version"]).output();
            if output.is_ok_and(|output| output.status.success()) {
                return Ok(());
            }
            let ended = self
                .process
                .as_mut()
                .and_then(|child| child.try_wait().ok().flatten());
            if let Some(status) = ended {
                self.process = None;
                return Err(format!("dockerd ended with {status}: {}", self.log()));
            }
            if started.elapsed() > LIMIT {
                return Err(format!("dockerd does not answer: {}", self.log()));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// The end of its log.
    fn log(&self) -> String {
        let text = fs::read(self.directory.path().join("log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join(" / ")
    }

    /// What `DOCKER_HOST` has to be.
    pub fn host(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("docker.sock")
    }

    /// This machine's address on the bridge that its containers are on.
    pub fn gateway(&self) -> Option<Ipv4Addr> {
        self.bridge.as_ref().map(Bridge::address)
    }

    /// Where it keeps images and containers.
    pub fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Loads an image of this machine's engine.
    pub fn load(&self, image: &str) {
        let mut save = Command::new("docker")
            .args(["save", image])
            .stdout(Stdio::piped())
            .spawn()
            .expect("docker save");
        let saved = save.stdout.take().expect("a pipe");
        let loaded = self
            .command(&["load"])
            .stdin(saved)
            .output()
            .expect("docker load");
        assert!(save.wait().expect("docker save").success() && loaded.status.success());
    }

    /// What the command line says that is spoken to this engine.
    pub fn docker(&self, arguments: &[&str]) -> String {
        let output: Output = self.command(arguments).output().expect("docker");
        assert!(
            output.status.success(),
            "docker {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// The same for what may fail; whether it did not.
    pub fn try_docker(&self, arguments: &[&str]) -> bool {
        let output = self.command(arguments).output();
        output.is_ok_and(|output| output.status.success())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("docker");
        command
            .args(arguments)
            .env("DOCKER_HOST", self.host())
            .env_remove("DOCKER_CONTEXT")
            .env_remove("DOCKER_TLS_VERIFY")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Kills it, as a crash would: what it ran is left alone until it starts again.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.process.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts it again after it was killed.
    pub fn start_again(&mut self) {
        let started = Instant::now();
        // Its containerd may still be on its way out, and then it does not start.
        while let Err(problem) = self.launch() {
            assert!(started.elapsed() < LIMIT, "{problem}");
        }
    }

    /// Stops it: it keeps its connections and answers nobody.
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        let child = self.process.as_ref().expect("it runs");
        signal(child.id(), name);
    }
}

impl Drop for PrivateEngine {
    fn drop(&mut self) {
        if let Some(child) = &mut self.process {
            signal(child.id(), "CONT");
            signal(child.id(), "TERM");
            let started = Instant::now();
            while matches!(child.try_wait(), Ok(None)) && started.elapsed() < LIMIT / 6 {
                std::thread::sleep(LOOK);
            }
        }
        self.kill();
        let directory = self.directory.path().to_owned();
        for pid in processes_of(&directory) {
            signal(pid, "KILL");
        }
        for mount in mounts_below(&directory) {
            let _ = Command::new("umount").arg("--lazy").arg(mount).output();
        }
    }
}

/// Mounts where the engine's storage will be.
fn mount(what: &[&str], directory: &TempDir) -> Result<(), String> {
    let at = directory.path().join("data");
    fs::create_dir_all(&at).map_err(|error| error.to_string())?;
    done(Command::new("mount").args(what).arg(at))
}

fn mount_btrfs(directory: &TempDir, bytes: u64) -> Result<(), String> {
    let path = directory.path().join("disk");
    let file = File::create(&path).and_then(|file| file.set_len(bytes));
    file.map_err(|error| error.to_string())?;
    done(Command::new("mkfs.btrfs").arg("--quiet").arg(&path))?;
    let path = path.display().to_string();
    mount(&["-t", "btrfs", "-o", "loop", &path], directory)
}

fn done(command: &mut Command) -> Result<(), String> {
    let output = command.output();
    let output = output.map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

fn signal(pid: u32, name: &str) {
    let _ = Command::new("kill")
        .args([&format!("-{name}"), &pid.to_string()])
        .output();
}

/// Processes that were started with a path in the directory, or as shims of its containerd.
fn processes_of(directory: &Path) -> Vec<u32> {
    let part = directory.display().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if pid != std::process::id() && String::from_utf8_lossy(&command).contains(&part) {
            found.push(pid);
        }
    }
    found
}

/// Mounts in the directory, the deepest first.
fn mounts_below(directory: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let points = text.lines().filter_map(|line| line.split(' ').nth(4));
    let mut found: Vec<_> = points
        .map(PathBuf::from)
        .filter(|point| point.starts_with(directory))
        .collect();
    found.sort();
    found.reverse();
    found
}
