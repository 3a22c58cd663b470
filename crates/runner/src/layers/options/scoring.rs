//! How verdicts are counted.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde::{Deserialize, Serialize};

/// How verdicts are counted.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Patches and grading")]
#[serde(default)]
pub struct Scoring {
    /// Instances whose tests cannot be relied on, as `runner validate` writes them down: graded like all others, and the rates are given with and
    /// without them
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<PathBuf>,
}
