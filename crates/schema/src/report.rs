//! What a run says about itself at its end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bucket::Bucket;
use crate::examination::Examination;
use crate::grading::{Harness, Profile, Verdict};
use crate::instance::InstanceId;
use crate::message::Usage;

/// The summary object of a run: printed by `--format json`, the head of `report.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The run's directory.
    pub run_directory: String,
    /// Instances selected, counted once for each sample.
    pub selected: usize,
    /// Count by outcome name (`completed`, `stopped`, `failed`, `cancelled`), last attempts only.
    pub outcomes: BTreeMap<String, usize>,
    /// Count by `outcome:reason`, where there is a reason.
    pub reasons: BTreeMap<String, usize>,
    /// Count by verdict (`resolved`, `unresolved`, `ungraded`, `error`).
    pub verdicts: BTreeMap<String, usize>,
    /// Tokens and cost over all attempts.
    pub usage: Usage,
    /// Wall time in seconds.
    pub seconds: f64,
    /// Exit code of the command.
    pub exit_code: u8,
    /// The verdicts in sum; `None` when nothing was graded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grading: Option<GradingSummary>,
}

/// A share of instances, with the interval that holds the true share with a confidence of 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Instances counted.
    pub count: usize,
    /// Instances in all.
    pub of: usize,
    /// `count / of`, 0 where there are none.
    pub rate: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// The verdicts of a run in sum. Each selected instance, once for each sample, is in one bucket or incomplete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GradingSummary {
    /// Generation of the official harness whose verdicts were given.
    pub harness: Harness,
    /// Gradings by profile.
    pub profiles: BTreeMap<Profile, usize>,
    /// Instances by bucket; every bucket is there.
    pub buckets: BTreeMap<Bucket, usize>,
    /// Instances without a prediction, or not graded yet.
    pub incomplete: usize,
    /// Resolved ones of those that are not incomplete.
    pub resolved_of_submitted: Rate,
    /// Resolved ones of all.
    pub resolved_of_all: Rate,
    /// What the official harness would call resolved, of those that are not incomplete.
    pub official_resolved_of_submitted: Rate,
    /// Mean share of the tests that turned, over the instances in bucket `partial`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial_mean: Option<f64>,
    /// Verdicts taken from earlier gradings.
    pub cached: usize,
    /// Seconds of all gradings.
    pub seconds: f64,
    /// The rates without the instances in quarantine; `None` where the run has no quarantine file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_quarantined: Option<WithoutQuarantined>,
}

/// The rates without the instances that say nothing of a patch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WithoutQuarantined {
    /// Instances left out, once for each sample.
    pub quarantined: usize,
    /// Resolved ones of those that are not incomplete.
    pub resolved_of_submitted: Rate,
    /// Resolved ones of all.
    pub resolved_of_all: Rate,
    /// What the official harness would call resolved, of those that are not incomplete.
    pub official_resolved_of_submitted: Rate,
}

/// `report.json` of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The counts.
    #[serde(flatten)]
    pub summary: Summary,
    /// Every instance, once for each sample.
    pub instances: Vec<InstanceReport>,
}

/// What became of one sample of an instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceReport {
    /// Which.
    pub instance_id: InstanceId,
    /// Sample, from 1.
    pub sample: u32,
    /// Its bucket; `None` when it is incomplete.
    pub bucket: Option<Bucket>,
    /// What the official harness would say; `None` when there is no verdict.
    pub official_resolved: Option<bool>,
    /// Share of the tests that had to turn and did, where the bucket is `partial` or `timeout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<f64>,
    /// Why it is not resolved, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What its log shows of faults that are not the patch's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign: Option<String>,
    /// Expected tests that failed.
    #[serde(default)]
    pub failed_tests: usize,
    /// Expected tests that the log does not show.
    #[serde(default)]
    pub missing_tests: usize,
    /// Whether the verdict is that of an earlier grading.
    #[serde(default)]
    pub cached: bool,
    /// Why it is in quarantine, where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantined: Option<String>,
    /// The conditions under which the verdict was given; `None` when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Seconds of the grading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// `verdict.json` of one grading: the verdict, and all that was learned on the way to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GradingReport {
    /// The verdict.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Its bucket.
    pub bucket: Bucket,
    /// Share of the tests that had to turn and did, where the bucket is `partial` or `timeout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<f64>,
    /// Expected tests that failed.
    #[serde(default)]
    pub failed: Vec<String>,
    /// Expected tests that the log does not show.
    #[serde(default)]
    pub missing: Vec<String>,
    /// What the log shows of faults that are not the patch's, by its name in official reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign: Option<String>,
    /// The conditions under which it was given.
    pub profile: Profile,
    /// What of these conditions the sandbox did not have, such as `network`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmet: Vec<String>,
    /// Log parser.
    pub log_parser: String,
    /// Version of the grader.
    pub grader: String,
    /// Hexadecimal SHA-256 of all that the verdict depends on; `None` where something of it has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_key: Option<String>,
    /// Whether the verdict is that of an earlier grading with this key.
    #[serde(default)]
    pub cached: bool,
    /// Number of the grading whose log it was given on, where no test was run for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_again: Option<u32>,
    /// Seconds that the grading took, or that earlier one.
    pub seconds: f64,
    /// The second look at a verdict that says "resolved"; `None` where the tests were not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub examination: Option<Examination>,
}
