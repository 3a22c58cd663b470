//! Every setting that can come from a flag, a variable or a file, all optional: `None` means that this layer says nothing.
//!
//! A setting has one name: the flag `--max-steps` is the key `max_steps` in files and the variable `PATCHMILL_MAX_STEPS`.
//! The groups are the help's headings; commands take the groups that they use.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::values::{Amount, Cap, Count, Pair, Size, Span, one_or_many, pairs};

/// Which instances.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Dataset and selection")]
#[serde(default)]
pub struct Selection {
    /// Dataset of issues: JSON or JSON Lines
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset: Option<PathBuf>,
    /// Split to take, where the file holds several
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// Directory of repositories named `<owner>__<name>`, for rows without `repo_path`
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repos: Option<PathBuf>,
    /// Only these instances, by exact id (repeat it, or separate by commas)
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "one_or_many"
    )]
    pub ids: Option<Vec<String>>,
    /// Only the instances that this file names, one id a line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids_file: Option<PathBuf>,
    /// Only the instances whose whole id matches this regular expression
    #[arg(long, value_name = "REGEX")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Python slice over what the filter left: `10`, `5:20`, `::2`
    #[arg(long, value_name = "SLICE", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
    /// Shuffle before slicing
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shuffle: Option<bool>,
    /// Seed of the shuffle
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Part I of N of the selection, for runs divided over machines
    #[arg(long, value_name = "I/N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
}

/// Who solves.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Model")]
#[serde(default)]
pub struct Model {
    /// `openai:NAME` (any server that speaks chat completions), `replay:PATH`, `script:PATH`
    #[arg(long, short, value_name = "PROVIDER:NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Address of the model's server [default: the provider's own]
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Sampling temperature [default: the server's]
    #[arg(long, value_name = "NUMBER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Amount>,
    /// Tokens that one reply may have [default: the server's]
    #[arg(long, value_name = "TOKENS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<Count>,
    /// Tokens that the model's window holds [default: unknown; old outputs are left out only when the server says that it is full]
    #[arg(long, value_name = "TOKENS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Count>,
    /// Ask for streamed replies
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Further fields of the request body, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = json_object)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_body: Option<Map<String, Value>>,
    /// Price in US dollars for a million tokens: `input`, `cached`, `cache_write`, `output`
    #[arg(long, value_name = "KIND=DOLLARS")]
    #[serde(with = "pairs", skip_serializing_if = "Option::is_none")]
    pub price: Option<Vec<Pair>>,
    /// Tries at one request, the first included
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tries: Option<u32>,
    /// Time for one request, its retries included
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_timeout: Option<Span>,
    /// Time for the connection to the model's server
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_timeout: Option<Span>,
    /// Time for the first byte of an answer
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_timeout: Option<Span>,
    /// Time between two bytes of an answer
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Span>,
    /// Further request headers; only in files, since they may hold secrets.
    #[arg(skip)]
    #[serde(with = "pairs", skip_serializing_if = "Option::is_none")]
    pub headers: Option<Vec<Pair>>,
}

/// How the agent works, and when it is stopped.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Agent and its limits")]
#[serde(default)]
pub struct Agent {
    /// Template of the first user message [default: built in]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PathBuf>,
    /// Template of the system prompt [default: built in]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<PathBuf>,
    /// Tools that the model is offered, in this order
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "one_or_many"
    )]
    pub tools: Option<Vec<String>>,
    /// Model replies before an attempt stops
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<Cap<Count>>,
    /// Time of an attempt before it stops; waits for a busy server do not count
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_wall_time: Option<Cap<Span>>,
    /// US dollars of an attempt before it stops
    #[arg(long, value_name = "DOLLARS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<Cap<Amount>>,
    /// Input and output tokens of an attempt before it stops
    #[arg(long, value_name = "TOKENS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<Cap<Count>>,
    /// Rejected `task_done` calls before an attempt stops
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rejections: Option<u32>,
    /// Unreadable replies in a row before an attempt stops
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_format_errors: Option<u32>,
    /// Replies in a row without a tool call before an attempt stops
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_nudges: Option<u32>,
    /// Stop an attempt that repeats the same calls with the same results
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuck_detection: Option<bool>,
}

