//! What validating a dataset shows of its instances: whether the known patch resolves each and the unchanged tree does not, every time.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::grading::{Harness, Profile};
use crate::instance::InstanceId;
use crate::version::FormatVersion;

/// Why an instance is not validated, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The dataset has no patch that resolves it.
    NoKnownPatch,
    /// Its row lacks what grading needs, or what it has is of no use.
    Ungradable,
    /// The known patch does not apply.
    PatchRejected,
    /// The known patch never resolves it.
    NeverResolves,
    /// The unchanged tree resolves it.
    ResolvesEmpty,
    /// Repetitions do not come out alike.
    Flakes,
    /// Profiles do not come out alike.
    DiffersBetweenProfiles,
    /// Something else than the patch and its tests failed.
    Infrastructure,
    /// The validation ended before.
    NotRun,
}

impl Reason {
    /// Every reason, the gravest first.
    pub const ALL: [Self; 9] = [
        Self::NoKnownPatch,
        Self::Ungradable,
        Self::PatchRejected,
        Self::NeverResolves,
        Self::ResolvesEmpty,
        Self::Flakes,
        Self::DiffersBetweenProfiles,
        Self::Infrastructure,
        Self::NotRun,
    ];

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoKnownPatch => "no_known_patch",
            Self::Ungradable => "ungradable",
            Self::PatchRejected => "patch_rejected",
            Self::NeverResolves => "never_resolves",
            Self::ResolvesEmpty => "resolves_empty",
            Self::Flakes => "flakes",
            Self::DiffersBetweenProfiles => "differs_between_profiles",
            Self::Infrastructure => "infrastructure",
            Self::NotRun => "not_run",
        }
    }

    /// What it says, for people.
    pub fn text(self) -> &'static str {
        match self {
            Self::NoKnownPatch => "the dataset has no known patch",
            Self::Ungradable => "it cannot be graded",
            Self::PatchRejected => "the known patch does not apply",
            Self::NeverResolves => "the known patch never resolves it",
            Self::ResolvesEmpty => "the unchanged tree resolves it",
            Self::Flakes => "repetitions differ",
            Self::DiffersBetweenProfiles => "profiles differ",
            Self::Infrastructure => "infrastructure",
            Self::NotRun => "not run",
        }
    }

    /// Whether it is the instance's own fault; others say only that nothing is known of it yet.
    pub fn condemns(self) -> bool {
        match self {
            Self::NoKnownPatch
            | Self::Ungradable
            | Self::PatchRejected
            | Self::NeverResolves
            | Self::ResolvesEmpty
            | Self::Flakes
            | Self::DiffersBetweenProfiles => true,
            Self::Infrastructure | Self::NotRun => false,
        }
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// One reason why an instance is not validated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The reason.
    pub reason: Reason,
    /// Profile under which it showed; `None` where it concerns none, or several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Tests that tell it: those that failed, that pass before the fix, or that differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// Expected tests that the log does not show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// What happened, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// What is known of one instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceValidation {
    /// Which.
    pub instance_id: InstanceId,
    /// Whether nothing speaks against it.
    pub validated: bool,
    /// What does, the gravest first.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Tests that had to turn and pass on the unchanged tree too. Where others fail there, that alone is no fault.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passing_before: Vec<String>,
}

/// `validation.json` of a run that validates a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validation {
    /// Version of this file.
    pub schema_version: FormatVersion,
    /// The run's directory.
    pub run_directory: String,
    /// Dataset, as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    /// Profiles that were asked for.
    pub profiles: Vec<String>,
    /// Repetitions.
    pub times: u32,
    /// What some sandboxes did not have of the conditions of a profile, such as `network`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unmet: BTreeMap<Profile, BTreeSet<String>>,
    /// When it was written, RFC 3339 in UTC.
    pub date: String,
    /// Version of Patchmill.
    pub patchmill: String,
    /// Version of the grader.
    pub grader: String,
    /// Generation of the official harness whose verdicts were given.
    pub harness: Harness,
    /// Instances that are validated.
    pub validated: usize,
    /// The others, by their gravest reason.
    pub reasons: BTreeMap<Reason, usize>,
    /// Every instance, by id.
    pub instances: Vec<InstanceValidation>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_files_and_graver_reasons_come_first() {
        for (place, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
            assert!(
                Reason::ALL
                    .iter()
                    .skip(place + 1)
                    .all(|other| reason < *other)
            );
        }
    }
}
