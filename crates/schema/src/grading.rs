//! How an instance is graded, and what came of it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Everything that grading one instance needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GradingSpec {
    /// Id of the instance; a few parsers choose their rules by it.
    #[serde(default)]
    pub instance_id: String,
    /// Version of the project, empty where the row has none; a few parsers choose their rules by it.
    #[serde(default)]
    pub version: String,
    /// Generation of the official harness whose verdict is to be given.
    #[serde(default)]
    pub harness: Harness,
    /// Script that runs the tests; it is run from the repository's directory.
    pub eval_script: String,
    /// Name of the log parser.
    pub log_parser: String,
    /// The change to the tests, applied after the model's patch; `None` when the script does it itself.
    pub test_patch: Option<String>,
    /// Tests that must pass after the patch and failed before.
    pub fail_to_pass: Vec<String>,
    /// Tests that must still pass.
    pub pass_to_pass: Vec<String>,
    /// What every test must do, where all of them are compared: the log must show these results, and no other test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_map: Option<BTreeMap<String, TestStatus>>,
    /// How the tests' results count.
    #[serde(default)]
    pub eval_type: EvalType,
    /// By whose rules they resolve an issue.
    #[serde(default)]
    pub criterion: Criterion,
    /// What each test did without the fix, where the rules ask for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub earlier: BTreeMap<String, Earlier>,
    /// Seconds that the script may take; `None` leaves it to the run's setting.
    pub timeout_seconds: Option<u64>,
    /// Processors that the tests get by the harness's own rules; `None` leaves it to the run's setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Capabilities of the kernel, without `CAP_`, that the harness adds for these tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
}

/// Where a part of what grading needs comes from; shown before a run and kept with its verdicts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The user gave it.
    Given,
    /// The row has it, in this field.
    Row(String),
    /// Rules for the row's repository have it.
    Rules {
        /// Their file: its path, or `built-in:` and its name.
        file: String,
        /// Version of the project that they name; `None` where they hold for every version.
        version: Option<String>,
    },
    /// What the dataset's family has in common, which is named here.
    Family(String),
    /// Nothing says it, so the usual applies.
    Default,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Given => f.write_str("as given"),
            Self::Row(field) => write!(f, "by the row's `{field}`"),
            Self::Rules {
                file,
                version: Some(version),
            } => write!(f, "by {file} for version {version}"),
            Self::Rules {
                file,
                version: None,
            } => write!(f, "by {file}"),
            Self::Family(family) => write!(f, "by the rule of {family}"),
            Self::Default => f.write_str("by default"),
        }
    }
}

/// Where the parts of a [`GradingSpec`] come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Of the evaluation script, or of the commands that it is made of.
    pub eval_script: Origin,
    /// Of the parser's name.
    pub log_parser: Origin,
    /// Of how results count.
    pub eval_type: Origin,
}

/// A generation of the official harness. They differ in what their parsers call a test, and in what a skipped or missing test means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Harness {
    /// Versions 2.1 to 4.1.
    #[serde(rename = "4")]
    V4,
    /// Version 5.
    #[default]
    #[serde(rename = "5")]
    V5,
}

/// The conditions under which a patch is graded.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// As the dataset's own harness has them: its network, the engine's own capabilities, the image's own environment.
    Official,
    /// No network, the hardening that solving has, a fixed environment.
    #[default]
    Sealed,
}

impl Profile {
    /// The name used in flags, files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Official => "official",
            Self::Sealed => "sealed",
        }
    }
}

impl std::fmt::Display for Profile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// How a test that the log does not show counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvalType {
    /// It failed: the log names every test that ran.
    #[default]
    PassAndFail,
    /// It passed: the log names the failures only.
    FailOnly,
}

/// By whose rules results resolve an issue: the harness of each dataset has its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Criterion {
    /// SWE-bench and all that follow it: every test that had to turn and every one that had to stay passed.
    #[default]
    SweBench,
    /// SWE-bench-Live: those that had to turn passed, and none that had to stay failed; one that is missing did not.
    SweBenchLive,
    /// SWE-bench Pro: each test has a result that says `PASSED`, by its name to the byte.
    SweBenchPro,
    /// Multi-SWE-bench: every test changes as it did with the known fix, none that passed fails, and something is fixed.
    MultiSweBench,
    /// SWE-smith: no test failed; one that is missing passed.
    SweSmith,
    /// R2E-Gym: all results are the expected ones, and there is no other.
    R2eGym,
}

impl Criterion {
    /// Every one, in the order of documents.
    pub const ALL: [Self; 6] = [
        Self::SweBench,
        Self::SweBenchLive,
        Self::SweBenchPro,
        Self::MultiSweBench,
        Self::SweSmith,
        Self::R2eGym,
    ];

