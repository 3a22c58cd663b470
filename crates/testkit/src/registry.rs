//! A real registry of images on the loopback interface, behind a proxy that misbehaves on request.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Answer, Captured, FakeServer, missing};

/// Bytes of an image's one file, which no compression makes smaller.
const CONTENT: u64 = 200_000;

/// Debian's `docker-registry`, and the proxy before it.
pub struct Registry {
    process: Child,
    address: SocketAddr,
    proxy: FakeServer,
    directory: tempfile::TempDir,
}

impl Registry {
    /// With one image, `some/thing:1`; `fault` may answer in the registry's place.
    ///
    /// `None`, after saying so, where the program is not installed; a panic instead where `PATCHMILL_REQUIRE` names `registry`.
    pub fn start(
        fault: impl Fn(&Captured) -> Option<Answer> + Send + Sync + 'static,
    ) -> Option<Self> {
        if !is_installed() {
            return None;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = port.expect("a free port");
        let root = directory.path().join("data");
        let configuration = directory.path().join("config.yml");
        let text = format!(
            "version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: '{address}'}}\n",
            root.display()
        );
        std::fs::write(&configuration, text).expect("a file");
        let process = Command::new("docker-registry")
            .arg("serve")
            .arg(&configuration)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("docker-registry");
        wait_for(address);
        let proxy = FakeServer::start(move |request| {
            fault(request).unwrap_or_else(|| forward(address, request))
        });
        let registry = Self {
            process,
            address,
            proxy,
            directory,
        };
        registry.push("some/thing:1", CONTENT);
        Some(registry)
    }

    /// Where it listens, the proxy before it.
    pub fn address(&self) -> SocketAddr {
        self.proxy.address()
    }

    /// The whole name of an image in it.
    pub fn name(&self, image: &str) -> String {
        format!("{}/{image}", self.address())
    }

    /// The whole name of the image that it starts with.
    pub fn image(&self) -> String {
        self.name("some/thing:1")
    }

    /// The digest of an image in it, in the registry's own words.
    pub fn digest(&self, image: &str) -> String {
        let (name, tag) = image.rsplit_once(':').expect("a tag");
        let accept = "application/vnd.docker.distribution.manifest.v2+json";
        let request = format!(
            "HEAD /v2/{name}/manifests/{tag} HTTP/1.0\r\nhost: {}\r\naccept: {accept}\r\n\r\n",
            self.address
        );
        let head = String::from_utf8_lossy(&exchange(self.address, &request)).to_ascii_lowercase();
        let mut lines = head.lines();
        let digest = lines.find_map(|line| line.strip_prefix("docker-content-digest: "));
        digest.expect("a digest").to_owned()
    }

    /// Requests that it was sent.
    pub fn requests(&self) -> Vec<Captured> {
        self.proxy.requests()
    }

    /// How many times a part of an image was asked for.
    pub fn asked(&self, method: &str, part: &str) -> usize {
        let requests = self.requests();
        let of = |request: &&Captured| request.method == method && request.path.contains(part);
        requests.iter().filter(of).count()
    }

    /// Pushes an image of one file of so many bytes, that nobody has seen before, and forgets it.
    pub fn push(&self, image: &str, bytes: u64) {
        let name = format!("{}/{image}", self.address);
        let file = self.directory.path().join("file");
        let random = std::fs::File::open("/dev/urandom").expect("random bytes");
        let mut content = std::fs::File::create(&file).expect("a file");
        std::io::copy(&mut random.take(bytes), &mut content).expect("a file");
        let tar = self.directory.path().join("image.tar");
        let made = Command::new("tar")
            .arg("-C")
            .arg(self.directory.path())
            .arg("-cf")
            .arg(&tar)
            .arg("file")
            .status();
        assert!(made.expect("tar").success());
        let tar = tar.display().to_string();
        docker(&["import", &tar, &name]);
        docker(&["push", &name]);
        docker(&["rmi", &name]);
    }

    /// Pushes an image that this machine's engine has.
    pub fn push_copy(&self, from: &str, image: &str) {
        let name = format!("{}/{image}", self.address);
        docker(&["tag", from, &name]);
        docker(&["push", &name]);
        docker(&["rmi", &name]);
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

fn is_installed() -> bool {
    let found = Command::new("docker-registry").arg("--version").output();
    if found.is_ok_and(|output| output.status.success()) {
        return true;
    }
    missing("registry", "there is no program docker-registry");
    false
}

fn docker(arguments: &[&str]) {
    let output = Command::new("docker").args(arguments).output();
    let output = output.expect("docker");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "docker {arguments:?}: {said}");
}

fn wait_for(address: SocketAddr) {
    let start = Instant::now();
    while TcpStream::connect(address).is_err() {
        assert!(start.elapsed() < Duration::from_secs(20), "no registry");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// An answer that limits the rate of pulls, as public registries give it.
pub fn too_many_requests() -> Answer {
    let body = r#"{"errors":[{"code":"TOOMANYREQUESTS","message":"too many requests"}]}"#;
    Answer::new(429, &[("content-type", "application/json")], body)
}

/// What comes back for a request.
fn exchange(address: SocketAddr, request: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("the registry");
    stream.write_all(request.as_bytes()).expect("the registry");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("the registry");
    answer
}

fn forward(address: SocketAddr, request: &Captured) -> Answer {
    let mut head = format!("{} {} HTTP/1.0\r\n", request.method, request.path);
    for (name, value) in &request.headers {
        if name != "connection" && name != "accept-encoding" {
            for part in [name, ": ", value, "\r\n"] {
                head.push_str(part);
            }
        }
    }
    head.push_str("\r\n");
    // A body without a length ends with the connection.
    Answer::default().send(exchange(address, &head)).close()
}
