//! What does not change outcomes.

use std::path::PathBuf;
use std::time::Duration;

use sandbox::limits::Limit;
use sandbox::place::docker::Pull;
use schema::examination::TamperCheck;
use schema::grading::Harness;
use schema::seconds;
use serde::{Deserialize, Serialize};

use super::{RetrySelector, Transport, Trials};

/// What to do with a run directory that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResumeMode {
    /// Refuse it: the run is new.
    New,
    /// Go on; unfinished attempts start again, clean.
    Restart,
    /// Go on; what unfinished attempts had done is done again in fresh sandboxes, and they continue from there.
    Replay,
}

/// What becomes of failed and cancelled instances in the predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartialPatches {
    /// They get no line.
    Exclude,
    /// They get a line with what was harvested.
    Include,
}

/// Which sandboxes are not removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepSandbox {
    /// None.
    #[default]
    Never,
    /// Those whose attempt or grading failed, or found the issue unresolved.
    OnFailure,
    /// All.
    Always,
}

impl KeepSandbox {
    /// Whether the sandbox of something that failed, or did not, is kept.
    pub fn keeps(self, failed: bool) -> bool {
        match self {
            Self::Never => false,
            Self::OnFailure => failed,
            Self::Always => true,
        }
    }
}

/// Profile under which patches are graded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileChoice {
    /// For each instance the one that its dataset and its image call for.
    #[default]
    Auto,
    /// As the dataset's own harness has it.
    Official,
    /// Without network, in a fixed environment.
    Sealed,
}

impl ProfileChoice {
    /// The name used in flags and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Official => "official",
            Self::Sealed => "sealed",
        }
    }
}

/// Processors that a sandbox may use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Processors {
    /// So many.
    AtMost(f64),
    /// All that there are.
    All,
}

impl From<Processors> for Option<Limit<f64>> {
    fn from(processors: Processors) -> Self {
        match processors {
            Processors::AtMost(value) => Some(Limit {
                value,
                explicit: true,
            }),
            Processors::All => None,
        }
    }
}

/// What does not change outcomes: recorded in `run.json`, free to differ on resume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    /// Dataset file, as given.
    pub dataset: Option<PathBuf>,
    /// Split that was asked for.
    #[serde(default)]
    pub split: Option<String>,
    /// Subset that was asked for.
    #[serde(default)]
    pub subset: Option<String>,
    /// Directory that holds the dataset file: `repo_path` of a row is relative to it.
    pub dataset_directory: PathBuf,
    /// Directory of repositories, `<owner>__<name>` each.
    pub repositories: Option<PathBuf>,
    /// Root of the sandboxes' private directories; `None` is the system's temporary directory.
    pub scratch: Option<PathBuf>,
    /// Which sandboxes are not removed.
    #[serde(default)]
    pub keep_sandbox: KeepSandbox,
    /// When images are pulled.
    #[serde(default)]
    pub pull: Pull,
    /// Images pulled at the same time.
    #[serde(default)]
    pub pulls: usize,
    /// Coming instances whose images are pulled ahead.
    #[serde(default)]
    pub prefetch: usize,
    /// Whether images that this tool pulled are removed when the disk is nearly full.
    #[serde(default)]
    pub evict_images: bool,
    /// Time that an engine may be away before the run ends.
    #[serde(with = "seconds", default)]
    pub engine_wait: Duration,
    /// Time that pulls wait for a registry that gives nothing.
    #[serde(with = "seconds", default)]
    pub registry_wait: Duration,
    /// Attempts that solve at the same time.
    pub workers: usize,
    /// Attempts whose sandboxes start at the same time.
    pub start_workers: usize,
    /// Samples of each instance.
    pub samples: u32,
    /// What the samples are, where the run validates a dataset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials: Option<Trials>,
    /// Attempts of one sample, retries after failures of the infrastructure included.
    pub max_attempts: u32,
    /// Requests to the model's server.
    pub transport: Transport,
    /// Whether patches are graded as they appear.
    pub grade: bool,
    /// Gradings at the same time.
    pub grade_workers: usize,
    /// Time for one evaluation script, where the row says nothing.
    #[serde(with = "seconds")]
    pub grade_timeout: Duration,
    /// File or directory that says how the tests of repositories are run, besides the built-in rules.
    #[serde(default)]
    pub repository_rules: Option<PathBuf>,
    /// Whether verdicts of earlier gradings are taken, and kept for later ones.
    #[serde(default)]
    pub grade_cache: bool,
    /// Processors of each sandbox that grades, where the user says so: a number, or that there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade_cpus: Option<Processors>,
    /// Under which conditions patches are graded.
    #[serde(default)]
    pub grade_profile: ProfileChoice,
    /// When a verdict that says "resolved" is looked at a second time.
    #[serde(default)]
    pub tamper_check: TamperCheck,
    /// Generation of the official harness whose verdicts are given.
    #[serde(default)]
    pub harness: Harness,
    /// What becomes of failed and cancelled instances in the predictions.
    pub partial: PartialPatches,
    /// What to do with a run directory that exists.
    pub resume: ResumeMode,
    /// Finished instances that get a new attempt.
    pub retry: Vec<RetrySelector>,
    /// Time that running attempts have after a first signal.
    #[serde(with = "seconds")]
    pub grace: Duration,
    /// Failures of the infrastructure that still give code 0.
    pub max_infra_failures: usize,
    /// US dollars that the whole run may cost.
    pub max_total_cost: Option<f64>,
    /// Instances with an empty patch that still give code 0; `None` asks for no such gate.
    pub max_empty_patches: Option<usize>,
    /// Share of resolved instances below which the code is 1, from 0 to 1; `None` asks for no such gate.
    pub fail_under: Option<f64>,
    /// Whether each trajectory event is synced to disk.
    pub durable: bool,
    /// Registry that stands in for the engine's default one.
    #[serde(default)]
    pub image_mirror: Option<String>,
    /// Free bytes below which no instance starts; `None` does not look.
    #[serde(default)]
    pub min_free_disk: Option<u64>,
    /// Time that starts wait for room on the disk before they fail.
    #[serde(with = "seconds", default)]
    pub disk_wait: Duration,
    /// Time to start one sandbox.
    #[serde(with = "seconds")]
    pub start_timeout: Duration,
    /// Bytes stored of one command's output.
    pub max_output_bytes: u64,
    /// Whether the user asked for the network setting, which a backend must then enforce.
    pub network_explicit: bool,
    /// Whether limits that the backend cannot enforce are recorded instead of refused.
    pub best_effort_limits: bool,
}
