//! Removing containers, and what belongs to them on the host.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bollard::query_parameters::{InspectContainerOptions, RemoveContainerOptionsBuilder};
use rustix::process::Signal;
use tokio::time::{Instant, sleep, timeout_at};

use super::{Docker, call, stuck};
use crate::error::Error;
use crate::place::{PlaceId, directory, removal};

impl Docker {
    pub(super) async fn remove_place(&self, id: &PlaceId, deadline: Duration) -> Result<(), Error> {
        let until = Instant::now() + deadline;
        if directory::is_kin(&id.0) {
            return self
                .remove_directory(id, self.settings.root.join(&id.0))
                .await;
        }
        let known = self.alive().remove(id);
        let container = known.as_ref().and_then(|known| known.place.upgrade());
        if let Some(container) = &container {
            container.sweeps.forget();
        }
        let number = known.as_ref().map_or(&id.0, |known| &known.number);
        let deleted = self.delete_in_turn(id, number, until).await;
        if deleted.is_err() {
            self.forsaken.add(&id.0, number);
        }
        self.kills.forget(&id.0);
        if let Some(container) = container {
            container.held.clear();
        }
        let Some(known) = known else {
            return deleted;
        };
        let removed = self.remove_directory(id, known.private).await;
        deleted.and(removed)
    }

    async fn delete_in_turn(
        &self,
        id: &PlaceId,
        number: &str,
        until: Instant,
    ) -> Result<(), Error> {
        let _turn = timeout_at(until, self.removals.acquire())
            .await
            .map_err(|late| Error::lost(format!("remove the container {}", id.0), late))?;
        self.delete(id, number, until).await
    }

    pub(super) async fn remove_directory(&self, id: &PlaceId, path: PathBuf) -> Result<(), Error> {
        if path.parent() != Some(Path::new(&self.settings.root)) {
            return Err(Error::Refused(format!(
                "`{}` is not the name of a sandbox",
                id.0
            )));
        }
        let removed = tokio::task::spawn_blocking(move || removal::remove_tree(&path)).await;
        match removed {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Error::lost(
                format!("remove the private directory of {}", id.0),
                error,
            )),
            Err(panic) => Err(Error::lost(
                format!("remove the private directory of {}", id.0),
                panic,
            )),
        }
    }

    pub(super) async fn delete(
        &self,
        id: &PlaceId,
        number: &str,
        until: Instant,
    ) -> Result<(), Error> {
        delete(&self.engine, &id.0, number, until).await
    }
}

/// Forces a container out, with the volumes that its image made, and waits until it is gone. `number` is the engine's own identifier.
pub(super) async fn delete(
    engine: &bollard::Docker,
    name: &str,
    number: &str,
    until: Instant,
) -> Result<(), Error> {
    let operation = || format!("remove the container {name}");
    let options = RemoveContainerOptionsBuilder::default()
        .force(true)
        .v(true)
        .build();
    let remove = call::by(until, engine.remove_container(name, Some(options)));
    match stuck::through(number, Signal::KILL, remove).await {
        Ok(()) => Ok(()),
        Err(failure) if failure.status() == Some(404) => Ok(()),
        // Somebody else is removing it.
        Err(failure) if failure.status() == Some(409) => wait_until_gone(engine, name, until).await,
        Err(failure) => Err(failure.losing(operation())),
    }
}

async fn wait_until_gone(
    engine: &bollard::Docker,
    name: &str,
    until: Instant,
) -> Result<(), Error> {
    let operation = || format!("remove the container {name}");
    loop {
        let found = engine.inspect_container(name, None::<InspectContainerOptions>);
        match call::by(until, found).await {
            Err(failure) if failure.status() == Some(404) => return Ok(()),
            Err(failure) => return Err(failure.losing(operation())),
            Ok(_) => sleep(Duration::from_millis(20)).await,
        }
    }
}
