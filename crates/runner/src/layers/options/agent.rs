//! How the agent works, what its tools do, and when it is stopped.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde::{Deserialize, Serialize};

use crate::layers::values::{Amount, Cap, Count, Size, Span, one_or_many};

/// How the agent works, and when it is stopped.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Agent and its limits")]
#[serde(default)]
pub struct Agent {
    /// Template of the first user message [default: built in]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PathBuf>,
    /// Template of the system prompt [default: built in]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<PathBuf>,
    /// Tools that the model is offered, in this order
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "one_or_many"
    )]
    pub tools: Option<Vec<String>>,
    /// Model replies before an attempt stops
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<Cap<Count>>,
    /// Time of an attempt before it stops; waits for a busy server do not count
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_wall_time: Option<Cap<Span>>,
    /// US dollars of an attempt before it stops
    #[arg(long, value_name = "DOLLARS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<Cap<Amount>>,
    /// Input and output tokens of an attempt before it stops
    #[arg(long, value_name = "TOKENS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<Cap<Count>>,
    /// Rejected `task_done` calls before an attempt stops
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rejections: Option<u32>,
    /// Unreadable replies in a row before an attempt stops
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_format_errors: Option<u32>,
    /// Replies in a row without a tool call before an attempt stops
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_nudges: Option<u32>,
    /// Stop an attempt that repeats the same calls with the same results
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuck_detection: Option<bool>,
}

/// What the agent's tools and checks do, whoever the model is: a replay needs these as the recording had them.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Agent and its limits")]
#[serde(default)]
pub struct Acting {
    /// Complete only with a non-empty diff that is not tests alone
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub must_patch: Option<bool>,
    /// Shell command that must succeed in the sandbox before an attempt completes
    #[arg(long, value_name = "COMMAND")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify_command: Option<String>,
    /// Time for one command of the agent
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_timeout: Option<Span>,
    /// Time that one command of the agent may print nothing before it is killed, or `none`
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_idle_timeout: Option<Cap<Span>>,
    /// Bytes of one command's output that the model reads
    #[arg(long, value_name = "BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_observation_bytes: Option<Size>,
    /// Longest time that the agent may ask for, for one command
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_command_timeout: Option<Span>,
}
