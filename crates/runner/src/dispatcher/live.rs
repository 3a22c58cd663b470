//! What a display sees of a running batch: counts, and one status for each running attempt that costs the attempt a few atomic stores a step.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use schema::journal::AttemptKey;
use schema::{Outcome, RunEvent, Usage};

use super::executor::Kept;

/// Eats every event of a run, in journal order. Sinks run on the dispatcher: they must not block.
pub trait Sink: Send {
    /// Takes one event.
    fn on_event(&mut self, at: jiff::Timestamp, event: &RunEvent);
}

/// Where an attempt is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Waiting for a start permit, or starting its sandbox.
    Starting,
    /// Its sandbox stands; it waits for a worker.
    Ready,
    /// Waiting for the model.
    Model,
    /// Running a tool.
    Tool,
    /// Running completion checks.
    Checking,
    /// Taking the diff, removing the sandbox.
    Ending,
}

impl Phase {
    const ALL: [Self; 6] = [
        Self::Starting,
        Self::Ready,
        Self::Model,
        Self::Tool,
        Self::Checking,
        Self::Ending,
    ];

    /// One word for a display.
    pub fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Checking => "checking",
            Self::Ending => "ending",
        }
    }
}

/// Status of one running attempt. The attempt writes it, displays read it.
#[derive(Debug)]
pub struct AttemptStatus {
    /// Which attempt.
    pub key: AttemptKey,
    started: Instant,
    phase: AtomicU8,
    steps: AtomicU32,
    tokens: AtomicU64,
    action: Mutex<String>,
}

impl AttemptStatus {
    pub(crate) fn new(key: AttemptKey) -> Self {
        Self {
            key,
            started: Instant::now(),
            phase: AtomicU8::new(0),
            steps: AtomicU32::new(0),
            tokens: AtomicU64::new(0),
            action: Mutex::default(),
        }
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    pub(crate) fn step(&self, tokens: u64) {
        self.steps.fetch_add(1, Ordering::Relaxed);
        self.tokens.fetch_add(tokens, Ordering::Relaxed);
    }

    pub(crate) fn act(&self, write: impl FnOnce(&mut String)) {
        let mut action = self.action.lock().unwrap_or_else(PoisonError::into_inner);
        action.clear();
        write(&mut action);
    }

    /// Where it is.
    pub fn phase(&self) -> Phase {
        let index = usize::from(self.phase.load(Ordering::Relaxed));
        Phase::ALL.get(index).copied().unwrap_or(Phase::Starting)
    }

    /// Model replies so far.
    pub fn steps(&self) -> u32 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Tokens so far, input and output.
    pub fn tokens(&self) -> u64 {
        self.tokens.load(Ordering::Relaxed)
    }

    /// The last tool call, in one short line.
    pub fn action(&self) -> String {
        self.action
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Time since it started.
    pub fn age(&self) -> Duration {
        self.started.elapsed()
    }
}

/// The state of the batch, sent to the display on each lifecycle event.
#[derive(Debug, Clone, Default)]
pub struct LiveState {
    /// Attempts planned, retries included.
    pub planned: usize,
    /// Attempts that ended.
    pub done: usize,
    /// Instances that were done before this runner started.
    pub done_before: usize,
    /// Ended attempts by outcome name.
    pub outcomes: BTreeMap<&'static str, usize>,
    /// Gradings that ended with `resolved`.
    pub resolved: usize,
    /// Gradings that ended.
    pub graded: usize,
    /// Gradings that run or wait.
    pub grading: usize,
    /// Tokens and cost of ended attempts.
    pub usage: Usage,
    /// Attempts that run.
    pub running: Vec<Arc<AttemptStatus>>,
    /// Whether the run is coming to an early end.
    pub stopping: bool,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    /// Exit code.
    pub exit_code: u8,
    /// Why the run was aborted, where it was.
    pub aborted: Option<String>,
    /// What can be done about that, where more is known than the failures say.
    pub advice: Option<String>,
    /// Name of the signal that interrupted it, where one did.
    pub interrupted: Option<&'static str>,
    /// Outcome of the attempt that counts, for each instance and sample of the selection that has one.
    pub outcomes: Vec<(AttemptKey, Outcome)>,
    /// Sandboxes that are left on purpose.
    pub kept: Vec<Kept>,
}
