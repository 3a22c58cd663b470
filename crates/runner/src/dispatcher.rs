//! The dispatcher: one task owns the run's state, awaits one bounded channel, and writes the journal before it acts.

mod cause;
mod ending;
pub mod executor;
mod finish;
mod hear;
pub mod live;
mod start;
mod stop;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use schema::{AttemptKey, InstanceId, RunEvent};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

pub use cause::Cause;
pub use ending::{Facts, Tally, end_code, exit_code};
pub(crate) use executor::Message;
pub use executor::{AttemptEnd, Executor, GradeEnd, Kept, Reports};
pub use live::{AttemptStatus, LiveState, Phase, RunEnd, Sink};
pub use stop::Stop;

use crate::breaker::Breaker;
use crate::error::Error;
use crate::plan::{GradeJob, Job, Plan};
use crate::signals::{Signal, Signals};
use crate::store::RunDirectory;
use crate::store::derived::{PredictionRules, Schedule};
use crate::store::journal::JournalWriter;
use crate::store::ledger::Ledger;
use crate::store::owner::{HEARTBEAT, Writer};

/// Messages that may wait for the dispatcher; more senders wait themselves.
const CHANNEL: usize = 64;

/// Time that attempts have after they were told to end now, before their tasks are torn down.
const NOW_LIMIT: Duration = Duration::from_secs(10);

/// Time for removing what torn-down attempts left.
const CLEAN_LIMIT: Duration = Duration::from_secs(30);

/// What the dispatcher needs to know of the settings.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Attempts that solve at the same time.
    pub workers: usize,
    /// Attempts beyond them whose sandboxes are started ahead.
    pub prestarted: usize,
    /// Coming jobs whose images are got ahead.
    pub prefetch: usize,
    /// Tries of one job.
    pub max_attempts: u32,
    /// Whether patches are graded as they appear.
    pub grade: bool,
    /// Gradings at the same time.
    pub grade_workers: usize,
    /// Time that running attempts have after a first signal.
    pub grace: Duration,
    /// Failures of the infrastructure that still give code 0.
    pub max_infra_failures: usize,
    /// Empty patches that still give code 0.
    pub max_empty_patches: Option<usize>,
    /// Share of resolved instances below which the code is 1.
    pub fail_under: Option<f64>,
    /// How predictions are written.
    pub predictions: PredictionRules,
}

/// Where the run is kept.
#[derive(Debug)]
pub struct Store {
    /// Its directory.
    pub run: RunDirectory,
    /// This runner's claim.
    pub writer: Writer,
    /// This runner's journal.
    pub journal: JournalWriter,
    /// What all journals say so far.
    pub ledger: Ledger,
}

/// Samples that the exit code looks at.
pub type Selected = HashSet<(InstanceId, u32)>;

/// Whoever watches.
#[derive(Default)]
pub struct Audience {
    /// Sinks of the run's events.
    pub sinks: Vec<Box<dyn Sink>>,
    /// The display.
    pub live: watch::Sender<LiveState>,
}

/// Runs `plan` to its end, or to the end that a signal or a breaker puts to it. `selected` are the samples that the exit code looks at.
///
/// # Errors
/// When the journal or a derived file cannot be written: everything that ran was cancelled, and what was finished is on disk.
#[expect(
    clippy::too_many_arguments,
    reason = "the parts of a run, each of its own kind"
)]
pub async fn run(
    store: Store,
    policy: Policy,
    plan: Plan,
    selected: Selected,
    executor: Arc<dyn Executor>,
    stop: Stop,
    audience: Audience,
    signals: Signals,
) -> Result<RunEnd, Error> {
    let (sender, receiver) = mpsc::channel(CHANNEL);
    let mut dispatcher = Dispatcher {
        store,
        policy,
        selected,
        executor,
        stop,
        audience,
        reports: Reports { sender },
        queue: plan.jobs.into(),
        gradings: plan.gradings.into(),
        running: HashMap::new(),
        grading: HashSet::new(),
        tasks: JoinSet::new(),
        breaker: Breaker::default(),
        schedule: Schedule::new(),
        beat: Instant::now() + HEARTBEAT,
        signal: None,
        aborted: None,
        advice: None,
        bug: false,
        broken: None,
        ended: BTreeSet::new(),
        kept: Vec::new(),
    };
    dispatcher.listen(signals);
    dispatcher.look_out();
    dispatcher.begin(plan.done);
    dispatcher.work(receiver).await;
    dispatcher.end().await
}

struct Dispatcher {
    store: Store,
    policy: Policy,
    selected: Selected,
    executor: Arc<dyn Executor>,
    stop: Stop,
    audience: Audience,
    reports: Reports,
    queue: VecDeque<Job>,
    gradings: VecDeque<GradeJob>,
    running: HashMap<AttemptKey, Arc<AttemptStatus>>,
    /// Gradings that run: an attempt, and which of its gradings.
    grading: HashSet<(AttemptKey, u32)>,
    tasks: JoinSet<()>,
    breaker: Breaker,
    schedule: Schedule,
    beat: Instant,
    signal: Option<Signal>,
    aborted: Option<String>,
    /// What can be done about that, where it is known.
    advice: Option<String>,
    bug: bool,
    broken: Option<Error>,
    /// Samples that attempts of this runner ended.
    ended: BTreeSet<(InstanceId, u32)>,
    /// Sandboxes that are left on purpose.
    kept: Vec<Kept>,
}

impl Dispatcher {
    fn listen(&mut self, mut signals: Signals) {
        let sender = self.reports.sender.clone();
        self.tasks.spawn(async move {
            while let Some(signal) = signals.next().await {
                if sender.send(Message::Signal(signal)).await.is_err() {
                    break;
                }
            }
        });
    }

    /// Has those watched that the run depends on.
    fn look_out(&mut self) {
        let executor = Arc::clone(&self.executor);
        self.tasks.spawn(executor.watch(self.reports.clone()));
    }

    fn begin(&mut self, done: usize) {
        for row in self.queue.iter().map(|job| job.row) {
            self.executor.need(row);
        }
        for row in self.gradings.iter().map(|job| job.row) {
            self.executor.need(row);
        }
        self.emit(RunEvent::RunStarted {
            planned: self.queue.len(),
            done,
        });
        let planned = self.queue.len();
        self.audience.live.send_modify(|live| {
            live.planned = planned;
            live.done_before = done;
        });
        self.schedule.touch();
    }

    async fn work(&mut self, mut receiver: mpsc::Receiver<Message>) {
        loop {
            self.start_attempts();
            self.start_gradings();
            self.look_ahead();
            if self.running.is_empty() && self.grading.is_empty() {
                // What is still queued now waits for nothing: it was not started since the run ends.
                return;
            }
            let message = match self.next_tick() {
                Some(at) => tokio::time::timeout_at(at.into(), receiver.recv()).await,
                None => Ok(receiver.recv().await),
            };
            if let Ok(Some(message)) = message {
                self.hear(message);
                while let Ok(message) = receiver.try_recv() {
                    self.hear(message);
                }
                self.sync();
            }
            self.tick();
        }
    }

    fn next_tick(&self) -> Option<Instant> {
        [self.schedule.due(), Some(self.beat)]
            .into_iter()
            .flatten()
            .min()
    }

    /// Does what is due by time.
    fn tick(&mut self) {
        let now = Instant::now();
        if self.schedule.due().is_some_and(|due| due <= now) {
            self.write_derived();
        }
        if self.beat <= now {
            self.beat = now + HEARTBEAT;
            let beaten = self.store.writer.beat();
            self.check(beaten);
        }
        while self.tasks.try_join_next().is_some() {}
    }
}
