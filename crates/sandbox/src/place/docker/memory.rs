//! Kills for memory, as the engine tells of them while they happen: its flag stays unset as long as the main process lives.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bollard::Docker;
use bollard::errors::Error as Answer;
use bollard::models::EventMessage;
use bollard::query_parameters::EventsOptionsBuilder;
use futures_util::stream::{BoxStream, StreamExt};
use jiff::Timestamp;

use super::labels;

/// What was heard of one container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Heard {
    /// How many kills.
    pub(super) kills: u64,
    /// When the last one was, by the engine's clock, in nanoseconds since 1970.
    pub(super) last: Option<i64>,
}

/// How far apart an engine may tell of two kills in another order than it dates them, in nanoseconds.
const DISORDER: i128 = 2_000_000_000;

/// What was heard of every container of this process.
pub(super) struct Kills {
    counts: Mutex<HashMap<String, Heard>>,
    /// Up to when the engine is known to have told of them, by its own clock; `None` where it does not say what time it is.
    until: Mutex<Option<Timestamp>>,
}

impl Kills {
    /// Nothing yet; the engine says what time it is.
    pub(super) fn since(engine_time: Option<&str>) -> Self {
        Self {
            counts: Mutex::default(),
            until: Mutex::new(engine_time.and_then(|time| time.parse().ok())),
        }
    }

    /// What the engine tells of them, from where it had ended on: it remembers its last events, so that nothing is lost between two streams.
    pub(super) fn events(
        &self,
        docker: &Docker,
    ) -> BoxStream<'static, Result<EventMessage, Answer>> {
        let mut filters = labels::own_filter();
        filters.insert(String::from("type"), vec![String::from("container")]);
        filters.insert(String::from("event"), vec![String::from("oom")]);
        let options = EventsOptionsBuilder::default().filters(&filters);
        let options = match self.from() {
            Some(from) => options.since(&from),
            None => options,
        };
        docker.events(Some(options.build())).boxed()
    }

    /// The moment in the engine's own form: seconds since 1970 with nine decimals.
    fn from(&self) -> Option<String> {
        let until = (*self.until())?;
        let (seconds, part) = (until.as_second(), until.subsec_nanosecond());
        Some(format!("{seconds}.{part:09}"))
    }

    /// Those that a container has had.
    pub(super) fn of(&self, container: &str) -> Heard {
        self.counts().get(container).copied().unwrap_or_default()
    }

    /// Takes in one, once.
    pub(super) fn count(&self, event: EventMessage) {
        let at = event.time_nano;
        self.advance(at);
        let attributes = event.actor.and_then(|actor| actor.attributes);
        if let Some(name) = attributes.and_then(|mut attributes| attributes.remove("name")) {
            let mut counts = self.counts();
            let heard = counts.entry(name).or_default();
            // The engine tells again of what it has told in an earlier stream.
            if at.is_some() && at <= heard.last {
                return;
            }
            heard.kills += 1;
            heard.last = heard.last.max(at);
        }
    }

    fn advance(&self, at: Option<i64>) {
        let at = at.and_then(|at| Timestamp::from_nanosecond(i128::from(at) - DISORDER).ok());
        let mut until = self.until();
        *until = (*until).max(at);
    }

    /// Forgets a container.
    pub(super) fn forget(&self, container: &str) {
        self.counts().remove(container);
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<String, Heard>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn until(&self) -> MutexGuard<'_, Option<Timestamp>> {
        self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use bollard::models::EventActor;

    use super::*;

    fn event(name: &str, at: i64) -> EventMessage {
        let attributes = HashMap::from([(String::from("name"), name.to_owned())]);
        EventMessage {
            time_nano: Some(at),
            actor: Some(EventActor {
                attributes: Some(attributes),
                ..EventActor::default()
            }),
            ..EventMessage::default()
        }
    }

    #[test]
    fn a_stream_goes_on_where_the_last_one_ended_and_nothing_counts_twice() {
        let kills = Kills::since(Some("2023-11-14T22:13:20.5+01:00"));
        assert_eq!(kills.from().unwrap(), "1699996400.500000000");
        let at = 1_700_000_000_000_000_007;
        kills.count(event("one", at));
        // Told late, and dated before.
        kills.count(event("other", at - 5));
        assert_eq!(kills.from().unwrap(), "1699999998.000000007");
        // Another stream tells of both again, and of one that nobody has heard of.
        for again in [
            event("one", at),
            event("other", at - 5),
            event("one", at + 9),
        ] {
            kills.count(again);
        }
        assert_eq!(kills.of("one").kills, 2);
        assert_eq!(kills.of("one").last, Some(at + 9));
        assert_eq!(kills.of("other").kills, 1);
        assert_eq!(Kills::since(None).from(), None);
        assert_eq!(Kills::since(Some("noon")).from(), None);
    }
}
