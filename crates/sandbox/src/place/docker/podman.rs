//! Where Podman's answers differ from those that Docker's API lays down.
//!
//! All of it was seen on Podman 4.3.1, without root's rights, with control groups of version 1. What else differs needs no code of ours:
//! attaching to a created container already makes it, so an image without a shell is refused there and not at the start; an archive that is put
//! into a directory that does not exist makes that directory; images without a registry in their name are found as `localhost/name`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bollard::errors::Error as Answer;
use bollard::models::{ContainerSummary, SystemInfo, SystemVersion};
use bollard::query_parameters::ListContainersOptions;
use bollard::{API_DEFAULT_VERSION, Docker};
use tokio::time::sleep;

use super::address::Address;
use super::call::{self, Failure};
use super::labels;
use crate::error::Error;

/// How long an engine that has answered may take to say whose it is.
const ANSWER: Duration = Duration::from_secs(20);
/// What Podman calls itself among its parts.
const NAME: &str = "Podman Engine";

/// Where Podman keeps its storage when it runs as root.
const OF_ROOT: &str = "/var/lib/containers";
/// What newer versions list among the engine's security options.
const ROOTLESS: &str = "name=rootless";

/// Whether an error (Podman's are all 500) means that a container does not run, where Docker answers 409.
pub(super) fn says_not_running(message: &str) -> bool {
    message.contains("container state improper")
}

/// Whether it means that the name of an image is none, where Docker answers 400.
pub(super) fn says_bad_name(message: &str) -> bool {
    message.contains("invalid reference format")
}

/// Whether it means that there is no such container, beside the 404 that a missing file has too.
pub(super) fn says_no_container(message: &str) -> bool {
    message.contains("no container with name or ID")
}

/// Seconds that any answer may take to begin; calls have their own, shorter deadlines.
const TIMEOUT: u64 = 120;
/// Where root's Podman listens.
const SOCKET: &str = "/run/podman/podman.sock";

/// The address of Podman's service: `CONTAINER_HOST`, as its own command line has it, else this user's socket, else root's.
pub(super) fn address() -> String {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(host) = set("CONTAINER_HOST") {
        return host;
    }
    let user = rustix::process::getuid().as_raw();
    let own = set("XDG_RUNTIME_DIR").unwrap_or_else(|| format!("/run/user/{user}"));
    let own = format!("{own}/podman/podman.sock");
    if !Path::new(&own).exists() && Path::new(SOCKET).exists() {
        return format!("unix://{SOCKET}");
    }
    format!("unix://{own}")
}

/// Connects to Podman's service, with what it says of itself.
///
/// # Errors
/// `Unsupported` when none answers, or what answers is something else.
pub(super) async fn ask() -> Result<(Docker, Address, SystemInfo), Error> {
    let address = address();
    let cannot = |problem: String| Error::Unsupported {
        message: format!(
            "no Podman service can be used at {address}: {problem} (start one with `systemctl --user start podman.socket` or `podman system service --time=0`, or set CONTAINER_HOST to its socket)"
        ),
    };
    let engine = if address.starts_with("unix://") {
        Docker::connect_with_unix(&address, TIMEOUT, API_DEFAULT_VERSION)
    } else {
        Docker::connect_with_host(&address)
    };
    let engine = engine.map_err(|error| cannot(error.to_string()))?;
    let asked = async {
        let version = call::within(ANSWER, engine.version()).await?;
        Ok((version, call::within(ANSWER, engine.info()).await?))
    };
    let (version, info) = asked
        .await
        .map_err(|failure: Failure| cannot(failure.to_string()))?;
    if is_podman(&version) {
        Ok((engine, Address::of_podman(address), info))
    } else {
        Err(cannot(String::from(
            "the engine that answers is not Podman",
        )))
    }
}

/// Directory of this machine where it keeps images and containers; `None` where this user cannot see it.
pub(super) fn storage(info: &SystemInfo) -> Option<PathBuf> {
    let root = PathBuf::from(info.docker_root_dir.as_ref()?);
    let here = info.name.as_deref() == Some(labels::host().as_str());
    (address().starts_with("unix://") && here && root.is_dir()).then_some(root)
}

/// A state that Docker does not have, as an error about it names it, and how long after it the list is asked for again.
const STOPPED: &str = "`stopped`";
const LATER: Duration = Duration::from_millis(100);

/// The engine's containers. One whose process has just ended is in a state of Podman's own for a moment, in which the whole list cannot be read: it is asked for
/// until that is over. The caller sets the deadline.
pub(super) async fn containers(
    engine: &Docker,
    options: &ListContainersOptions,
) -> Result<Vec<ContainerSummary>, Answer> {
    loop {
        match engine.list_containers(Some(options.clone())).await {
            Err(Answer::JsonDataError { message, .. }) if message.contains(STOPPED) => {
                sleep(LATER).await;
            }
            listed => return listed,
        }
    }
}

/// The version of Podman's service, where one answers; else why none does, in a line.
///
/// # Errors
/// When none answers.
pub async fn probe_podman() -> Result<String, Error> {
    let (engine, _, info) = ask().await?;
    let version = info.server_version.unwrap_or_default();
    drop(engine);
    Ok(version)
}

/// Whether an engine is Podman.
pub(super) fn is_podman(version: &SystemVersion) -> bool {
    let parts = version.components.iter().flatten();
    parts.into_iter().any(|part| part.name == NAME)
}

/// What an engine cannot do; nothing where it is Docker's own.
pub(super) async fn shortcomings(
    engine: &Docker,
    info: &SystemInfo,
) -> Result<Option<Shortcomings>, Failure> {
    let version = call::within(ANSWER, engine.version()).await?;
    Ok(is_podman(&version).then(|| Shortcomings::of(info)))
}

/// What Podman cannot limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Shortcomings {
    /// Memory, processors and processes: it takes such limits and forgets them, without a word in its answer.
    pub(super) groups: bool,
    /// The size of files and all else that `ulimit` knows: the compatible API drops it.
    pub(super) bounds: bool,
}

impl Shortcomings {
    /// Of an engine that is Podman, by what it says of itself. Without root's rights control groups of version 1 belong to root alone.
    pub(super) fn of(info: &SystemInfo) -> Self {
        let options = info.security_options.iter().flatten();
        let mut rootless = options.filter(|option| *option == ROOTLESS);
        let storage = info.docker_root_dir.as_deref().unwrap_or_default();
        let of_root = rootless.next().is_none() && storage.starts_with(OF_ROOT);
        let version = info.cgroup_version.map(|version| version.to_string());
        Self {
            groups: !of_root && version.as_deref() != Some("2"),
            bounds: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use bollard::models::SystemInfoCgroupVersionEnum as Groups;

    use super::*;

    fn info(storage: &str, groups: Groups) -> SystemInfo {
        SystemInfo {
            docker_root_dir: Some(storage.to_owned()),
            cgroup_version: Some(groups),
            security_options: Some(vec![String::from("name=seccomp,profile=default")]),
            ..SystemInfo::default()
        }
    }

    #[test]
    fn without_roots_rights_groups_of_version_one_limit_nothing() {
        let own = "/home/somebody/.local/share/containers/storage";
        let root = "/var/lib/containers/storage";
        assert!(Shortcomings::of(&info(own, Groups::_1)).groups);
        assert!(!Shortcomings::of(&info(own, Groups::_2)).groups);
        assert!(!Shortcomings::of(&info(root, Groups::_1)).groups);
        let mut newer = info(root, Groups::_1);
        newer.security_options = Some(vec![ROOTLESS.to_owned()]);
        assert!(Shortcomings::of(&newer).groups);
    }
}