/// What the agent's tools and checks do, whoever the model is: a replay needs these as the recording had them.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Agent and its limits")]
#[serde(default)]
pub struct Acting {
    /// Complete only with a non-empty diff that is not tests alone
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub must_patch: Option<bool>,
    /// Shell command that must succeed in the sandbox before an attempt completes
    #[arg(long, value_name = "COMMAND")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify_command: Option<String>,
    /// Time for one command of the agent
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_timeout: Option<Span>,
    /// Bytes of one command's output that the model reads
    #[arg(long, value_name = "BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_observation_bytes: Option<Size>,
    /// Longest time that the agent may ask for, for one command
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_command_timeout: Option<Span>,
}

/// Sandbox backends that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxName {
    /// bubblewrap where it works, else local with a warning
    Auto,
    /// A private directory; commands run unconfined as you
    Local,
    /// Read-only system, no network, own processes
    Bubblewrap,
}

/// Network while solving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkName {
    /// No network
    None,
    /// The host's network
    Full,
}

/// Where commands run.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Sandbox")]
#[serde(default)]
pub struct Sandbox {
    /// Where commands run
    #[arg(long, value_name = "BACKEND")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxName>,
    /// Network while solving
    #[arg(long, value_name = "NETWORK")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkName>,
    /// Variable set inside the sandbox; nothing of your own environment gets in
    #[arg(long, value_name = "NAME=VALUE")]
    #[serde(with = "pairs", skip_serializing_if = "Option::is_none")]
    pub env: Option<Vec<Pair>>,
    /// Shell command run once in each sandbox before the agent starts
    #[arg(long, value_name = "COMMAND")]
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "one_or_many"
    )]
    pub setup_command: Option<Vec<String>>,
    /// Memory of each sandbox
    #[arg(long, value_name = "BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Cap<Size>>,
    /// Processors of each sandbox
    #[arg(long, value_name = "NUMBER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Cap<Amount>>,
    /// Processes of each sandbox
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids: Option<Cap<Count>>,
    /// Disk of each sandbox
    #[arg(long, value_name = "BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<Cap<Size>>,
    /// Record a limit that the backend cannot enforce instead of refusing to start
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_effort_limits: Option<bool>,
    /// Time to start one sandbox
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_timeout: Option<Span>,
    /// Bytes kept of one command's output
    #[arg(long, value_name = "BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_bytes: Option<Size>,
    /// Root of the sandboxes' private directories [default: the system's temporary directory]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scratch: Option<PathBuf>,
}

/// Which patch goes into predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatchName {
    /// Without changes to tests
    Model,
    /// Everything that changed
    Full,
}

/// What becomes of failed and cancelled instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartialName {
    /// They get no prediction
    Exclude,
    /// They get one with what was harvested
    Include,
}

/// What becomes of the patches.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Patches and grading")]
#[serde(default)]
pub struct Patches {
    /// Patch that goes into predictions
    #[arg(long, value_name = "KIND")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<PatchName>,
    /// Predictions of failed and cancelled instances
    #[arg(long, value_name = "RULE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<PartialName>,
    /// Glob of paths that count as tests, besides the built-in ones
    #[arg(long, value_name = "GLOB")]
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "one_or_many"
    )]
    pub test_paths: Option<Vec<String>>,
    /// Glob of paths that count as source, whatever the built-in ones say
    #[arg(long, value_name = "GLOB")]
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "one_or_many"
    )]
    pub source_paths: Option<Vec<String>>,
    /// Glob of paths that count as configuration of a test runner
    #[arg(long, value_name = "GLOB")]
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "one_or_many"
    )]
    pub runner_config_paths: Option<Vec<String>>,
    /// Built-in path glob that no longer counts
    #[arg(long, value_name = "GLOB")]
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "one_or_many"
    )]
    pub drop_path_rules: Option<Vec<String>>,
    /// Grade each patch as it appears
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade: Option<bool>,
}

/// How grading is done.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Patches and grading")]
#[serde(default)]
pub struct Grading {
    /// Gradings at the same time [default: one for each processor]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade_workers: Option<usize>,
    /// Time for one evaluation script, where the row says nothing
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade_timeout: Option<Span>,
}

