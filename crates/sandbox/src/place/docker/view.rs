//! A container's files as this machine sees them, where its engine runs here too and keeps them in a directory that this user may enter: each archive costs
//! an engine a process that takes longer to start than the files to read.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use bollard::Docker;
use bollard::models::ContainerInspectResponse;
use bollard::query_parameters::InspectContainerOptions;
use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::call;

/// How long the engine may take to say where they are.
const ANSWER: Duration = Duration::from_secs(5);
/// What the engine calls the directory in which a container's layers are one.
const MERGED: &str = "MergedDir";

/// Opens a directory of a running container. What leads out of its files on the way there is taken as it is meant inside.
pub(super) async fn open(docker: &Docker, container: &str, at: &str) -> Option<OwnedFd> {
    let ask = docker.inspect_container(container, None::<InspectContainerOptions>);
    let found = call::within(ANSWER, ask).await.ok()?;
    let root = root(&found, at)?;
    tokio::task::spawn_blocking({
        let at = at.trim_start_matches('/').to_owned();
        move || enter(&root, &at)
    })
    .await
    .ok()?
}

/// The directory of the layers, where they alone are what stands at a path.
fn root(container: &ContainerInspectResponse, at: &str) -> Option<String> {
    let running = container.state.as_ref()?.running?;
    let mounts = container.mounts.as_deref().unwrap_or_default();
    let temporary = container
        .host_config
        .as_ref()
        .and_then(|host| host.tmpfs.as_ref());
    let mut covers = mounts
        .iter()
        .filter_map(|mount| mount.destination.as_deref())
        .chain(
            temporary
                .into_iter()
                .flatten()
                .map(|(path, _)| path.as_str()),
        );
    if !running || covers.any(|covered| is_within(at, covered) || is_within(covered, at)) {
        return None;
    }
    container.graph_driver.as_ref()?.data.get(MERGED).cloned()
}

fn is_within(path: &str, directory: &str) -> bool {
    Path::new(path).starts_with(directory)
}

fn enter(root: &str, at: &str) -> Option<OwnedFd> {
    let path = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, path | OFlags::NOFOLLOW, Mode::empty()).ok()?;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(&root, at, path | OFlags::NOFOLLOW, Mode::empty(), resolve).ok()
}
