//! What an engine can do, and what it really did for a container.

use bollard::models::SystemInfo;

use super::boot::Report;
use super::image::Image;
use super::limits::Plan;
use super::podman::Shortcomings;
use crate::error::Error;
use crate::limits::{Applied, Network};
use crate::network::NetworkProbe;
use crate::place::{Capabilities, PlaceSpec};

/// What an engine says of itself that it can limit.
pub(super) fn capabilities(info: &SystemInfo, podman: Option<Shortcomings>) -> Capabilities {
    let groups = podman.is_none_or(|podman| !podman.groups);
    let driver = info.driver.as_deref().unwrap_or_default();
    // Whether the file system below was made with quotas shows only when a container is created.
    let on_xfs = info.driver_status.iter().flatten().any(|line| {
        line.first()
            .is_some_and(|name| name == "Backing Filesystem")
            && line.get(1).is_some_and(|system| system == "xfs")
    });
    let disk_limit = matches!(driver, "btrfs" | "zfs" | "devicemapper" | "windowsfilter")
        || (driver == "overlay2" && on_xfs);
    Capabilities {
        backend: if podman.is_some() { "podman" } else { "docker" },
        network_isolation: true,
        network_door: true,
        memory_limit: groups && info.memory_limit != Some(false),
        cpu_limit: groups && info.cpu_cfs_quota != Some(false),
        pids_limit: groups && info.pids_limit != Some(false),
        disk_limit,
    }
}

/// The engine's own platform, in the words of images.
pub(super) fn platform(info: &SystemInfo) -> String {
    let system = info.os_type.as_deref().unwrap_or("linux");
    let machine = match info.architecture.as_deref().unwrap_or("x86_64") {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{system}/{machine}")
}

/// What the main process saw, beside what was asked for.
pub(super) fn applied(
    spec: &PlaceSpec,
    image: &Image,
    plan: Plan,
    report: Report,
) -> Result<Applied, Error> {
    let seen = report.network();
    let cut = spec.network != Network::Full;
    match (cut, &seen) {
        (true, Some(Network::Full)) => {
            return Err(Error::Unsupported {
                message: String::from(
                    "the engine does not cut the network: there are routes in a container that was to have none",
                ),
            });
        }
        (false, Some(Network::None)) => {
            return Err(Error::Network {
                problem: String::from(
                    "`--network full` was asked for, and a container of this engine has no route: its default network is missing (see `docker network ls` for `bridge`, and whether the engine was started with `--bridge=none`)",
                ),
            });
        }
        _ => {}
    }
    let tmpfs = plan.temporary;
    let (mut enforced, mut unenforced) = (plan.enforced, plan.unenforced);
    enforced.insert(0, String::from("filesystem"));
    if cut {
        let list = if seen.is_some() {
            &mut enforced
        } else {
            &mut unenforced
        };
        list.push(String::from("network"));
    }
    Ok(Applied {
        network: if cut { Network::None } else { Network::Full },
        probe: NetworkProbe {
            routes: report.routes(),
            ..NetworkProbe::default()
        },
        enforced,
        unenforced,
        user: report.user(),
        capabilities: spec.rights.capabilities.clone(),
        tmpfs,
        image: Some(image.digest.clone()),
    })
}
