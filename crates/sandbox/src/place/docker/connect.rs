//! Asking the engine what it is, and what can be done when it cannot be asked.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bollard::Docker;
use bollard::errors::Error as Answer;
use bollard::models::SystemInfo;
use tokio::time::timeout;

use super::address::{Address, Origin};
use super::context::ContextError;
use super::labels;
use crate::error::Error;

/// How long an engine may take to answer.
const ANSWER: Duration = Duration::from_secs(2);
/// How long it may take when a run depends on it: it may be busy.
const PATIENCE: Duration = Duration::from_secs(20);

/// What an engine says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineInfo {
    /// Version of the engine.
    pub version: String,
    /// Version of its API.
    pub api_version: String,
    /// Version of control groups that it uses, where it says.
    pub cgroup_version: Option<String>,
    /// Storage driver, where it says.
    pub storage_driver: Option<String>,
}

/// Why no engine can be used.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The address of the engine makes no sense.
    #[error("the address of the Docker engine, {address}, cannot be used")]
    Address {
        /// The address.
        address: String,
        /// Cause.
        #[source]
        source: Answer,
    },
    /// Nothing here speaks in that way.
    #[error("the address of the Docker engine, {0}, is of no kind that is spoken here")]
    Scheme(String),
    /// A certificate or key is missing or broken.
    #[error("the Docker engine cannot be spoken to by TLS: `{}`: {problem}", path.display())]
    Keys {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The configuration of Docker's command line names a context that cannot be used.
    #[error("the Docker context cannot be used")]
    Context(#[source] ContextError),
    /// The engine did not answer in time.
    #[error("the Docker engine at {address} does not answer within {} s", limit.as_secs())]
    Silent {
        /// Where it should be.
        address: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// It cannot be reached, or answered something else.
    #[error("the Docker engine at {address} cannot be asked: {problem}")]
    Failed {
        /// Where it should be.
        address: String,
        /// What happened.
        problem: String,
        /// What the user can do.
        hint: &'static str,
    },
}

impl ProbeError {
    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Address { .. } => {
                "set DOCKER_HOST to unix:///path/to/socket or tcp://host:port, or unset it"
            }
            Self::Scheme(_) => {
                "set DOCKER_HOST to unix:///path/to/socket or tcp://host:port; for ssh://host forward its socket with `ssh -L /tmp/docker.sock:/var/run/docker.sock host` and name that"
            }
            Self::Keys { .. } => {
                "put ca.pem, cert.pem and key.pem into the directory that DOCKER_CERT_PATH names, or unset DOCKER_TLS_VERIFY where the engine speaks no TLS"
            }
            Self::Context(_) => "see `docker context ls`, or set DOCKER_HOST",
            Self::Silent { .. } => {
                "see whether `docker version` answers, and restart the engine if it does not"
            }
            Self::Failed { hint, .. } => hint,
        }
    }

    pub(super) fn failed(address: &Address, error: &Answer) -> Self {
        let (problem, hint) = explained(address, error);
        Self::Failed {
            address: address.to_string(),
            problem,
            hint,
        }
    }
}

impl ProbeError {
    /// The same as a failure of the backend.
    pub(super) fn failure(self) -> Error {
        let source = match &self {
            Self::Address { source, .. } => Some(source.to_string().into()),
            Self::Context(source) => Some(source.to_string().into()),
            Self::Scheme(_) | Self::Keys { .. } | Self::Silent { .. } | Self::Failed { .. } => None,
        };
        Error::Engine {
            problem: self.to_string(),
            hint: self.hint().to_owned(),
            source,
        }
    }
}

