//! Containers whose removal failed. What keeps an engine from removing one mostly passes, with the engine's next start at the latest.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;

use super::remove;

/// How long one of them may take.
const REMOVE: Duration = Duration::from_secs(30);

/// Containers that are still to be removed.
#[derive(Default)]
pub(super) struct Forsaken {
    /// The engine's own identifier of each name, or the name where it was never told.
    names: Mutex<BTreeMap<String, String>>,
}

impl Forsaken {
    pub(super) fn add(&self, name: &str, number: &str) {
        self.names().insert(name.to_owned(), number.to_owned());
    }

    /// Tries again with all of them; those that stay are kept in mind.
    pub(super) async fn remove(&self, docker: &bollard::Docker) {
        self.remove_within(docker, REMOVE).await;
    }

    /// The same, with `limit` for each. They go at once: one that is stuck holds up no other.
    pub(super) async fn remove_within(&self, docker: &bollard::Docker, limit: Duration) {
        let names = self.names().clone();
        let until = Instant::now() + limit;
        let removals = names.iter().map(|(name, number)| async move {
            match remove::delete(docker, name, number, until).await {
                Ok(()) => {
                    tracing::info!(container = name, "removed what was left");
                    self.names().remove(name);
                }
                Err(error) => {
                    tracing::warn!(container = name, ?error, "a container is still not removed");
                }
            }
        });
        join_all(removals).await;
    }

    fn names(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
