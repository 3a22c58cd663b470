//! Which sandbox backend a run gets.

use std::path::PathBuf;
use std::sync::Arc;

use sandbox::limits::Network;
use sandbox::place::Backend;
use sandbox::place::bubblewrap::Bubblewrap;
use sandbox::place::host::HostSettings;
use sandbox::place::local::Local;

use crate::error::{Error, chain};
use crate::hidden;
use crate::settings::{RunSettings, SandboxChoice};

/// A backend and what people should know about it.
pub struct Selected {
    /// The backend.
    pub backend: Arc<dyn Backend>,
    /// Its name.
    pub name: &'static str,
    /// One line for people, where it confines less than they may think.
    pub warning: Option<String>,
}

/// Directory of the sandboxes: `scratch`, else one of this user's own among the temporary files.
pub fn root(scratch: Option<&PathBuf>) -> PathBuf {
    scratch.cloned().unwrap_or_else(|| {
        let user = rustix::process::getuid().as_raw();
        // An empty TMPDIR would put sandboxes into the current directory.
        let temporary = Some(std::env::temp_dir()).filter(|path| path.is_absolute());
        let temporary = temporary.unwrap_or_else(|| PathBuf::from("/tmp"));
        temporary.join(format!("patchmill-{user}"))
    })
}

/// Takes the backend that `settings` ask for; `auto` takes bubblewrap where it works, else local.
///
/// # Errors
/// When the one asked for does not work here, or cannot enforce what the user asked for.
pub async fn select(settings: &RunSettings) -> Result<Selected, Error> {
    let selected = match settings.identity.sandbox {
        SandboxChoice::Local => local(settings)?,
        SandboxChoice::Bubblewrap => {
            bubblewrap(settings)
                .await
                .map_err(|error| Error::Settings {
                    message: "bubblewrap does not work here".to_owned(),
                    hint: Some("install bubblewrap (`bwrap`) and allow unprivileged user namespaces, or use --sandbox local".to_owned()),
                    source: Some(Box::new(error)),
                })?
        }
        SandboxChoice::Docker => {
            return Err(Error::Settings {
                message: "the docker sandbox is not part of this version yet".to_owned(),
                hint: Some("use --sandbox bubblewrap or --sandbox local".to_owned()),
                source: None,
            });
        }
        SandboxChoice::Auto => match bubblewrap(settings).await {
            Ok(selected) => selected,
            Err(error) => {
                tracing::info!(error = chain(&error), "bubblewrap does not work here");
                local(settings)?
            }
        },
    };
    check_network(settings, &selected)?;
    check_limits(settings, &selected)?;
    Ok(selected)
}

fn host_settings(settings: &RunSettings) -> HostSettings {
    let operation = &settings.operation;
    let mut host = HostSettings::new(root(operation.scratch.as_ref()));
    host.keep = settings.keep.clone();
    host.best_effort_limits = operation.best_effort_limits;
    host.hidden = hidden::paths(settings);
    host
}

fn local(settings: &RunSettings) -> Result<Selected, Error> {
    let backend = Local::new(host_settings(settings)).map_err(unusable)?;
    Ok(Selected {
        backend: Arc::new(backend),
        name: "local",
        warning: Some(format!(
            "commands of the agent run unconfined as this user (--sandbox local); not enforced: {}",
            sandbox::place::local::UNENFORCED.join(", ")
        )),
    })
}

async fn bubblewrap(settings: &RunSettings) -> Result<Selected, sandbox::Error> {
    let backend = Bubblewrap::probe(host_settings(settings)).await?;
    Ok(Selected {
        backend: Arc::new(backend),
        name: "bubblewrap",
        warning: None,
    })
}

fn unusable(error: sandbox::Error) -> Error {
    Error::Settings {
        message: "the sandbox backend cannot be used".to_owned(),
        hint: error.hint().map(str::to_owned),
        source: Some(Box::new(error)),
    }
}

/// What the user asked for and the backend cannot enforce is refused; a default is only recorded.
fn check_network(settings: &RunSettings, selected: &Selected) -> Result<(), Error> {
    let operation = &settings.operation;
    let asked = settings.identity.network == Network::None && operation.network_explicit;
    if asked && !selected.backend.capabilities().network_isolation && !operation.best_effort_limits
    {
        return Err(Error::Settings {
            message: format!("the {} sandbox cannot cut the network", selected.name),
            hint: Some(
                "use --sandbox bubblewrap, leave out --network none, or give --best-effort-limits"
                    .to_owned(),
            ),
            source: None,
        });
    }
    Ok(())
}

fn check_limits(settings: &RunSettings, selected: &Selected) -> Result<(), Error> {
    let limits = &settings.identity.sandbox_limits;
    let can = selected.backend.capabilities();
    let asked = [
        (
            "memory",
            limits.memory.is_some_and(|limit| limit.explicit),
            can.memory_limit,
        ),
        (
            "cpus",
            limits.cpus.is_some_and(|limit| limit.explicit),
            can.cpu_limit,
        ),
        (
            "pids",
            limits.pids.is_some_and(|limit| limit.explicit),
            can.pids_limit,
        ),
        (
            "disk",
            limits.disk.is_some_and(|limit| limit.explicit),
            can.disk_limit,
        ),
    ];
    let broken = asked.iter().find(|(_, asked, can)| *asked && !*can);
    match broken {
        Some((name, ..)) if !settings.operation.best_effort_limits => Err(Error::Settings {
            message: format!("the {} sandbox cannot limit {name}", selected.name),
            hint: Some(format!(
                "leave out --{name}, or give --best-effort-limits to have it recorded only"
            )),
            source: None,
        }),
        _ => Ok(()),
    }
}
