//! Which sandbox backends a run gets.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sandbox::limits::Network;
use sandbox::place::Backend;
use sandbox::place::apptainer::{Apptainer, ApptainerSettings, UNTRIED};
use sandbox::place::bubblewrap::Bubblewrap;
use sandbox::place::docker::{Docker, DockerSettings, Engine};
use sandbox::place::host::HostSettings;
use sandbox::place::local::Local;

use crate::error::{Error, chain};
use crate::hidden;
use crate::rights;
use crate::settings::{Processors, RunSettings, SandboxChoice};

/// A backend and what people should know about it.
struct Selected {
    /// The backend.
    backend: Arc<dyn Backend>,
    /// Its name.
    name: &'static str,
    /// One line for people, where it confines less than they may think.
    warning: Option<String>,
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

/// The backends of a run. Rows that name an image may get another one than rows that do not.
pub struct Backends {
    first: Selected,
    images: Option<Selected>,
}

impl Backends {
    /// The backend of a row that has an `image`, or has none.
    pub fn of(&self, image: bool) -> &Arc<dyn Backend> {
        match &self.images {
            Some(images) if image => &images.backend,
            _ => &self.first.backend,
        }
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Arc<dyn Backend>> {
        self.selected().map(|selected| &selected.backend)
    }

    /// What people should know.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        self.selected()
            .filter_map(|selected| selected.warning.as_deref())
    }

    fn selected(&self) -> impl Iterator<Item = &Selected> {
        std::iter::once(&self.first).chain(&self.images)
    }
}

/// What a row asks of the backend that it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A place for its repository.
    Place,
    /// Its image.
    Image,
    /// Its image, which is named as one for `x86_64` alone.
    X86Image,
}

impl Need {
    /// That of a row with this image.
    pub fn of(image: Option<&str>) -> Self {
        match image {
            None => Self::Place,
            Some(name) if name.contains("x86_64") => Self::X86Image,
            Some(_) => Self::Image,
        }
    }
}

/// The platform of images: as given, else the one that all images of the run are named for, else the engine's own.
fn platform(given: Option<&str>, needs: &[Need]) -> Option<String> {
    let named = needs.contains(&Need::X86Image) && !needs.contains(&Need::Image);
    given.or(named.then_some("linux/amd64")).map(str::to_owned)
}

/// Takes the backends that `settings` ask for. `auto` takes docker for rows with an image where an engine answers; for the others, and where none
/// does, bubblewrap where it works, else local. `needs` has an entry for each row.
///
/// # Errors
/// When the one asked for does not work here, or cannot enforce what the user asked for.
pub async fn select(settings: &RunSettings, needs: &[Need]) -> Result<Backends, Error> {
    let backends = match settings.identity.sandbox {
        SandboxChoice::Local => only(local(settings)?),
        SandboxChoice::Bubblewrap => {
            only(bubblewrap(settings)
                .await
                .map_err(|error| Error::Settings {
                    message: "bubblewrap does not work here".to_owned(),
                    hint: Some("install bubblewrap (`bwrap`) and allow unprivileged user namespaces, or use --sandbox local".to_owned()),
                    source: Some(Box::new(error)),
                })?)
        }
        SandboxChoice::Docker => only(
            containers(settings, Engine::Usual, needs)
                .await
                .map_err(unusable)?,
        ),
        SandboxChoice::Podman => only(
            containers(settings, Engine::Podman, needs)
                .await
                .map_err(unusable)?,
        ),
        SandboxChoice::Apptainer => only(apptainer(settings).await.map_err(unusable)?),
        SandboxChoice::Auto => automatic(settings, needs).await?,
    };
    for selected in backends.selected() {
        check_network(settings, selected)?;
        check_limits(settings, selected)?;
        rights::check(settings, selected.name, selected.backend.as_ref())?;
    }
    Ok(backends)
}

fn only(first: Selected) -> Backends {
    Backends {
        first,
        images: None,
    }
}

async fn automatic(settings: &RunSettings, needs: &[Need]) -> Result<Backends, Error> {
    let named = needs.iter().filter(|&&need| need != Need::Place).count();
    if named == 0 {
        return Ok(only(on_the_host(settings).await?));
    }
    match containers(settings, Engine::Usual, needs).await {
        Ok(docker) if named == needs.len() => Ok(only(docker)),
        Ok(docker) => Ok(Backends {
            first: on_the_host(settings).await?,
            images: Some(docker),
        }),
        Err(error) => {
            let mut first = on_the_host(settings).await?;
            let rows = match named {
                1 => "1 instance names an image".to_owned(),
                _ => format!("{named} instances name an image"),
            };
            let missing = format!(
                "{rows}, but containers cannot be had here ({}): their repositories are used on this machine",
                chain(&error)
            );
            first.warning = Some(match first.warning {
                Some(warning) => format!("{missing}; {warning}"),
                None => missing,
            });
            Ok(only(first))
        }
    }
}

