//! Kills for memory, as the engine tells of them while they happen: its flag stays unset as long as the main process lives.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bollard::Docker;
use bollard::errors::Error as Answer;
use bollard::models::EventMessage;
use bollard::query_parameters::EventsOptionsBuilder;
use futures_util::stream::{BoxStream, StreamExt};

use super::labels;

/// What was heard of one container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Heard {
    /// How many kills.
    pub(super) kills: u64,
    /// When the last one was, by the engine's clock, in nanoseconds since 1970.
    pub(super) last: Option<i64>,
}

/// What was heard of every container of this process.
#[derive(Default)]
pub(super) struct Kills {
    counts: Mutex<HashMap<String, Heard>>,
}

/// What the engine tells of them from now on.
pub(super) fn events(docker: &Docker) -> BoxStream<'static, Result<EventMessage, Answer>> {
    let mut filters = labels::own_filter();
    filters.insert(String::from("type"), vec![String::from("container")]);
    filters.insert(String::from("event"), vec![String::from("oom")]);
    let options = EventsOptionsBuilder::default().filters(&filters).build();
    docker.events(Some(options)).boxed()
}

impl Kills {
    /// Those that a container has had.
    pub(super) fn of(&self, container: &str) -> Heard {
        self.counts().get(container).copied().unwrap_or_default()
    }

    /// Takes in one.
    pub(super) fn count(&self, event: EventMessage) {
        let at = event.time_nano;
        let attributes = event.actor.and_then(|actor| actor.attributes);
        if let Some(name) = attributes.and_then(|mut attributes| attributes.remove("name")) {
            let mut counts = self.counts();
            let heard = counts.entry(name).or_default();
            heard.kills += 1;
            heard.last = heard.last.max(at);
        }
    }

    /// Forgets a container.
    pub(super) fn forget(&self, container: &str) {
        self.counts().remove(container);
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, HashMap<String, Heard>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
