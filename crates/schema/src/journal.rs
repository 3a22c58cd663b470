//! The journal of a run: the one event enum that every sink eats (terminal, journal file, reports).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bucket::Bucket;
use crate::grading::{Harness, Profile};
use crate::instance::InstanceId;
use crate::message::Usage;
use crate::outcome::Outcome;

/// Names one attempt of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AttemptKey {
    /// Instance.
    pub instance_id: InstanceId,
    /// Sample, from 1.
    pub sample: u32,
    /// Attempt, from 1.
    pub attempt: u32,
}

impl AttemptKey {
    /// The attempt's directory below `instances/<id>/`.
    pub fn directory_name(&self) -> String {
        format!("s{}-a{}", self.sample, self.attempt)
    }
}

impl std::fmt::Display for AttemptKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} s{}-a{}", self.instance_id, self.sample, self.attempt)
    }
}

/// Why a patch is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyReason {
    /// No file was ever changed.
    NeverEdited,
    /// Only tests were changed.
    TestsOnly,
    /// Changes were made and taken back.
    Reverted,
    /// Only ignored files were changed.
    IgnoredOnly,
    /// A limit came before any change.
    Limit,
    /// The attempt failed.
    Failed,
}

/// What went out of a sandbox, and what was not let out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkUse {
    /// Connections to hosts that may be reached.
    pub connections: u64,
    /// Bytes sent to them.
    pub sent: u64,
    /// Bytes that came from them.
    pub received: u64,
    /// How many times each `host:port` was refused: the first 64 of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, u64>,
    /// Refusals of further hosts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused_others: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What an attempt left as its patch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchSummary {
    /// Bytes of the model patch.
    pub bytes: u64,
    /// Files that it touches.
    pub files: usize,
    /// Bytes of the full patch, tests included.
    pub full_bytes: u64,
    /// Files of class `runner_config` that it touches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runner_config: Vec<String>,
    /// Why the model patch is empty, where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty_reason: Option<EmptyReason>,
    /// How the patches fare on the commit that the row names; `None` when it names none or there is no patch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_base: Option<OnBase>,
}

/// How the patches of an attempt fare on the commit that its row names, from which others may grade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "commit")]
pub enum OnBase {
    /// It is the commit that the attempt started from, to which both apply.
    Start,
    /// The repository has not got it.
    Missing,
    /// It is another one, and both were tried on its tree, as they are.
    Other {
        /// Whether the full patch applies.
        full: bool,
        /// Whether the model patch does.
        model: bool,
    },
}

/// Where an attempt's time went, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// Until the sandbox was sealed.
    pub setup: f64,
    /// Waiting for the model, its retries included.
    pub model: f64,
    /// Running tools.
    pub tool: f64,
    /// From start to removal.
    pub total: f64,
}

/// A verdict, short.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GradeSummary {
    /// Whether the issue is resolved.
    pub resolved: bool,
    /// What the official harness would say.
    pub official_resolved: bool,
    /// What proves that the log was tampered with, where something does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tamper_reason: Option<String>,
    /// The conditions under which it was given.
    pub profile: Profile,
    /// Why it was not resolved, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Its bucket; `None` in runs of versions that had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<Bucket>,
    /// Share of the tests that had to turn and did, where the bucket is `partial` or `timeout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<f64>,
    /// Generation of the official harness whose verdict was given.
    #[serde(default)]
    pub harness: Harness,
    /// What the log shows of faults that are not the patch's, by its name in official reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign: Option<String>,
    /// Expected tests that failed.
    #[serde(default)]
    pub failed_tests: usize,
    /// Expected tests that the log does not show.
    #[serde(default)]
    pub missing_tests: usize,
    /// Whether the verdict is that of an earlier grading of the same patch under the same conditions.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cached: bool,
}

impl GradeSummary {
    /// Its bucket; older runs say only whether it is resolved.
    pub fn bucket(&self) -> Bucket {
        match self.bucket {
            Some(bucket) => bucket,
            None if self.resolved => Bucket::Resolved,
            None if self.tamper_reason.is_some() => Bucket::Tampered,
            None => Bucket::Unresolved,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// One event in the life of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum RunEvent {
    /// A runner took up the run, for the first time or again.
    RunStarted {
        /// Attempts planned now.
        planned: usize,
        /// Attempts that were already done.
        done: usize,
    },
    /// An attempt began.
    AttemptStarted {
        /// Which.
        key: AttemptKey,
        /// Hexadecimal SHA-256 of the row it solves; resume compares it.
        row_sha256: String,
    },
    /// Its sandbox stands, sealed.
    SandboxReady {
        /// Which attempt.
        key: AttemptKey,
        /// Backend that runs it.
        backend: String,
        /// Identifier by which the backend removes it.
        place: String,
        /// Commit that the diff is taken against.
        start_commit: String,
    },
    /// An attempt ended and its files are on disk.
    AttemptFinished {
        /// Which.
        key: AttemptKey,
        /// How.
        outcome: Outcome,
        /// Model replies received.
        steps: u32,
        /// Tokens and cost.
        usage: Usage,
        /// Where the time went.
        seconds: Seconds,
        /// What it left.
        patch: PatchSummary,
        /// What went out of its sandbox, where only some hosts could be reached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        network: Option<NetworkUse>,
    },
    /// A sandbox is not removed, so that people can look into it.
    SandboxKept {
        /// The attempt that it served, or whose patch was graded in it.
        key: AttemptKey,
        /// Grading, from 1, where it served one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grading: Option<u32>,
        /// Backend that it is of.
        backend: String,
        /// Identifier by which the backend removes it.
        place: String,
        /// Command by which people get into it.
        open: String,
        /// Shell text that starts shells there where the agent's started.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        shell_init: String,
    },
    /// An image was removed to make room on the disk.
    ImageRemoved {
        /// Its name.
        image: String,
        /// Its content's digest, as the engine names it.
        id: String,
        /// Bytes of its layers, those that it shared with others included.
        bytes: u64,
    },
    /// A failed attempt will be followed by another.
    RetryPlanned {
        /// The attempt that failed.
        key: AttemptKey,
        /// Name of the failure kind.
        kind: String,
    },
    /// Grading of a patch began.
    GradeStarted {
        /// The attempt whose patch it is.
        key: AttemptKey,
        /// Grading, from 1.
        grading: u32,
    },
    /// Grading ended with a verdict.
    GradeFinished {
        /// The attempt whose patch it is.
        key: AttemptKey,
        /// Grading, from 1.
        grading: u32,
        /// The verdict.
        grade: GradeSummary,
        /// Seconds it took.
        seconds: f64,
    },
    /// Grading could not be done: an infrastructure failure.
    GradeFailed {
        /// The attempt whose patch it is.
        key: AttemptKey,
        /// Grading, from 1.
        grading: u32,
        /// Name of the failure kind.
        kind: String,
        /// What happened, for people.
        message: String,
    },
    /// The run stops early: credentials, billing, budget, breaker, engine.
    Aborted {
        /// What tripped, for people.
        reason: String,
    },
    /// Something that people should know although the run goes on.
    Warning {
        /// Text.
        message: String,
    },
    /// A signal asked the run to end.
    Interrupted {
        /// Its name, such as `SIGINT`.
        signal: String,
    },
    /// The runner is done.
    RunFinished {
        /// Its exit code.
        exit_code: u8,
    },
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalLine {
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// What.
    #[serde(flatten)]
    pub event: RunEvent,
}
