//! How an instance is graded, and what came of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Everything that grading one instance needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GradingSpec {
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
    /// How the tests' results count.
    #[serde(default)]
    pub eval_type: EvalType,
    /// Seconds that the script may take; `None` leaves it to the run's setting.
    pub timeout_seconds: Option<u64>,
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

/// The grader's word on one patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the patch resolves the issue.
    pub resolved: bool,
    /// What the official harness would say.
    pub official_resolved: bool,
    /// Why `resolved` is false although `official_resolved` is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tamper_reason: Option<String>,
    /// What became of the patch.
    pub application: PatchApplication,
    /// Whether the tests were stopped because their time was over.
    pub timed_out: bool,
    /// Whether the log could be read as a run of the tests.
    pub log_readable: bool,
    /// Exit code of the tests where the log tells it, else of the evaluation script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Tests that had to turn.
    pub fail_to_pass: TestTally,
    /// Tests that had to stay.
    pub pass_to_pass: TestTally,
    /// Status of every test that the log shows.
    pub statuses: BTreeMap<String, TestStatus>,
    /// Why the patch could not be graded as asked (no test in the log, patch rejected), for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
