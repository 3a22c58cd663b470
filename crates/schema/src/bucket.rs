//! What became of a graded instance, in one word: every instance of a report is in exactly one bucket.

use serde::{Deserialize, Serialize};

/// What became of a graded instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bucket {
    /// All tests do what they should.
    Resolved,
    /// The tests ran, and the issue is not resolved.
    Unresolved,
    /// Some of the tests that had to turn did, and all that had to stay did.
    Partial,
    /// There was nothing to apply.
    EmptyPatch,
    /// The patch does not apply.
    PatchRejected,
    /// The tests were stopped because their time was over.
    Timeout,
    /// The image that the tests run in cannot be had.
    ImageMissing,
    /// Something else than the patch and its tests failed.
    InfraFailure,
    /// The evaluation script left no sign that a test ran.
    NoTestsRan,
    /// The log says resolved, and was tampered with.
    Tampered,
}

/// Where the official harness's run summary lists an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfficialClass {
    /// Its report was written.
    Completed,
    /// Its patch is empty: it was not run.
    EmptyPatch,
    /// It has no report.
    Error,
}

impl Bucket {
    /// Every bucket, in the order of reports.
    pub const ALL: [Self; 10] = [
        Self::Resolved,
        Self::Unresolved,
        Self::Partial,
        Self::EmptyPatch,
        Self::PatchRejected,
        Self::Timeout,
        Self::ImageMissing,
        Self::InfraFailure,
        Self::NoTestsRan,
        Self::Tampered,
    ];

    /// The name used in files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Resolved => "resolved",
            Self::Unresolved => "unresolved",
            Self::Partial => "partial",
            Self::EmptyPatch => "empty_patch",
            Self::PatchRejected => "patch_rejected",
            Self::Timeout => "timeout",
            Self::ImageMissing => "image_missing",
            Self::InfraFailure => "infra_failure",
            Self::NoTestsRan => "no_tests_ran",
            Self::Tampered => "tampered",
        }
    }

    /// Where the official harness's run summary lists an instance of this bucket.
    pub fn official_class(self) -> OfficialClass {
        match self {
            Self::Resolved
            | Self::Unresolved
            | Self::Partial
            | Self::NoTestsRan
            | Self::Tampered => OfficialClass::Completed,
            Self::EmptyPatch => OfficialClass::EmptyPatch,
            Self::PatchRejected | Self::Timeout | Self::ImageMissing | Self::InfraFailure => {
                OfficialClass::Error
            }
        }
    }

    /// Whether the bucket says something of the patch. What does not is no verdict, and is graded again when asked.
    pub fn is_verdict(self) -> bool {
        match self {
            Self::Resolved
            | Self::Unresolved
            | Self::Partial
            | Self::EmptyPatch
            | Self::PatchRejected
            | Self::Timeout
            | Self::NoTestsRan
            | Self::Tampered => true,
            Self::ImageMissing | Self::InfraFailure => false,
        }
    }
}

impl std::fmt::Display for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_those_of_the_files() {
        for bucket in Bucket::ALL {
            let json = serde_json::to_value(bucket).unwrap();
            assert_eq!(json, bucket.name());
            let same = Bucket::ALL
                .iter()
                .filter(|other| other.name() == bucket.name());
            assert_eq!(same.count(), 1);
        }
    }
}
