//! How an attempt ended.

use serde::{Deserialize, Serialize};

use crate::failure::FailureKind;

/// Why the agent was stopped before it completed: its own result, never an infrastructure failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// `--max-steps`.
    MaxSteps,
    /// `--max-wall-time`.
    MaxWallTime,
    /// `--max-cost`.
    MaxCost,
    /// `--max-tokens`.
    MaxTokens,
    /// The conversation no longer fits and cannot be made smaller.
    ContextExhausted,
    /// Too many replies that could not be read.
    FormatErrors,
    /// Too many replies without a tool call.
    NoToolCalls,
    /// The same calls with the same results, again and again.
    Stuck,
    /// `task_done` was rejected too often.
    CompletionRejected,
    /// A foreign agent ended by itself.
    AgentExited,
}

impl StopReason {
    /// The name used in files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::MaxSteps => "max_steps",
            Self::MaxWallTime => "max_wall_time",
            Self::MaxCost => "max_cost",
            Self::MaxTokens => "max_tokens",
            Self::ContextExhausted => "context_exhausted",
            Self::FormatErrors => "format_errors",
            Self::NoToolCalls => "no_tool_calls",
            Self::Stuck => "stuck",
            Self::CompletionRejected => "completion_rejected",
            Self::AgentExited => "agent_exited",
        }
    }
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// `task_done` passed every check.
    Completed,
    /// The agent's own end.
    Stopped {
        /// Which limit or rule stopped it.
        reason: StopReason,
    },
    /// Something other than the agent failed.
    Failed {
        /// Row of the failure table.
        reason: FailureKind,
        /// What happened, with its causes, for people.
        message: String,
    },
    /// A signal or the run's own stop.
    Cancelled,
}

impl Outcome {
    /// `completed`, `stopped`, `failed` or `cancelled`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Stopped { .. } => "stopped",
            Self::Failed { .. } => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The reason's name, empty where there is none.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Stopped { reason } => reason.name(),
            Self::Failed { reason, .. } => reason.name(),
            Self::Completed | Self::Cancelled => "",
        }
    }

    /// Whether the instance needs no further attempt: the agent had its turn.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Completed | Self::Stopped { .. })
    }
}
