//! The log of the attempt as the driver writes it: numbered, stamped, recorded, then shown.

use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use schema::{Elapsed, Event, FailureKind, Outcome, Record};

use crate::ports::{Clock, Observer, Recorder};

/// A record could not be written.
#[derive(Debug, thiserror::Error)]
#[error("append to the attempt's log")]
pub(super) struct NotRecorded {
    #[source]
    source: std::io::Error,
}

impl NotRecorded {
    /// What that makes of the attempt.
    pub(super) fn outcome(&self) -> Outcome {
        let full = matches!(
            self.source.kind(),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
        );
        Outcome::Failed {
            reason: if full {
                FailureKind::EnvironmentDisk
            } else {
                FailureKind::Internal
            },
            message: format!("{self}: {}", self.source),
        }
    }
}

/// A bug that was met.
pub(super) fn internal(message: String) -> Outcome {
    Outcome::Failed {
        reason: FailureKind::Internal,
        message,
    }
}

pub(super) struct Log {
    recorder: Box<dyn Recorder>,
    observer: Arc<dyn Observer>,
    clock: Arc<dyn Clock>,
    /// Milliseconds before this process took the attempt up.
    before: u64,
    /// Number of the last record.
    seq: u64,
    finished: Option<Outcome>,
    /// Whether a record could not be written: nothing may follow what was perhaps half written.
    broken: bool,
}

impl Log {
    pub(super) fn new(
        recorder: Box<dyn Recorder>,
        observer: Arc<dyn Observer>,
        clock: Arc<dyn Clock>,
        last: Option<&Record>,
    ) -> Self {
        let before = last.map_or(0, |record| record.at.0.saturating_sub(clock.elapsed().0));
        Self {
            recorder,
            observer,
            clock,
            before,
            seq: last.map_or(0, |record| record.seq),
            finished: last.and_then(|record| finish(&record.event)),
            broken: false,
        }
    }

    /// Time since the attempt started, over all processes that worked on it.
    pub(super) fn now(&self) -> Elapsed {
        Elapsed(self.before.saturating_add(self.clock.elapsed().0))
    }

    /// Records an event and shows it; gives it back to be applied.
    pub(super) fn append(&mut self, at: Elapsed, event: Event) -> Result<Event, NotRecorded> {
        let record = Record {
            seq: self.seq + 1,
            at,
            event,
        };
        if let Err(source) = self.recorder.append(&record) {
            self.broken = true;
            return Err(NotRecorded { source });
        }
        self.seq = record.seq;
        self.finished = finish(&record.event);
        self.show(&record);
        Ok(record.event)
    }

    /// Ends a log that the machine can no longer end, and says how it ended. Where nothing can be written any more there is nothing left to do:
    /// the caller learns the outcome all the same.
    pub(super) fn close(&mut self, outcome: Outcome) -> Outcome {
        if let Some(finished) = &self.finished {
            return finished.clone();
        }
        if self.broken {
            return outcome;
        }
        let event = Event::Finished {
            outcome: outcome.clone(),
        };
        if let Err(error) = self.append(self.now(), event) {
            tracing::error!(error = %error.source, "the end of the attempt could not be recorded");
        }
        outcome
    }

    fn show(&self, record: &Record) {
        let shown = catch_unwind(AssertUnwindSafe(|| self.observer.on_record(record)));
        if shown.is_err() {
            tracing::error!(
                seq = record.seq,
                "an observer panicked; the attempt goes on"
            );
        }
    }
}

fn finish(event: &Event) -> Option<Outcome> {
    match event {
        Event::Finished { outcome } => Some(outcome.clone()),
        _ => None,
    }
}
