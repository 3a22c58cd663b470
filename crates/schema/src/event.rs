//! The log of an attempt: facts from outside and decisions of the machine.

use serde::{Deserialize, Serialize};

use crate::failure::ModelFailureKind;
use crate::message::{Reply, Retry, ToolCall, ToolResult};
use crate::outcome::Outcome;
use crate::task::Task;

/// Milliseconds since the attempt started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Elapsed(pub u64);

/// Identifier of an effect, stable when the log is folded again.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct EffectId(pub u32);

/// A request that failed for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFailure {
    /// `None` means that the prompt no longer fits the model's window: the conversation is condensed and sent again.
    pub kind: Option<ModelFailureKind>,
    /// What happened, for people; never holds a secret.
    pub message: String,
    /// Failed tries, the last one included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retries: Vec<Retry>,
    /// Milliseconds spent waiting for a free place at the endpoint and between tries; measured by the driver.
    #[serde(default, skip_serializing_if = "crate::message::is_zero")]
    pub waited_ms: u64,
}

impl ModelFailure {
    /// Milliseconds that do not count towards the wall-time limit.
    pub fn waited_ms(&self) -> u64 {
        crate::message::waited_ms(self.waited_ms, &self.retries)
    }
}

/// What running a tool brought: the result for the model, and what was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRun {
    /// What the model reads.
    pub result: ToolResult,
    /// Exit code, where the tool ran a command to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether the command was killed at its deadline.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Hexadecimal SHA-256 of the whole output, where it is longer than what the model reads; the store keeps it under this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_sha256: Option<String>,
    /// Bytes of the whole output.
    #[serde(default)]
    pub output_bytes: u64,
    /// Milliseconds that the tool took.
    #[serde(default)]
    pub elapsed_ms: u64,
}

/// The answer of one completion check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// The work may end.
    Accept,
    /// It may not: text for the model.
    Reject {
        /// Why, in words that the model can act on.
        message: String,
    },
    /// The check itself could not be run.
    Broken {
        /// What happened, for people.
        message: String,
    },
}

/// One entry of the log. Folding a log is applying its events in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    // Facts: what came from outside, verbatim.
    /// The attempt began.
    Started {
        /// What the agent was told.
        task: Task,
        /// System prompt as rendered.
        system: String,
        /// First user message as rendered.
        prompt: String,
    },
    /// The model answered.
    Replied {
        /// The query that this answers.
        id: EffectId,
        /// What it said.
        reply: Reply,
    },
    /// The model did not answer.
    ModelFailed {
        /// The query that failed.
        id: EffectId,
        /// How.
        failure: ModelFailure,
    },
    /// A tool ran.
    ToolDone {
        /// The call that it ran for.
        id: EffectId,
        /// What came of it.
        run: ToolRun,
    },
    /// The sandbox was lost while a tool or a check ran.
    EnvironmentFailed {
        /// The effect that met the loss.
        id: EffectId,
        /// Row of the failure table.
        kind: crate::failure::FailureKind,
        /// What happened, for people.
        message: String,
    },
    /// The completion checks ran.
    Checked {
        /// The check set.
        id: EffectId,
        /// One verdict for each check, in order, up to the first that did not accept.
        verdicts: Vec<CheckVerdict>,
    },
    /// The wall-time limit passed.
    DeadlinePassed,
    /// Somebody asked the attempt to end.
    CancelRequested,

    // Decisions: what the machine made of it.
    /// A request goes out.
    Asked {
        /// The query.
        id: EffectId,
        /// Hexadecimal SHA-256 over the digests of the request's fragments.
        request_sha256: String,
    },
    /// A call goes to its tool.
    ToolStarted {
        /// The run of the tool.
        id: EffectId,
        /// The call.
        call: ToolCall,
    },
    /// A call was answered without running a tool: a complaint, a cut call, a duplicate, a cancelled or rejected one.
    Answered {
        /// What the model reads.
        result: ToolResult,
    },
    /// `task_done` is being checked.
    CheckStarted {
        /// The check set.
        id: EffectId,
    },
    /// A message of ours was added: a nudge or a note.
    Nudged {
        /// Text for the model.
        text: String,
    },
    /// The conversation was condensed: old outputs are left out of the view from now on.
    Elided {
        /// Outputs of all turns before this position (from 0, the head not counted) are left out. Positions and not call ids, since some
        /// servers use the same ids in every reply. The position of the last time means that nothing more could be saved.
        before: usize,
    },
    /// The attempt ended. Nothing follows.
    Finished {
        /// How.
        outcome: Outcome,
    },
}

impl Event {
    /// Whether this came from outside; the others are what the machine made of it.
    pub fn is_fact(&self) -> bool {
        match self {
            Self::Started { .. }
            | Self::Replied { .. }
            | Self::ModelFailed { .. }
            | Self::ToolDone { .. }
            | Self::EnvironmentFailed { .. }
            | Self::Checked { .. }
            | Self::DeadlinePassed
            | Self::CancelRequested => true,
            Self::Asked { .. }
            | Self::ToolStarted { .. }
            | Self::Answered { .. }
            | Self::CheckStarted { .. }
            | Self::Nudged { .. }
            | Self::Elided { .. }
            | Self::Finished { .. } => false,
        }
    }
}

/// An event with its place in the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Position, from 1 without gaps.
    pub seq: u64,
    /// When, in milliseconds since the attempt started.
    pub at: Elapsed,
    /// What.
    pub event: Event,
}
