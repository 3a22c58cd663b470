//! Containers that outlived their runner.

use std::collections::HashMap;
use std::time::Duration;

use bollard::models::ContainerSummary;
use bollard::query_parameters::{ListContainersOptionsBuilder, RenameContainerOptionsBuilder};

use super::{Docker, call, labels};
use crate::error::Error;
use crate::place::{KeptPlace, Leftover, Place, PlaceId, directory};

/// How long the engine may take to list its containers.
const LIST: Duration = Duration::from_secs(30);

impl Docker {
    pub(super) async fn find_orphans(&self) -> Result<Vec<Leftover>, Error> {
        let mut orphans = self.containers(labels::is_orphan).await?;
        orphans.retain(|orphan| !labels::is_kept(&orphan.name));
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
        let wanted = |found: &_| labels::is_orphan(found) && labels::is_of(found, root);
        let mut kept = self.containers(wanted).await?;
        kept.retain(|left| labels::is_kept(&left.name));
        Ok(kept)
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

    /// This project's containers with such labels.
    async fn containers(
        &self,
        wanted: impl Fn(&HashMap<String, String>) -> bool,
    ) -> Result<Vec<Leftover>, Error> {
        let options = ListContainersOptionsBuilder::default()
            .all(true)
            .filters(&labels::filter())
            .build();
        let found = call::within(LIST, self.engine.list_containers(Some(options)))
            .await
            .map_err(|failure| failure.losing("look for left-over containers"))?;
        let wanted = found
            .into_iter()
            .filter(|container| wanted(container.labels.as_ref().unwrap_or(&HashMap::new())));
        Ok(wanted.filter_map(leftover).collect())
    }
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
