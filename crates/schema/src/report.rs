//! What a run says about itself at its end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::message::Usage;

/// The summary object of a run: printed by `--format json`, kept in `report.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The run's directory.
    pub run_directory: String,
    /// Instances selected, counted once for each sample.
    pub selected: usize,
    /// Count by outcome name (`completed`, `stopped`, `failed`, `cancelled`), last attempts only.
    pub outcomes: BTreeMap<String, usize>,
    /// Count by `outcome:reason`, where there is a reason.
    pub reasons: BTreeMap<String, usize>,
    /// Count by verdict (`resolved`, `unresolved`, `ungraded`, `error`).
    pub verdicts: BTreeMap<String, usize>,
    /// Tokens and cost over all attempts.
    pub usage: Usage,
    /// Wall time in seconds.
    pub seconds: f64,
    /// Exit code of the command.
    pub exit_code: u8,
}