    /// The name of the dataset whose rules they are.
    pub fn dataset(self) -> &'static str {
        match self {
            Self::SweBench => "SWE-bench",
            Self::SweBenchLive => "SWE-bench-Live",
            Self::SweBenchPro => "SWE-bench Pro",
            Self::MultiSweBench => "Multi-SWE-bench",
            Self::SweSmith => "SWE-smith",
            Self::R2eGym => "R2E-Gym",
        }
    }
}

/// What a test did without the fix; `None` where it did not run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    /// With the tests as they were.
    pub run: Option<TestStatus>,
    /// With the tests of the fix.
    pub test: Option<TestStatus>,
}

/// What a test did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum TestStatus {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// It broke before it could pass or fail.
    Error,
    /// It was skipped.
    Skipped,
    /// It failed as expected.
    Xfail,
    /// It passed although it was expected to fail.
    Xpass,
}

/// What became of a patch when it was put on a clean tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatchApplication {
    /// It applied as it is.
    Applied,
    /// It applied by three-way merge.
    AppliedWith3way,
    /// It applied with fuzz.
    AppliedWithFuzz,
    /// It did not apply.
    Rejected,
    /// Part of it, or all, was there already, and then all of it is: generation 5 of the official harness takes that, generation 4 does not.
    AlreadyApplied,
    /// There was nothing to apply.
    Empty,
}

/// The tests of one list, by what they did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestTally {
    /// Tests that passed (as the official harness counts it).
    pub success: Vec<String>,
    /// Tests that did not, or never ran.
    pub failure: Vec<String>,
}

impl TestTally {
    /// The share of tests that passed, 1 where there are none: the value of a partial resolution.
    pub fn share(&self) -> f64 {
        let [passed, failed] = [&self.success, &self.failure].map(|tests| {
            // No list of tests is longer than `u32` counts, and `f64` holds all of those.
            f64::from(u32::try_from(tests.len()).unwrap_or(u32::MAX))
        });
        if self.success.is_empty() && self.failure.is_empty() {
            return 1.0;
        }
        passed / (passed + failed)
    }
}

/// What the tests' output in a log was found by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogShape {
    /// There is no log.
    #[default]
    Absent,
    /// The marks around the tests' output.
    Marked,
    /// Nothing: the first versions of the official harness wrote no marks, and their whole log counts.
    Unmarked,
    /// Nothing: logs of this dataset have no marks.
    Whole,
    /// Marks are missing, or the log says that the tests could not be run.
    Unreadable,
}

/// How far a patch resolves its issue by the official rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// All tests do what they should.
    Full,
    /// Some of the tests that had to turn did, and all that had to stay did.
    Partial,
    /// Anything else.
    #[default]
    No,
}

/// What the dataset's own harness says, to the letter: by its names for tests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfficialVerdict {
    /// Which generation's rules these are.
    pub harness: Harness,
    /// What it reports as `patch_successfully_applied`: the log is one of a run of the tests.
    pub log_readable: bool,
    /// How far the issue is resolved.
    pub resolution: Resolution,
    /// Tests that had to turn. A test may be in neither list: officially, some statuses count as nothing.
    pub fail_to_pass: TestTally,
    /// Tests that had to stay.
    pub pass_to_pass: TestTally,
}

/// How many expected tests were found in the log by which rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchCounts {
    /// By the official name.
    pub official: usize,
    /// By the whole name, where the official one is a part of it.
    pub whole: usize,
    /// By the beginning of the name: the expected one ends inside its parameter.
    pub cut: usize,
    /// By the whole name with other white space.
    pub spaced: usize,
    /// Not at all.
    pub missing: usize,
}

/// The grader's word on one patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the patch resolves the issue.
    pub resolved: bool,
    /// What the official harness would say.
    pub official_resolved: bool,
    /// What proves that the log was tampered with, where it says "resolved".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tamper_reason: Option<String>,
    /// What became of the patch.
    pub application: PatchApplication,
    /// Whether the tests were stopped because their time was over.
    pub timed_out: bool,
    /// Whether the log could be read as a run of the tests.
    pub log_readable: bool,
    /// What the tests' output was found by.
    #[serde(default)]
    pub log_shape: LogShape,
    /// The official verdict in full.
    #[serde(default)]
    pub official: OfficialVerdict,
    /// How the expected tests were found.
    #[serde(default)]
    pub matches: MatchCounts,
    /// Exit code of the tests where the log tells it, else of the evaluation script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Tests that had to turn.
    pub fail_to_pass: TestTally,
    /// Tests that had to stay.
    pub pass_to_pass: TestTally,
    /// Expected tests that the log does not show, whatever that counts as.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub absent: BTreeSet<String>,
    /// Status of every test that the log shows, by its whole name.
    pub statuses: BTreeMap<String, TestStatus>,
    /// Why the patch could not be graded as asked (no test in the log, patch rejected), for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
