//! The containers of this process, and which of them an engine's restart took along.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bollard::query_parameters::ListContainersOptionsBuilder;

use super::call::{self, Failure};
use super::container::Container;
use super::{labels, podman};
use crate::place::PlaceId;

/// How long the engine may take to list this process's containers.
const LIST: Duration = Duration::from_secs(20);

/// A container of this process, whether anybody still uses it or not.
pub(super) struct Known {
    pub(super) place: Weak<Container>,
    /// The engine's own identifier.
    pub(super) number: String,
    pub(super) private: PathBuf,
}

/// All of them that are not being removed.
pub(super) type Alive = Mutex<HashMap<PlaceId, Known>>;

/// Looks which of them still run.
pub(super) struct Living {
    docker: bollard::Docker,
    alive: Arc<Alive>,
    /// Those that were found not to run: each is told of once.
    lost: HashSet<String>,
}

impl Living {
    pub(super) fn new(docker: bollard::Docker, alive: Arc<Alive>) -> Self {
        Self {
            docker,
            alive,
            lost: HashSet::new(),
        }
    }

    /// How many that should run are gone or have ended since it was last looked.
    pub(super) async fn count_lost(&mut self) -> Result<usize, Failure> {
        let before = self.numbers();
        let found = if before.is_empty() {
            HashSet::new()
        } else {
            self.running().await?
        };
        // What was stopped or removed meanwhile was so on purpose.
        let after = self.numbers();
        self.lost.retain(|number| after.contains(number));
        let lost = before.intersection(&after);
        let lost = lost.filter(|number| !found.contains(*number)).cloned();
        let known = self.lost.len();
        self.lost.extend(lost);
        Ok(self.lost.len() - known)
    }

    /// Those that should run.
    fn numbers(&self) -> HashSet<String> {
        let alive = self.alive.lock().unwrap_or_else(PoisonError::into_inner);
        let should_run = alive.values().filter(|known| {
            let place = known.place.upgrade();
            place.is_some_and(|place| !place.stopped.load(Ordering::SeqCst))
        });
        should_run.map(|known| known.number.clone()).collect()
    }

    /// Those that do; the engine lists no others unless it is asked to.
    async fn running(&self) -> Result<HashSet<String>, Failure> {
        let options = ListContainersOptionsBuilder::default()
            .filters(&labels::own_filter())
            .build();
        let found = call::within(LIST, podman::containers(&self.docker, &options)).await?;
        Ok(found.into_iter().filter_map(|one| one.id).collect())
    }
}
