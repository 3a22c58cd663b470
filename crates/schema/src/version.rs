//! Format versions of the files that Patchmill writes.

use serde::{Deserialize, Serialize};

/// Version of a file format: readers accept any `minor` of the `major` that they know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatVersion {
    /// Raised when old readers can no longer read the file.
    pub major: u32,
    /// Raised when a field is added that old readers may ignore.
    pub minor: u32,
}

impl FormatVersion {
    /// Trajectory logs and documents.
    pub const TRAJECTORY: Self = Self { major: 1, minor: 0 };
    /// `validation.json`.
    pub const VALIDATION: Self = Self { major: 1, minor: 0 };
    /// `run.json` and journals.
    pub const RUN: Self = Self { major: 1, minor: 0 };

    /// Whether a reader of this version can read a file of version `found`.
    pub fn reads(self, found: Self) -> bool {
        self.major == found.major
    }
}

impl std::fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
