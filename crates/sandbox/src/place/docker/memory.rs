//! Kills for memory, as the engine tells of them while they happen: its flag stays unset as long as the main process lives.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bollard::Docker;
use bollard::models::EventMessage;
use bollard::query_parameters::EventsOptionsBuilder;
use futures_util::StreamExt;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::labels;

/// How long after a broken stream of events another one is asked for.
const AGAIN: Duration = Duration::from_secs(1);

type Counts = Arc<Mutex<HashMap<String, Heard>>>;

/// What was heard of one container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Heard {
    /// How many kills.
    pub(super) kills: u64,
    /// When the last one was, by the engine's clock, in nanoseconds since 1970.
    pub(super) last: Option<i64>,
}

/// Counts them for every container of this process.
pub(super) struct Kills {
    counts: Counts,
    /// Ends with this value.
    _listener: JoinSet<()>,
}

impl Kills {
    /// Listens from now on.
    pub(super) fn listen(docker: Docker) -> Arc<Self> {
        let counts = Counts::default();
        let heard = Arc::clone(&counts);
        let mut listener = JoinSet::new();
        listener.spawn(async move {
            loop {
                let mut filters = labels::own_filter();
                filters.insert(String::from("type"), vec![String::from("container")]);
                filters.insert(String::from("event"), vec![String::from("oom")]);
                let options = EventsOptionsBuilder::default().filters(&filters).build();
                let mut events = docker.events(Some(options));
                while let Some(Ok(event)) = events.next().await {
                    count(&heard, event);
                }
                sleep(AGAIN).await;
            }
        });
        Arc::new(Self {
            counts,
            _listener: listener,
        })
    }

    /// Those that a container has had.
    pub(super) fn of(&self, container: &str) -> Heard {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(container).copied().unwrap_or_default()
    }

    /// Forgets a container.
    pub(super) fn forget(&self, container: &str) {
        self.counts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(container);
    }
}

fn count(counts: &Counts, event: EventMessage) {
    let at = event.time_nano;
    let attributes = event.actor.and_then(|actor| actor.attributes);
    if let Some(name) = attributes.and_then(|mut attributes| attributes.remove("name")) {
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        let heard = counts.entry(name).or_default();
        heard.kills += 1;
        heard.last = heard.last.max(at);
    }
}
