//! What the engine is asked to create.

use std::path::Path;

use bollard::models::{ContainerCreateBody, HealthConfig, HostConfig, HostConfigLogConfig};

use super::image::Image;
use super::limits::Plan;
use super::{boot, labels};
use crate::limits::Network;
use crate::place::{Hardening, PlaceSpec, host};

/// Name of every container's machine: the same in each, so that outputs are too.
const HOSTNAME: &str = "sandbox";

/// The container of a place.
pub(super) fn body(
    spec: &PlaceSpec,
    image: &Image,
    plan: &Plan,
    workdir: &str,
    root: &Path,
) -> ContainerCreateBody {
    let kept = &spec.rights.capabilities;
    let hardened = spec.hardening == Hardening::Full;
    let mut host = HostConfig {
        network_mode: match spec.network {
            Network::None | Network::Allow(_) => Some(String::from("none")),
            Network::Full => None,
        },
        // The engine would keep every byte that a command prints, three times over.
        log_config: Some(HostConfigLogConfig {
            typ: Some(String::from("none")),
            config: None,
        }),
        // With an init a single signal ends the container.
        init: Some(false),
        cap_drop: hardened.then(|| vec![String::from("ALL")]),
        cap_add: (!kept.is_empty()).then(|| kept.clone()),
        security_opt: hardened.then(|| vec![String::from("no-new-privileges")]),
        ..HostConfig::default()
    };
    plan.write(&mut host);
    ContainerCreateBody {
        hostname: Some(HOSTNAME.to_owned()),
        image: Some(image.id.clone()),
        user: spec.rights.user.clone(),
        working_dir: Some(workdir.to_owned()),
        // The image's own command goes with its entry point.
        entrypoint: Some(
            ["/bin/sh", "-c", &boot::source()]
                .map(str::to_owned)
                .to_vec(),
        ),
        env: Some(environment(spec, image)),
        labels: Some(labels::of(&spec.labels, root)),
        healthcheck: Some(HealthConfig {
            test: Some(vec![String::from("NONE")]),
            ..HealthConfig::default()
        }),
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        open_stdin: Some(true),
        // The container ends when its runner does.
        stdin_once: Some(true),
        tty: Some(false),
        host_config: Some(host),
        ..ContainerCreateBody::default()
    }
}

/// Variables for programs that talk to people go in where the image has none of that name and is to be hardened, the caller's in any case.
fn environment(spec: &PlaceSpec, image: &Image) -> Vec<String> {
    let added = &spec.environment;
    let quiet: &[(&str, &str)] = match spec.hardening {
        Hardening::Full => &host::QUIET,
        Hardening::EngineDefault => &[],
    };
    let quiet = quiet
        .iter()
        .filter(|(name, _)| !image.sets(name) && !added.iter().any(|(known, _)| known == name))
        .map(|(name, value)| format!("{name}={value}"));
    let added = added.iter().map(|(name, value)| format!("{name}={value}"));
    quiet.chain(added).collect()
}
