//! The official harness's `report.json` of one instance.

use std::collections::BTreeMap;

use schema::grading::{PatchApplication, TestTally, Verdict};
use schema::instance::InstanceId;
use serde::{Deserialize, Serialize};

/// The report of one instance, as it stands under its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Whether there is no patch at all.
    #[serde(rename = "patch_is_None")]
    pub patch_is_none: bool,
    /// Whether there is one.
    pub patch_exists: bool,
    /// Whether it applied and the log could be read.
    pub patch_successfully_applied: bool,
    /// Whether it resolves the issue.
    pub resolved: bool,
    /// What the tests did; only where the log could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_status: Option<TestsStatus>,
}

/// The tests of each list, by what they did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub struct TestsStatus {
    /// Tests that had to turn.
    #[serde(default)]
    pub fail_to_pass: TestTally,
    /// Tests that had to stay.
    #[serde(default)]
    pub pass_to_pass: TestTally,
    /// Always empty: datasets have no such list.
    #[serde(default)]
    pub fail_to_fail: TestTally,
    /// Always empty: datasets have no such list.
    #[serde(default)]
    pub pass_to_fail: TestTally,
}

/// The contents of `report.json`: one report under the instance's id. `patch` is the graded patch, `None` when the prediction has none.
pub fn report(id: &InstanceId, patch: Option<&str>, verdict: &Verdict) -> BTreeMap<String, Report> {
    let applied = verdict.application != PatchApplication::Rejected;
    let readable = applied && verdict.log_readable && patch.is_some();
    let report = Report {
        patch_is_none: patch.is_none(),
        patch_exists: patch.is_some(),
        patch_successfully_applied: readable,
        resolved: readable && verdict.official_resolved,
        tests_status: readable.then(|| TestsStatus {
            fail_to_pass: verdict.fail_to_pass.clone(),
            pass_to_pass: verdict.pass_to_pass.clone(),
            ..TestsStatus::default()
        }),
    };
    BTreeMap::from([(id.as_str().to_owned(), report)])
}
