//! Where the engine is: as Docker's command line finds it.

use std::fmt;
use std::path::{Path, PathBuf};

use bollard::{API_DEFAULT_VERSION, Docker};

use super::connect::ProbeError;
use super::{context, credentials};

/// Where an engine usually listens.
const SOCKET: &str = "/var/run/docker.sock";
/// Seconds that any answer may take to begin; calls have their own, shorter deadlines.
const TIMEOUT: u64 = 120;
/// The files that make a client known to an engine, and the engine to it.
const KEYS: [&str; 3] = ["ca.pem", "cert.pem", "key.pem"];

/// Where an engine listens, and who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// `unix:///path` or `tcp://host:port`.
    pub(super) host: String,
    /// Directory of the keys, where it is spoken to by TLS.
    keys: Option<PathBuf>,
    pub(super) origin: Origin,
}

/// Who says where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// `DOCKER_HOST`.
    Variable,
    /// A context of Docker's command line.
    Context(String),
    /// Nobody: it is where engines usually are.
    Usual,
    /// Podman's own rules.
    Podman,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)?;
        match &self.origin {
            Origin::Variable => f.write_str(" (DOCKER_HOST)"),
            Origin::Context(name) => write!(f, " (context {name})"),
            Origin::Usual | Origin::Podman => Ok(()),
        }
    }
}

impl Address {
    /// The engine at `DOCKER_HOST`, of the context that is named or current, or at the usual socket; Podman's, which speaks the same language,
    /// where there is no other.
    pub(super) fn find() -> Result<Self, ProbeError> {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        if let Some(host) = set("DOCKER_HOST") {
            let verified = set("DOCKER_TLS_VERIFY").is_some() && !host.starts_with("unix://");
            let keys = set("DOCKER_CERT_PATH").map(PathBuf::from);
            let keys = keys.or_else(credentials::directory);
            return Ok(Self {
                keys: keys.filter(|_| verified || host.starts_with("https://")),
                host,
                origin: Origin::Variable,
            });
        }
        let found = context::current(set("DOCKER_CONTEXT")).map_err(ProbeError::Context)?;
        if let Some(context) = found {
            return Ok(Self {
                host: context.host,
                keys: context.keys,
                origin: Origin::Context(context.name),
            });
        }
        let user = rustix::process::getuid().as_raw();
        let podman = [
            set("XDG_RUNTIME_DIR").map(|directory| format!("{directory}/podman/podman.sock")),
            Some(format!("/run/user/{user}/podman/podman.sock")),
            Some(String::from("/run/podman/podman.sock")),
        ];
        let usual = std::iter::once(SOCKET.to_owned()).chain(podman.into_iter().flatten());
        let socket = usual.into_iter().find(|path| Path::new(path).exists());
        Ok(Self {
            host: format!("unix://{}", socket.as_deref().unwrap_or(SOCKET)),
            keys: None,
            origin: Origin::Usual,
        })
    }

    /// Where Podman's service listens.
    pub(super) fn of_podman(host: String) -> Self {
        Self {
            host,
            keys: None,
            origin: Origin::Podman,
        }
    }

    /// What people know the engine by.
    pub(super) fn engine(&self) -> String {
        match self.origin {
            Origin::Variable | Origin::Context(_) | Origin::Usual => {
                format!("the Docker engine at {self}")
            }
            Origin::Podman => format!("Podman's service at {self}"),
        }
    }

    /// Whether it is a socket of this machine.
    pub(super) fn is_local(&self) -> bool {
        self.host.starts_with("unix://")
    }

    /// Whether it is spoken to by TLS.
    pub(super) fn is_secure(&self) -> bool {
        self.keys.is_some()
    }

    /// A client for it, which has not asked anything yet.
    pub(super) fn client(&self) -> Result<Docker, ProbeError> {
        let known = ["unix://", "tcp://", "http://", "https://"];
        if !known.iter().any(|scheme| self.host.starts_with(scheme)) {
            return Err(ProbeError::Scheme(self.to_string()));
        }
        let client = match &self.keys {
            Some(keys) => {
                for name in KEYS {
                    readable(&keys.join(name))?;
                }
                Docker::connect_with_ssl(
                    &self.host,
                    &keys.join("key.pem"),
                    &keys.join("cert.pem"),
                    &keys.join("ca.pem"),
                    TIMEOUT,
                    API_DEFAULT_VERSION,
                )
            }
            None if self.is_local() => {
                let socket = self.host.trim_start_matches("unix://");
                if let Err(error) = std::fs::metadata(socket) {
                    return Err(ProbeError::failed(self, &error.into()));
                }
                Docker::connect_with_unix(&self.host, TIMEOUT, API_DEFAULT_VERSION)
            }
            None => Docker::connect_with_http(&self.host, TIMEOUT, API_DEFAULT_VERSION),
        };
        client.map_err(|source| ProbeError::Address {
            address: self.to_string(),
            source,
        })
    }
}

/// The client itself takes keys that it cannot read for none.
fn readable(path: &Path) -> Result<(), ProbeError> {
    let keys = |problem: String| ProbeError::Keys {
        path: path.to_owned(),
        problem,
    };
    match std::fs::read(path) {
        Err(error) => Err(keys(error.to_string())),
        Ok(text) if !text.windows(11).any(|part| part == b"-----BEGIN ") => {
            Err(keys(String::from("it holds nothing in PEM form")))
        }
        Ok(_) => Ok(()),
    }
}
