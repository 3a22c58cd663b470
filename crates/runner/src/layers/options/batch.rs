//! How the batch is run, and what makes its exit code other than 0.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde::{Deserialize, Serialize};

use crate::layers::values::{Amount, Cap, Count, Span};

/// How the batch is run.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Run")]
#[serde(default)]
pub struct Batch {
    /// Directory of this run [default: runs/TIME-DATASET]
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out: Option<PathBuf>,
    /// Instances solved at the same time
    #[arg(long, short, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<usize>,
    /// Sandboxes starting at the same time [default: one for each processor]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_workers: Option<usize>,
    /// Coming instances whose images are pulled ahead [default: one for each worker]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefetch: Option<usize>,
    /// Independent samples of each instance
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u32>,
    /// Attempts of one sample when the infrastructure fails
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// US dollars of the whole run before it stops
    #[arg(long, value_name = "DOLLARS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_total_cost: Option<Cap<Amount>>,
    /// Time that running attempts have to end after a first signal
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace: Option<Span>,
    /// Sync every event of a trajectory to disk, not only its end
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durable: Option<bool>,
}

/// What makes the exit code other than 0.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Run")]
#[serde(default)]
pub struct Gates {
    /// Failures of the infrastructure that still give exit code 0
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_infra_failures: Option<usize>,
    /// Empty patches that still give exit code 0
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_empty_patches: Option<Cap<Count>>,
    /// Share of resolved instances, from 0 to 1, below which the exit code is 1
    #[arg(long, value_name = "SHARE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_under: Option<Cap<Amount>>,
}
