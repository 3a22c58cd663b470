//! Predictions, the exchange format of SWE-bench.

use serde::{Deserialize, Serialize};

use crate::instance::InstanceId;

/// One line of `predictions.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prediction {
    /// Instance that the patch is for.
    pub instance_id: InstanceId,
    /// Model that made it.
    pub model_name_or_path: String,
    /// The patch, possibly empty.
    pub model_patch: String,
}
