//! Containers that outlived their runner.

use std::collections::HashMap;
use std::time::Duration;

use bollard::models::ContainerSummary;
use bollard::query_parameters::ListContainersOptionsBuilder;

use super::{Docker, call, labels};
use crate::error::Error;
use crate::place::{Leftover, PlaceId, directory};

/// How long the engine may take to list its containers.
const LIST: Duration = Duration::from_secs(30);

impl Docker {
    pub(super) async fn find_orphans(&self) -> Result<Vec<Leftover>, Error> {
        let mut orphans = self.containers(labels::is_orphan).await?;
        let root = self.settings.root.clone();
        let directories =
            tokio::task::spawn_blocking(move || directory::abandoned_kin(&root)).await;
        if let Ok(Ok(directories)) = directories {
            orphans.extend(directories);
        }
        Ok(orphans)
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
