//! Containers whose removal failed. What keeps an engine from removing one mostly passes, with the engine's next start at the latest.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bollard::query_parameters::RemoveContainerOptionsBuilder;
use tokio::time::Instant;

use super::call;

/// How long one of them may take.
const REMOVE: Duration = Duration::from_secs(30);

/// Names of containers that are still to be removed.
#[derive(Default)]
pub(super) struct Forsaken {
    names: Mutex<BTreeSet<String>>,
}

impl Forsaken {
    pub(super) fn add(&self, name: &str) {
        self.names().insert(name.to_owned());
    }

    /// Tries again with each, by its turn; those that stay are kept in mind.
    pub(super) async fn remove(&self, docker: &bollard::Docker) {
        self.remove_until(docker, Instant::now() + REMOVE).await;
    }

    /// The same, with all done by `until`.
    pub(super) async fn remove_until(&self, docker: &bollard::Docker, until: Instant) {
        let names: Vec<_> = self.names().iter().cloned().collect();
        for name in names {
            let options = RemoveContainerOptionsBuilder::default()
                .force(true)
                .v(true)
                .build();
            match call::by(until, docker.remove_container(&name, Some(options))).await {
                Ok(()) => tracing::info!(container = name, "removed what was left"),
                Err(failure) if failure.status() == Some(404) => {}
                Err(failure) => {
                    tracing::warn!(container = name, error = %failure, "a container is still not removed");
                    continue;
                }
            }
            self.names().remove(&name);
        }
    }

    fn names(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
