//! What came of replaying one file.

use std::path::PathBuf;

use schema::{FailureKind, Outcome};
use serde::Serialize;

use crate::replay::Comparison;

/// How a final patch compares with the one that the run wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PatchMatch {
    /// Byte for byte the same.
    Same,
    /// It differs.
    Differs,
    /// No patch lies beside the trajectory.
    Unknown,
    /// The replay did not come to the end.
    Unreached,
}

/// What came of replaying one file.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) file: PathBuf,
    pub(super) instance_id: String,
    #[serde(flatten)]
    pub(super) comparison: Comparison,
    pub(super) patch: PatchMatch,
    /// How the replay ended where it ended before the recording did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<Outcome>,
}

impl Report {
    pub(super) fn is_same(&self) -> bool {
        self.comparison.divergence.is_none()
            && self.comparison.whole
            && self.patch != PatchMatch::Differs
    }

    /// Whether the sandbox, not the replay, is what went wrong.
    pub(super) fn broke(&self) -> bool {
        matches!(
            self.ended,
            Some(Outcome::Failed {
                reason: FailureKind::EnvironmentImage
                    | FailureKind::EnvironmentStart
                    | FailureKind::EnvironmentLost
                    | FailureKind::EnvironmentDisk,
                ..
            })
        )
    }
}
