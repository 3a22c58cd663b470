//! Finding the engine, and asking what it is.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bollard::models::SystemInfo;
use bollard::{API_DEFAULT_VERSION, Docker};
use tokio::time::timeout;

use super::context::{self, ContextError};
use super::labels;

/// How long an engine may take to answer.
const ANSWER: Duration = Duration::from_secs(2);
/// How long it may take when a run depends on it: it may be busy.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where an engine usually listens.
const SOCKET: &str = "/var/run/docker.sock";
/// Seconds that any answer may take to begin; calls have their own, shorter deadlines.
const TIMEOUT: u64 = 120;

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
    #[error("the address of the Docker engine cannot be used")]
    Address(#[source] bollard::errors::Error),
    /// The configuration of Docker's command line names a context that cannot be used.
    #[error("the Docker context cannot be used")]
    Context(#[source] ContextError),
    /// The engine did not answer in time.
    #[error("the Docker engine does not answer within {} s", ANSWER.as_secs())]
    Silent,
    /// It cannot be reached, or answered something else.
    #[error("the Docker engine cannot be asked")]
    Failed(#[source] bollard::errors::Error),
}

impl ProbeError {
    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Address(_) => {
                "set DOCKER_HOST to unix:///path/to/socket or tcp://host:port, or unset it"
            }
            Self::Context(_) => "see `docker context ls`, or set DOCKER_HOST",
            Self::Silent => {
                "see whether `docker version` answers, and restart the engine if it does not"
            }
            Self::Failed(_) => {
                "start the engine (`systemctl start docker`), and let this user reach its socket (group `docker`)"
            }
        }
    }
}

/// Asks the engine that Docker's command line would ask: at `DOCKER_HOST`, of the current context, or at the usual socket.
///
/// # Errors
/// When there is none, or it does not answer within 2 s.
pub async fn probe() -> Result<EngineInfo, ProbeError> {
    let docker = client()?;
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
    match timeout(ANSWER, ask).await {
        Err(_) => Err(ProbeError::Silent),
        Ok(answer) => answer.map_err(ProbeError::Failed),
    }
}

/// A client for that engine.
fn client() -> Result<Docker, ProbeError> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(host) = set("DOCKER_HOST") {
        return Docker::connect_with_host(&host).map_err(ProbeError::Address);
    }
    let found = context::current(set("DOCKER_CONTEXT")).map_err(ProbeError::Context)?;
    let client = match found {
        Some(context) => match context.keys {
            Some(keys) => Docker::connect_with_ssl(
                &context.host,
                &keys.join("key.pem"),
                &keys.join("cert.pem"),
                &keys.join("ca.pem"),
                TIMEOUT,
                API_DEFAULT_VERSION,
            ),
            None => Docker::connect_with_host(&context.host),
        },
        None if Path::new(SOCKET).exists() => Docker::connect_with_unix_defaults(),
        // Podman's socket speaks the same language.
        None => Docker::connect_with_podman_defaults(),
    };
    client.map_err(ProbeError::Address)
}

/// Connects to the same engine, with what it says of itself.
pub(super) async fn ask() -> Result<(Docker, SystemInfo), ProbeError> {
    let docker = client()?;
    match timeout(PATIENCE, docker.info()).await {
        Err(_) => Err(ProbeError::Silent),
        Ok(answer) => Ok((docker, answer.map_err(ProbeError::Failed)?)),
    }
}

/// Directory of this machine where the engine keeps images and containers; `None` where it may run elsewhere, or this user cannot see it.
pub(super) fn storage(info: &SystemInfo) -> Option<PathBuf> {
    let local = std::env::var("DOCKER_HOST").is_ok_and(|host| host.starts_with("unix://"))
        || std::env::var_os("DOCKER_HOST").is_none();
    let root = PathBuf::from(info.docker_root_dir.as_ref()?);
    // A context may lead to another machine.
    let here = info.name.as_deref() == Some(labels::host().as_str());
    (local && here && root.is_absolute() && root.is_dir()).then_some(root)
}

/// An error with its causes, as one line.
pub(super) fn chain(error: &ProbeError) -> String {
    let mut line = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(one) = cause {
        line = format!("{line}: {one}");
        cause = one.source();
    }
    format!("{line} ({})", error.hint())
}
