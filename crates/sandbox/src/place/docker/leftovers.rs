//! Containers that outlived their runner.

use std::collections::HashMap;
use std::time::Duration;

use bollard::models::{
    ContainerInspectResponse, ContainerStateStatusEnum as Status, ContainerSummary,
};
use bollard::query_parameters::{
    InspectContainerOptions, ListContainersOptionsBuilder, RenameContainerOptionsBuilder,
};
use jiff::{SignedDuration, Timestamp};

use super::labels::Runner;
use super::{Docker, call, labels, podman};
use crate::error::Error;
use crate::place::{KeptPlace, Leftover, Place, PlaceId, directory};

/// How long the engine may take to list its containers.
const LIST: Duration = Duration::from_secs(30);
/// How long a container whose runner cannot be seen has to be over before it counts as left behind. A living runner needs one that it has stopped for
/// minutes at most.
const UNUSED: SignedDuration = SignedDuration::from_hours(1);
/// What is done meanwhile.
const LOOK: &str = "look for left-over containers";

impl Docker {
    pub(super) async fn find_orphans(&self) -> Result<Vec<Leftover>, Error> {
        let mut orphans = self.abandoned(|name, _| !labels::is_kept(name)).await?;
        let root = self.settings.root.clone();
        let directories =
            tokio::task::spawn_blocking(move || directory::abandoned_kin(&root)).await;
        if let Ok(Ok(directories)) = directories {
            orphans.extend(directories);
        }
        Ok(orphans)
    }

    /// Only those of the same root: other users of the engine keep theirs.
    pub(super) async fn find_kept(&self) -> Result<Vec<Leftover>, Error> {
        let root = &self.settings.root;
        self.abandoned(|name, found| labels::is_kept(name) && labels::is_of(found, root))
            .await
    }

    pub(super) async fn keep_place(
        &self,
        id: &PlaceId,
        deadline: Duration,
    ) -> Result<KeptPlace, Error> {
        let operation = || format!("keep the container {}", id.0);
        let known = self.alive().get(id).and_then(|known| known.place.upgrade());
        let container =
            known.ok_or_else(|| Error::lost(operation(), "it is not there any more"))?;
        container.stop(deadline).await?;
        let name = labels::kept_name(&id.0);
        let options = RenameContainerOptionsBuilder::default().name(&name).build();
        let renamed = self.engine.rename_container(&container.number, options);
        call::within(deadline, renamed)
            .await
            .map_err(|failure| failure.losing(operation()))?;
        self.alive().remove(id);
        self.kills.forget(&id.0);
        // What is private serves the runner alone; what stays of it is found as an orphan.
        let _ = self.remove_directory(id, container.private.clone()).await;
        Ok(KeptPlace {
            open: format!("docker start {name} && docker exec -it {name} sh"),
            id: PlaceId(name),
        })
    }

    /// This project's containers that no runner has any more, of those with such a name and labels.
    async fn abandoned(
        &self,
        wanted: impl Fn(&str, &HashMap<String, String>) -> bool,
    ) -> Result<Vec<Leftover>, Error> {
        let options = ListContainersOptionsBuilder::default()
            .all(true)
            .filters(&labels::filter())
            .build();
        let found = call::within(LIST, podman::containers(&self.engine, &options))
            .await
            .map_err(|failure| failure.losing(LOOK))?;
        let mut abandoned = Vec::new();
        let mut now = None;
        for container in found {
            let labels = container.labels.clone().unwrap_or_default();
            let Some(left) = leftover(container) else {
                continue;
            };
            if !wanted(&left.name, &labels) {
                continue;
            }
            let is_abandoned = match labels::runner(&labels) {
                Runner::Gone => true,
                Runner::Alive => false,
                Runner::Unseen => {
                    let now = match now {
                        Some(now) => now,
                        None => *now.insert(self.time().await?),
                    };
                    self.is_long_over(&left.id, now).await?
                }
            };
            if is_abandoned {
                abandoned.push(left);
            }
        }
        Ok(abandoned)
    }

    /// The present by the engine's clock, which may run elsewhere; `None` where it does not say.
    async fn time(&self) -> Result<Option<Timestamp>, Error> {
        let info = call::within(LIST, self.engine.info())
            .await
            .map_err(|failure| failure.losing(LOOK))?;
        Ok(info.system_time.and_then(|time| time.parse().ok()))
    }

    /// Whether a container ended so long ago that nobody can be about to use it: it ends when its runner does, since nobody holds its input any more.
    async fn is_long_over(&self, id: &PlaceId, now: Option<Timestamp>) -> Result<bool, Error> {
        let inspected = self
            .engine
            .inspect_container(&id.0, None::<InspectContainerOptions>);
        match call::within(LIST, inspected).await {
            Ok(found) => Ok(now.is_some_and(|now| was_over(&found, now))),
            // Whoever has it is removing it.
            Err(failure) if failure.status() == Some(404) => Ok(false),
            Err(failure) => Err(failure.losing(LOOK)),
        }
    }
}

/// Whether a container does not run, and has not for [`UNUSED`].
fn was_over(found: &ContainerInspectResponse, now: Timestamp) -> bool {
    let Some(state) = &found.state else {
        return false;
    };
    let ended = matches!(
        state.status,
        Some(Status::CREATED | Status::EXITED | Status::DEAD)
    );
    // One that was never started has an end before all times.
    let times = [&found.created, &state.finished_at].map(|time| {
        let time = time.as_deref()?;
        time.parse::<Timestamp>().ok()
    });
    let last = times.into_iter().flatten().max();
    ended && last.is_some_and(|last| now.duration_since(last) >= UNUSED)
}

fn leftover(container: ContainerSummary) -> Option<Leftover> {
    let id = container.id?;
    let name = container.names.into_iter().flatten().next();
    let name = name.map(|name| name.trim_start_matches('/').to_owned());
    Some(Leftover {
        name: name.unwrap_or_else(|| id.clone()),
        id: PlaceId(id),
    })
}

#[cfg(test)]
mod tests {
    use bollard::models::ContainerState;

    use super::*;

    fn over(status: Status, created: &str, finished: &str) -> bool {
        let found = ContainerInspectResponse {
            created: Some(created.to_owned()),
            state: Some(ContainerState {
                status: Some(status),
                finished_at: Some(finished.to_owned()),
                ..ContainerState::default()
            }),
            ..ContainerInspectResponse::default()
        };
        was_over(&found, "2024-01-02T12:00:00Z".parse().unwrap())
    }

    #[test]
    fn only_what_ended_long_ago_counts_as_left_by_who_cannot_be_seen() {
        let (never, long_ago) = ("0001-01-01T00:00:00Z", "2024-01-01T00:00:00.123456789Z");
        assert!(over(Status::EXITED, long_ago, "2024-01-02T11:00:00Z"));
        assert!(!over(Status::EXITED, long_ago, "2024-01-02T11:00:01Z"));
        assert!(!over(Status::RUNNING, long_ago, "2024-01-01T01:00:00Z"));
        assert!(!over(Status::PAUSED, long_ago, never));
        assert!(over(Status::CREATED, long_ago, never));
        assert!(!over(Status::CREATED, "2024-01-02T11:59:00Z", never));
        assert!(!over(Status::EXITED, "", ""));
    }
}
