//! The async side of an attempt: does what the machine says should be going on.
//!
//! Decide, append to the log, apply, start what is pending; then wait for it, for the deadline or for the cancel, in an order that makes
//! cancel win over deadline and deadline over results. Every event is in the log before its effect starts.

mod effects;
mod log;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use schema::{Elapsed, Outcome, Record, Task, Usage};
use tokio_util::sync::CancellationToken;

use self::log::{Log, NotRecorded};
use crate::completion::Check;
use crate::history::ModelEncoder;
use crate::machine::{Effect, Input, Machine, Phase, Settings};
use crate::ports::{Clock, Model, Observer, Recorder, Workspace};
use crate::tools::Toolbox;
use crate::tools::catalog::Catalog;

/// All that an attempt needs.
pub struct Attempt {
    /// Limits and the model's window; where the window is unknown the model is asked.
    pub settings: Settings,
    /// Tools on offer.
    pub catalog: Arc<Catalog>,
    /// The model.
    pub model: Arc<dyn Model>,
    /// Where it acts.
    pub workspace: Arc<dyn Workspace>,
    /// Where records go.
    pub recorder: Box<dyn Recorder>,
    /// Time since the attempt started.
    pub clock: Arc<dyn Clock>,
    /// Ends it.
    pub cancel: CancellationToken,
    /// Sees every record.
    pub observer: Arc<dyn Observer>,
    /// What is asked.
    pub task: Task,
    /// System prompt as rendered.
    pub system: String,
    /// First user message as rendered.
    pub prompt: String,
    /// What `task_done` has to pass, in order.
    pub checks: Vec<Check>,
    /// The log so far, when the attempt goes on.
    pub resumed: Vec<Record>,
}

/// How an attempt ended and what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// How.
    pub outcome: Outcome,
    /// Replies of the model.
    pub steps: u32,
    /// Tokens and cost.
    pub usage: Usage,
    /// Milliseconds between requests and replies, waits left out.
    pub model_ms: u64,
    /// Milliseconds that tools ran.
    pub tool_ms: u64,
}

/// Runs an attempt to its end. Every path records exactly one `Finished`, unless the log itself cannot be written.
pub async fn run(attempt: Attempt) -> Ending {
    let mut driver = Driver::new(attempt);
    let outcome = match effects::caught(driver.drive()).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => driver.session.log.close(error.outcome()),
        Err(message) => driver.session.close_after_panic(message),
    };
    let spent = driver.session.machine.spent();
    Ending {
        outcome,
        steps: spent.steps,
        usage: spent.usage,
        model_ms: spent.model_ms,
        tool_ms: spent.tool_ms,
    }
}

struct Driver {
    session: Session,
    model: Arc<dyn Model>,
    workspace: Arc<dyn Workspace>,
    toolbox: Toolbox,
    checks: Vec<Check>,
    start: Option<Input>,
    resumed: Vec<Record>,
}

/// The machine and its log, which only move together.
struct Session {
    machine: Machine,
    log: Log,
    cancel: CancellationToken,
}

impl Driver {
    fn new(attempt: Attempt) -> Self {
        let mut settings = attempt.settings;
        let window = &mut settings.window;
        window.size = window.size.or_else(|| attempt.model.window());
        window.max_output = window.max_output.or_else(|| attempt.model.max_output());
        let toolbox = Toolbox::new(
            Arc::clone(&attempt.workspace),
            &attempt.task.workdir,
            &settings.limits,
        );
        let encoder = Arc::new(ModelEncoder(Arc::clone(&attempt.model)));
        let machine = Machine::new(settings, attempt.catalog, encoder);
        let log = Log::new(
            attempt.recorder,
            attempt.observer,
            attempt.clock,
            attempt.resumed.last(),
        );
        let start = Input::Start {
            task: attempt.task,
            system: attempt.system,
            prompt: attempt.prompt,
        };
        Self {
            session: Session {
                machine,
                log,
                cancel: attempt.cancel,
            },
            model: attempt.model,
            workspace: attempt.workspace,
            toolbox,
            checks: attempt.checks,
            start: Some(start),
            resumed: attempt.resumed,
        }
    }

    async fn drive(&mut self) -> Result<Outcome, NotRecorded> {
        for record in std::mem::take(&mut self.resumed) {
            self.session.machine.apply(&record.event);
        }
        let start = self.start.take();
        let idle = self.session.machine.phase() == Phase::Idle;
        let first = start.filter(|_| idle).unwrap_or(Input::Resume);
        self.session.begin(first)?;
        loop {
            if self.session.cancel.is_cancelled() {
                self.session.advance(Input::Cancel)?;
            }
            let Some(effect) = self.session.machine.pending().pop() else {
                // The machine always says what comes next; if it does not, that is a bug, and better an end than a wait for ever.
                let phase = self.session.machine.phase();
                let message = format!("nothing is pending in phase {phase:?}");
                self.session.advance(Input::Fault { message })?;
                continue;
            };
            match effect {
                Effect::Finish(outcome) => return Ok(outcome),
                Effect::Query {
                    id,
                    index,
                    deadline,
                } => self.query(id, index, deadline).await?,
                Effect::RunTool {
                    id,
                    call_id,
                    action,
                    deadline,
                } => self.run_tool(id, &call_id, &action, deadline).await?,
                Effect::RunChecks { id, deadline } => self.run_checks(id, deadline).await?,
            }
        }
    }
}

impl Session {
    fn begin(&mut self, first: Input) -> Result<(), NotRecorded> {
        if !self.cancel.is_cancelled() {
            return self.advance(first);
        }
        // The start belongs into the log, a request that is never sent does not.
        let at = self.log.now();
        for event in self.machine.decide(at, first) {
            let event = self.log.append(at, event)?;
            self.machine.apply(&event);
        }
        Ok(())
    }

    /// Takes an input and all that follows from it, each event recorded before it counts.
    fn advance(&mut self, input: Input) -> Result<(), NotRecorded> {
        let at = self.log.now();
        let log = &mut self.log;
        self.machine
            .advance(at, input, |event| log.append(at, event))
    }

    /// Ends the log after a panic of the machine itself. It may still know which calls are open and answers them if it can; what it holds is not
    /// to be trusted, so the log is closed whatever comes of that.
    fn close_after_panic(&mut self, message: String) -> Outcome {
        let fault = Input::Fault {
            message: message.clone(),
        };
        let answered = catch_unwind(AssertUnwindSafe(|| self.advance(fault)));
        if !matches!(answered, Ok(Ok(()))) {
            tracing::error!(message, "the machine could not end its own log");
        }
        self.log.close(log::internal(message))
    }

    fn time_left(&self, deadline: Option<Elapsed>) -> Option<Duration> {
        let left = deadline?.0.saturating_sub(self.log.now().0);
        Some(Duration::from_millis(left))
    }
}
