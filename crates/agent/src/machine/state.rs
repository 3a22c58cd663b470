//! What a machine remembers beside the conversation.

use std::sync::Arc;

use schema::event::EffectId;
use schema::{Outcome, Reply, ToolCall, ToolResult, Turn};

use crate::budget::Spent;
use crate::stuck::Stuck;
use crate::tools::action::Action;
use crate::tools::catalog::Catalog;

/// Where an attempt stands, without the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Not started.
    Idle,
    /// The conversation is valid; the next request may go out.
    Ready,
    /// The request did not fit; the view is about to shrink.
    Condensing,
    /// A request is on its way.
    AwaitingModel,
    /// The calls of a reply are being answered.
    RunningTools,
    /// `task_done` waits for the checks.
    CheckingCompletion,
    /// Over.
    Finished,
}

/// Where an attempt stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum State {
    #[default]
    Idle,
    Ready,
    Condensing,
    AwaitingModel {
        id: EffectId,
    },
    /// A reply with calls is being worked on: its turn is not part of the conversation yet.
    Working {
        turn: Box<OpenTurn>,
        busy: Busy,
    },
    Finished(Outcome),
}

impl State {
    pub(super) fn phase(&self) -> Phase {
        match self {
            Self::Idle => Phase::Idle,
            Self::Ready => Phase::Ready,
            Self::Condensing => Phase::Condensing,
            Self::AwaitingModel { .. } => Phase::AwaitingModel,
            Self::Working { busy, .. } => match busy {
                Busy::No | Busy::Tool { .. } | Busy::Lost { .. } => Phase::RunningTools,
                Busy::Checks { .. } | Busy::Rejected { .. } => Phase::CheckingCompletion,
            },
            Self::Finished(_) => Phase::Finished,
        }
    }
}

/// What is going on for an open turn.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Busy {
    /// Nothing: a decision is due.
    No,
    /// A tool runs.
    Tool {
        id: EffectId,
        position: usize,
        action: Arc<Action>,
    },
    /// The completion checks run.
    Checks { id: EffectId },
    /// The sandbox failed under this call.
    Lost { position: usize },
    /// The checks said no; the call is about to be told.
    Rejected { message: String },
}

/// A reply whose calls are not all answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpenTurn {
    reply: Reply,
    results: Vec<Option<ToolResult>>,
}

impl OpenTurn {
    pub(super) fn new(reply: Reply) -> Self {
        Self {
            results: vec![None; reply.tool_calls.len()],
            reply,
        }
    }

    pub(super) fn reply(&self) -> &Reply {
        &self.reply
    }

    pub(super) fn call(&self, position: usize) -> Option<&ToolCall> {
        self.reply.tool_calls.get(position)
    }

    pub(super) fn call_id(&self, position: usize) -> &str {
        self.call(position).map_or("", |call| call.id.as_str())
    }

    /// Calls without a result, in call order.
    pub(super) fn open(&self) -> impl Iterator<Item = (usize, &ToolCall)> {
        self.reply
            .tool_calls
            .iter()
            .enumerate()
            .filter(|(position, _)| matches!(self.results.get(*position), Some(None)))
    }

    /// The next call that is not `task_done`: those run first, wherever `task_done` stands.
    pub(super) fn next(&self) -> Option<(usize, &ToolCall)> {
        self.open().find(|(_, call)| !Catalog::is_done(call))
    }

    /// Answers a call; its result carries its id, whatever `result` says.
    pub(super) fn answer(&mut self, position: usize, result: &ToolResult) {
        let call_id = self.call_id(position).to_owned();
        if let Some(slot @ None) = self.results.get_mut(position) {
            // Some providers refuse results without text.
            let content = if result.content.is_empty() {
                super::texts::NO_OUTPUT.to_owned()
            } else {
                result.content.clone()
            };
            *slot = Some(ToolResult {
                call_id,
                content,
                is_error: result.is_error,
            });
        }
    }

    /// The complete turn, or the open one back.
    pub(super) fn close(self: Box<Self>) -> Result<Turn, Box<Self>> {
        if self.results.iter().any(Option::is_none) {
            return Err(self);
        }
        Ok(Turn::Assistant {
            results: self.results.into_iter().flatten().collect(),
            reply: Box::new(self.reply),
        })
    }
}

/// A message of ours that the model should get before the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// It called no tool.
    NoToolCall,
    /// It wrote past its limit without a call.
    Cut,
    /// It repeats itself.
    Repeating,
    /// It meets the same error whatever it tries.
    SameError,
}

/// Everything that a fold rebuilds beside the conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Progress {
    pub(super) state: State,
    /// Set by a fact that makes the end certain; open calls are answered first.
    pub(super) ending: Option<Outcome>,
    pub(super) due: Option<Due>,
    pub(super) spent: Spent,
    pub(super) stuck: Stuck,
    /// Effects named so far; the next one's id.
    pub(super) effects: u32,
    /// Queries sent so far, failed ones included.
    pub(super) queries: u32,
    /// Unreadable replies in a row.
    pub(super) format_errors: u32,
    /// Replies without a call in a row, those that were silently asked again left out.
    pub(super) nudges: u32,
    /// Empty replies in a row.
    pub(super) empty: u32,
    /// Refusals in a row.
    pub(super) refusals: u32,
    /// Rejected completions, in all.
    pub(super) rejections: u32,
    /// Check sets in a row that could not be run.
    pub(super) broken_checks: u32,
    /// Overflows in a row.
    pub(super) overflows: u32,
    /// Condensations in a row that saved nothing.
    pub(super) fruitless: u32,
}