/// What is wrong in plain words, and what can be done. The client's own words are about its parts.
fn explained(address: &Address, error: &Answer) -> (String, &'static str) {
    const START: &str =
        "start the engine (`systemctl start docker`), or set DOCKER_HOST to where one listens";
    const GROUP: &str = "let this user reach the socket: `sudo usermod -aG docker $USER`, then log in again; or use an engine of your own without root, or Podman's";
    const LISTEN: &str = "see that the name and the port are right, that the engine listens there (`dockerd --host tcp://…`), and that no firewall is between";
    const CONTEXT: &str = "see `docker context ls`, or name another engine with DOCKER_HOST";
    const TLS: &str = "set DOCKER_TLS_VERIFY=1, and DOCKER_CERT_PATH to the directory of ca.pem, cert.pem and key.pem";
    const NO_TLS: &str = "unset DOCKER_TLS_VERIFY, or name the port on which the engine speaks TLS";
    const TRUST: &str = "see that ca.pem is the authority that signed the engine's certificate, and that the certificate names this host";
    const KNOWN: &str = "see that cert.pem and key.pem belong together and are signed by the authority that the engine trusts (`dockerd --tlscacert`)";
    let words = causes(error);
    let has = |part: &str| words.contains(part);
    let start = match (&address.origin, address.is_local()) {
        (Origin::Context(_), _) => CONTEXT,
        (Origin::Variable | Origin::Usual | Origin::Podman, true) => START,
        (Origin::Variable | Origin::Usual | Origin::Podman, false) => LISTEN,
    };
    match io_kind(error) {
        Some(io::ErrorKind::PermissionDenied) => {
            return (String::from("this user may not use its socket"), GROUP);
        }
        Some(io::ErrorKind::NotFound) if address.is_local() => {
            return (String::from("there is no such socket"), start);
        }
        Some(io::ErrorKind::ConnectionRefused) => {
            return (String::from("nothing listens there"), start);
        }
        _ => {}
    }
    if has("dns error") {
        (String::from("its name leads to no address"), start)
    } else if !address.is_secure() && has("HTTP request to an HTTPS server") {
        (String::from("it speaks TLS alone"), TLS)
    } else if has("InvalidContentType") {
        (String::from("it does not speak TLS"), NO_TLS)
    } else if has("invalid peer certificate") {
        (last(&words), TRUST)
    } else if has("received fatal alert") {
        (
            format!(
                "it does not take this client's certificate: {}",
                last(&words)
            ),
            KNOWN,
        )
    } else {
        (words, start)
    }
}

fn last(words: &str) -> String {
    let part = ["invalid peer certificate", "received fatal alert"];
    let at = part.iter().find_map(|part| words.find(part));
    words[at.unwrap_or_default()..].to_owned()
}

/// An error with its causes, as one line, nothing twice.
fn causes(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(one) = cause {
        let text = one.to_string();
        if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
        cause = one.source();
    }
    line
}

fn io_kind(error: &Answer) -> Option<io::ErrorKind> {
    if let Answer::IOError { err } = error {
        return Some(err.kind());
    }
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(one) = cause {
        if let Some(io) = one.downcast_ref::<io::Error>() {
            // TLS wraps its errors into such of no kind.
            return Some(io.kind());
        }
        cause = one.source();
    }
    None
}

/// Asks the engine that Docker's command line would ask: at `DOCKER_HOST`, of the current context, or at the usual socket.
///
/// # Errors
/// When there is none, or it does not answer within 2 s.
pub async fn probe() -> Result<EngineInfo, ProbeError> {
    let address = Address::find()?;
    let docker = address.client()?;
    let ask = async {
        let version = docker.version().await?;
        let info = docker.info().await?;
        Ok(EngineInfo {
            version: version.version.unwrap_or_default(),
            api_version: version.api_version.unwrap_or_default(),
            cgroup_version: info.cgroup_version.map(|version| version.to_string()),
            storage_driver: info.driver,
        })
    };
    within(ANSWER, &address, ask).await
}

/// Connects to the same engine, with what it says of itself.
pub(super) async fn ask() -> Result<(Docker, Address, SystemInfo), ProbeError> {
    let address = Address::find()?;
    let docker = address.client()?;
    let info = within(PATIENCE, &address, docker.info()).await?;
    Ok((docker, address, info))
}

async fn within<T>(
    limit: Duration,
    address: &Address,
    ask: impl Future<Output = Result<T, Answer>>,
) -> Result<T, ProbeError> {
    match timeout(limit, ask).await {
        Err(_) => Err(ProbeError::Silent {
            address: address.to_string(),
            limit,
        }),
        Ok(answer) => answer.map_err(|error| ProbeError::failed(address, &error)),
    }
}

/// Directory of this machine where the engine keeps images and containers; `None` where it may run elsewhere, or this user cannot see it.
pub(super) fn storage(address: &Address, info: &SystemInfo) -> Option<PathBuf> {
    let root = PathBuf::from(info.docker_root_dir.as_ref()?);
    // A socket may lead to another machine.
    let here = info.name.as_deref() == Some(labels::host().as_str());
    (address.is_local() && here && root.is_absolute() && root.is_dir()).then_some(root)
}
