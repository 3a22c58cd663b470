//! The official harness's files: `report.json` of one instance, the summary of a run, both as each generation writes them.

mod signature;
mod summary;
mod text;

use std::collections::BTreeMap;

use schema::grading::{Harness, PatchApplication, TestTally, Verdict};
use schema::instance::InstanceId;
use serde::{Deserialize, Serialize};

pub use signature::{Signature, Tier, signature};
pub use summary::{Entry, Leftovers, Standing, Summary, summarize};
pub use text::text;

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
    /// Whether the log of a run without results shows a fault of the environment; from generation 5 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infra_failure: Option<bool>,
    /// Which sign of a fault the log shows, of the environment or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infra_failure_reason: Option<String>,
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

/// What there is to report of one instance.
#[derive(Debug, Clone, Copy)]
pub struct Graded<'a> {
    /// The instance.
    pub id: &'a InstanceId,
    /// Whether the prediction has a patch, be it an empty one; `false` is `null`.
    pub patch_exists: bool,
    /// What came of it.
    pub verdict: &'a Verdict,
    /// What the log shows of faults that are not the patch's.
    pub signature: Option<Signature>,
}

/// The contents of `report.json`: one report under the instance's id.
pub fn report(graded: &Graded<'_>) -> BTreeMap<String, Report> {
    let verdict = graded.verdict;
    let official = &verdict.official;
    let applied = verdict.application != PatchApplication::Rejected;
    let readable = graded.patch_exists && applied && official.log_readable;
    let five = match official.harness {
        Harness::V4 => false,
        Harness::V5 => true,
    };
    // The sign is looked for only where a patch was run and left nothing to read.
    let sign = graded
        .signature
        .filter(|_| five && graded.patch_exists && !readable);
    let report = Report {
        patch_is_none: !graded.patch_exists,
        patch_exists: graded.patch_exists,
        patch_successfully_applied: readable,
        resolved: readable && verdict.official_resolved,
        infra_failure: five.then(|| sign.is_some_and(|sign| sign.tier() == Tier::Environment)),
        infra_failure_reason: sign.map(|sign| sign.name().to_owned()),
        tests_status: readable.then(|| TestsStatus {
            fail_to_pass: official.fail_to_pass.clone(),
            pass_to_pass: official.pass_to_pass.clone(),
            ..TestsStatus::default()
        }),
    };
    BTreeMap::from([(graded.id.as_str().to_owned(), report)])
}