async fn on_the_host(settings: &RunSettings) -> Result<Selected, Error> {
    match bubblewrap(settings).await {
        Ok(selected) => Ok(selected),
        Err(error) => {
            let mut selected = local(settings)?;
            if let Some(warning) = &mut selected.warning {
                *warning = format!("{warning}; {}", chain(&error));
            }
            Ok(selected)
        }
    }
}

/// Every kind of place where runs may have left something below `root`, and why the engine's containers cannot be looked at, where that is so.
///
/// # Errors
/// When `root` is there and cannot be used.
pub async fn anywhere(root: &Path) -> Result<(Vec<Arc<dyn Backend>>, Option<String>), Error> {
    let mut found: Vec<Arc<dyn Backend>> = Vec::new();
    // All backends of this machine keep their directories alike; what never was is not made now.
    if root.is_dir() {
        let host = Local::new(HostSettings::new(root)).map_err(unusable)?;
        found.push(Arc::new(host));
    }
    match Docker::connect(DockerSettings::new(root)).await {
        Ok(docker) => {
            let other = docker.capabilities().backend != "podman";
            found.push(Arc::new(docker));
            // Beside Docker there may be Podman; nobody has to have one.
            let podman = DockerSettings {
                engine: Engine::Podman,
                ..DockerSettings::new(root)
            };
            if other && let Ok(podman) = Docker::connect(podman).await {
                found.push(Arc::new(podman));
            }
            Ok((found, None))
        }
        Err(error) => Ok((found, Some(chain(&error)))),
    }
}

async fn containers(
    settings: &RunSettings,
    engine: Engine,
    needs: &[Need],
) -> Result<Selected, sandbox::Error> {
    let operation = &settings.operation;
    let docker = DockerSettings {
        engine,
        platform: platform(settings.identity.platform.as_deref(), needs),
        pull: operation.pull,
        pulls: operation.pulls.max(1),
        registry_wait: operation.registry_wait,
        best_effort_limits: operation.best_effort_limits,
        ..DockerSettings::new(root(operation.scratch.as_ref()))
    };
    let backend = Docker::connect(docker).await?;
    Ok(Selected {
        name: backend.capabilities().backend,
        backend: Arc::new(backend),
        warning: None,
    })
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

async fn apptainer(settings: &RunSettings) -> Result<Selected, sandbox::Error> {
    let backend = Apptainer::probe(ApptainerSettings {
        pull: settings.operation.pull,
        platform: settings.identity.platform.clone(),
        ..ApptainerSettings::new(host_settings(settings))
    })
    .await?;
    Ok(Selected {
        name: backend.capabilities().backend,
        backend: Arc::new(backend),
        warning: Some(UNTRIED.to_owned()),
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
    let can = selected.backend.capabilities();
    let (message, hint) = match &settings.identity.network {
        Network::None if operation.network_explicit && !can.network_isolation => (
            format!("the {} sandbox cannot cut the network", selected.name),
            "use --sandbox bubblewrap, leave out --network none, or give --best-effort-limits",
        ),
        Network::Allow(_) if !can.network_door => (
            format!(
                "the {} sandbox cannot let only some hosts be reached",
                selected.name
            ),
            "use --sandbox docker and an image (--image), --network none or --network full, or give --best-effort-limits to have it recorded only",
        ),
        Network::None | Network::Full | Network::Allow(_) => return Ok(()),
    };
    if operation.best_effort_limits {
        return Ok(());
    }
    Err(Error::Settings {
        message,
        hint: Some(hint.to_owned()),
        source: None,
    })
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
            limits.cpus.is_some_and(|limit| limit.explicit)
                || matches!(settings.operation.grade_cpus, Some(Processors::AtMost(_))),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_named_for_one_platform_are_got_for_it_unless_another_is_given() {
        let need = |image| Need::of(image);
        let official = need(Some("swebench/sweb.eval.x86_64.o_1776_r-1:latest"));
        let own = need(Some("mine:1"));
        let amd64 = || Some("linux/amd64".to_owned());
        assert_eq!(platform(None, &[official, need(None)]), amd64());
        assert_eq!(platform(None, &[official, own]), None);
        assert_eq!(platform(None, &[own, need(None)]), None);
        assert_eq!(platform(None, &[]), None);
        let given = platform(Some("linux/arm64"), &[official]);
        assert_eq!(given.as_deref(), Some("linux/arm64"));
    }
}
