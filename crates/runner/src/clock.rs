//! The only place that reads the wall clock.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use schema::Elapsed;

/// The time now.
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// `at` as journals write it: RFC 3339 in UTC with milliseconds, so that text order is time order.
pub fn text(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// Counts from the start of an attempt.
#[derive(Debug, Clone, Copy)]
pub struct AttemptClock {
    started: Instant,
}

impl AttemptClock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self {
            started: Instant::now(),
        }
    }

    /// Time since the start.
    pub fn since(&self) -> Duration {
        self.started.elapsed()
    }
}

impl agent::ports::Clock for AttemptClock {
    fn elapsed(&self) -> Elapsed {
        Elapsed(u64::try_from(self.since().as_millis()).unwrap_or(u64::MAX))
    }
}