/// How the batch is run.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Run")]
#[serde(default)]
pub struct Batch {
    /// Directory of this run [default: runs/TIME-DATASET]
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out: Option<PathBuf>,
    /// Instances solved at the same time
    #[arg(long, short, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<usize>,
    /// Sandboxes starting at the same time [default: one for each processor]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_workers: Option<usize>,
    /// Independent samples of each instance
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u32>,
    /// Attempts of one sample when the infrastructure fails
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// US dollars of the whole run before it stops
    #[arg(long, value_name = "DOLLARS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_total_cost: Option<Cap<Amount>>,
    /// Time that running attempts have to end after a first signal
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace: Option<Span>,
    /// Sync every event of a trajectory to disk, not only its end
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durable: Option<bool>,
}

/// What makes the exit code other than 0.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Run")]
#[serde(default)]
pub struct Gates {
    /// Failures of the infrastructure that still give exit code 0
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_infra_failures: Option<usize>,
    /// Empty patches that still give exit code 0
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_empty_patches: Option<Cap<Count>>,
    /// Share of resolved instances, from 0 to 1, below which the exit code is 1
    #[arg(long, value_name = "SHARE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_under: Option<Cap<Amount>>,
}

fn json_object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))
}

/// All groups.
#[derive(Debug, Clone, Default, Args)]
pub struct Options {
    /// Which instances.
    #[command(flatten)]
    pub selection: Selection,
    /// Who solves.
    #[command(flatten)]
    pub model: Model,
    /// How the agent works.
    #[command(flatten)]
    pub agent: Agent,
    /// What its tools and checks do.
    #[command(flatten)]
    pub acting: Acting,
    /// Where commands run.
    #[command(flatten)]
    pub sandbox: Sandbox,
    /// What becomes of the patches.
    #[command(flatten)]
    pub patches: Patches,
    /// How grading is done.
    #[command(flatten)]
    pub grading: Grading,
    /// How the batch is run.
    #[command(flatten)]
    pub batch: Batch,
    /// What makes the exit code other than 0.
    #[command(flatten)]
    pub gates: Gates,
}

/// Keys that no flag has.
const FILE_ONLY: [&str; 1] = ["headers"];

/// Keys whose value is a path, relative to the file that names it.
pub(crate) const PATHS: [&str; 7] = [
    "dataset",
    "ids_file",
    "out",
    "prompt",
    "repos",
    "scratch",
    "system_prompt",
];

/// Keys whose values are never shown.
pub(crate) const SECRET: [&str; 2] = ["env", "headers"];

impl Options {
    /// Name of every setting.
    pub fn keys() -> Vec<String> {
        let command = Self::augment_args(clap::Command::new("keys"));
        let arguments = command.get_arguments().map(clap::Arg::get_id);
        let mut keys: Vec<String> = arguments.map(ToString::to_string).collect();
        keys.extend(FILE_ONLY.map(str::to_owned));
        keys.sort();
        keys
    }

    /// Reads all groups from one table; keys of other groups are left alone by each.
    ///
    /// # Errors
    /// When a value has the wrong form.
    pub fn read(table: &Map<String, Value>) -> Result<Self, serde_json::Error> {
        Ok(Self {
            selection: group(table)?,
            model: group(table)?,
            agent: group(table)?,
            acting: group(table)?,
            sandbox: group(table)?,
            patches: group(table)?,
            grading: group(table)?,
            batch: group(table)?,
            gates: group(table)?,
        })
    }

    /// Writes what is set.
    ///
    /// # Errors
    /// When a path is not UTF-8.
    pub fn write(&self) -> Result<Map<String, Value>, serde_json::Error> {
        let groups = [
            serde_json::to_value(&self.selection)?,
            serde_json::to_value(&self.model)?,
            serde_json::to_value(&self.agent)?,
            serde_json::to_value(&self.acting)?,
            serde_json::to_value(&self.sandbox)?,
            serde_json::to_value(&self.patches)?,
            serde_json::to_value(&self.grading)?,
            serde_json::to_value(&self.batch)?,
            serde_json::to_value(&self.gates)?,
        ];
        let tables = groups.into_iter().filter_map(|group| match group {
            Value::Object(table) => Some(table),
            _ => None,
        });
        Ok(tables.flatten().collect())
    }
}

/// Reads one group; the table is borrowed, values are cloned as they are read.
pub(crate) fn group<T: serde::de::DeserializeOwned>(
    table: &Map<String, Value>,
) -> Result<T, serde_json::Error> {
    serde_json::from_value(Value::Object(table.clone()))
}
