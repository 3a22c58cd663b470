//! What the agent is told.

use serde::{Deserialize, Serialize};

use crate::instance::InstanceId;

/// All that the agent and the sandbox that solves ever learn of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Instance that the task comes from.
    pub id: InstanceId,
    /// Problem statement.
    pub statement: String,
    /// Addresses of images in the statement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    /// Absolute path of the repository as the agent sees it.
    pub workdir: String,
}
