//! What comes in and what should be going on outside.

use std::sync::Arc;

use schema::event::{CheckVerdict, ModelFailure, ToolRun};
use schema::{Elapsed, FailureKind, Outcome, Reply, Task};

use super::Machine;
use super::state::{Busy, State};
use crate::tools::action::Action;
use schema::event::EffectId;

/// What the machine is told. Inputs that answer an effect which is not running are ignored.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Begin.
    Start {
        /// What is asked.
        task: Task,
        /// System prompt as rendered.
        system: String,
        /// First user message as rendered.
        prompt: String,
    },
    /// The model answered.
    Reply {
        /// The query.
        id: EffectId,
        /// What it said.
        reply: Box<Reply>,
    },
    /// The model did not answer.
    ModelFailed {
        /// The query.
        id: EffectId,
        /// How it failed.
        failure: ModelFailure,
    },
    /// A tool ran.
    ToolDone {
        /// The run.
        id: EffectId,
        /// What came of it.
        run: ToolRun,
    },
    /// The sandbox failed under a tool or a check.
    EnvironmentFailed {
        /// The effect.
        id: EffectId,
        /// Row of the failure table.
        kind: FailureKind,
        /// What happened.
        message: String,
    },
    /// The completion checks ran.
    Checked {
        /// The check set.
        id: EffectId,
        /// Verdicts up to the first that did not accept.
        verdicts: Vec<CheckVerdict>,
    },
    /// The wall time is used up. What runs is to be interrupted and awaited.
    Deadline,
    /// The attempt is to end. What runs is to be interrupted and awaited.
    Cancel,
    /// The log was folded and nothing of what it says to be running runs any more: a tool that was started may have run, what stood behind
    /// it did not; a query or a check simply runs again.
    Resume,
    /// A tool or a check that was interrupted does not end; it is waited for no longer.
    Abandon,
    /// A bug was met.
    Fault {
        /// What happened.
        message: String,
    },
    /// Nothing came; take the next decision that is due.
    Proceed,
}

/// What should be going on outside. At most one at a time, since tools share a shell and their order is part of the record.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask the model with the view that the history holds.
    Query {
        /// The query.
        id: EffectId,
        /// Position of the query in the attempt, from 0.
        index: u32,
        /// When the wall time is used up, waits of this query not counted.
        deadline: Option<Elapsed>,
    },
    /// Run a tool.
    RunTool {
        /// The run.
        id: EffectId,
        /// Identifier of the call.
        call_id: String,
        /// What it asks for.
        action: Arc<Action>,
        /// When the wall time is used up.
        deadline: Option<Elapsed>,
    },
    /// Run the completion checks.
    RunChecks {
        /// The check set.
        id: EffectId,
        /// When the wall time is used up.
        deadline: Option<Elapsed>,
    },
    /// The attempt is over.
    Finish(Outcome),
}

impl Machine {
    /// What should be going on, derived from the state alone; ids are the same after a fold.
    pub fn pending(&self) -> Vec<Effect> {
        let deadline = self.progress.spent.deadline(&self.settings.limits);
        let effect = match &self.progress.state {
            State::AwaitingModel { id } => Effect::Query {
                id: *id,
                index: self.progress.queries.saturating_sub(1),
                deadline,
            },
            State::Working { turn, busy } => match busy {
                Busy::Tool {
                    id,
                    position,
                    action,
                } => Effect::RunTool {
                    id: *id,
                    call_id: turn.call_id(*position).to_owned(),
                    action: Arc::clone(action),
                    deadline,
                },
                Busy::Checks { id } => Effect::RunChecks { id: *id, deadline },
                Busy::No | Busy::Lost { .. } | Busy::Rejected { .. } => return Vec::new(),
            },
            State::Finished(outcome) => Effect::Finish(outcome.clone()),
            State::Idle | State::Ready | State::Condensing => return Vec::new(),
        };
        vec![effect]
    }
}
