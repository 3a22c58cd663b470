//! `results.csv` while a run goes on.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use schema::RunEvent;

use super::{Repositories, rows, write_results};
use crate::dispatcher::Sink;
use crate::error::chain;
use crate::store::RunDirectory;
use crate::store::derived::Schedule;
use crate::store::ledger::Ledger;

/// Rewrites `results.csv` now and then, on a thread of its own: the dispatcher never waits for it.
#[derive(Debug)]
pub struct LiveResults {
    events: Option<mpsc::Sender<RunEvent>>,
    writer: Option<thread::JoinHandle<()>>,
}

impl LiveResults {
    /// Starts with what is known so far.
    pub fn start(run: RunDirectory, ledger: Ledger, repositories: Repositories) -> Self {
        let (events, receiver) = mpsc::channel();
        let writer = thread::Builder::new().name("results".to_owned());
        let writer = writer.spawn(move || write(&receiver, &run, ledger, &repositories));
        Self {
            events: Some(events),
            // Without a thread the file is written at the end only.
            writer: writer.ok(),
        }
    }
}

impl Sink for LiveResults {
    fn on_event(&mut self, _at: jiff::Timestamp, event: &RunEvent) {
        if let (
            Some(events),
            RunEvent::AttemptFinished { .. }
            | RunEvent::GradeFinished { .. }
            | RunEvent::GradeFailed { .. },
        ) = (&self.events, event)
        {
            let _ = events.send(event.clone());
        }
    }
}

impl Drop for LiveResults {
    fn drop(&mut self) {
        drop(self.events.take());
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

fn write(
    events: &mpsc::Receiver<RunEvent>,
    run: &RunDirectory,
    mut ledger: Ledger,
    repositories: &Repositories,
) {
    let mut schedule = Schedule::new();
    loop {
        let now = Instant::now();
        let wait = schedule
            .due()
            .map_or(Duration::MAX, |due| due.saturating_duration_since(now));
        match events.recv_timeout(wait) {
            Ok(event) => {
                ledger.apply(&event);
                schedule.touch();
            }
            Err(RecvTimeoutError::Timeout) => {
                let started = Instant::now();
                if let Err(error) = write_results(run, &rows(&ledger, repositories)) {
                    tracing::warn!(error = chain(&error), "results.csv was not written");
                }
                schedule.wrote(started.elapsed());
            }
            // The end writes it once more, from the journals.
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
