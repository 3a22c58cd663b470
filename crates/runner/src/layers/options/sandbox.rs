//! Where commands run.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use serde::{Deserialize, Serialize};

use super::{Images, Rights};
use crate::layers::values::{Amount, Cap, Count, Pair, Reach, Size, Span, one_or_many, pairs};

/// Sandbox backends that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxName {
    /// docker for rows with an image where an engine answers, else bubblewrap where it works, else local with a warning
    Auto,
    /// A private directory; commands run unconfined as you
    Local,
    /// Read-only system, no network, own processes
    Bubblewrap,
    /// A container from the row's image
    Docker,
    /// The same by Podman's service
    Podman,
    /// The row's image by `apptainer`; not yet run on the real program
    Apptainer,
}

/// Which sandboxes are not removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeepName {
    /// None
    Never,
    /// Those of attempts that failed, and of gradings that failed or found the issue unresolved
    OnFailure,
    /// All
    Always,
}

/// What becomes of sandboxes.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Sandbox")]
#[serde(default)]
pub struct Keeping {
    /// Sandboxes that are stopped and not removed; `runner clean --kept` removes them
    #[arg(long, value_name = "WHICH")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_sandbox: Option<KeepName>,
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
    /// Which images.
    #[command(flatten)]
    #[serde(flatten)]
    pub images: Images,
    /// Shell text that starts the agent's shell, the checks and grading [default: the dataset's, where an image is used]
    #[arg(long, value_name = "TEXT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell_init: Option<String>,
    /// Network while solving: `none`, `full` (the host's), or `allow=HOST[:PORT],…` for these hosts alone, by way of an HTTP proxy (docker only;
    /// `*.HOST` stands for all below it, no port for 80 and 443; hosts of a private network are named by address)
    #[arg(long, value_name = "NETWORK")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Reach>,
    /// What programs may do.
    #[command(flatten)]
    #[serde(flatten)]
    pub rights: Rights,
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
    /// Free disk below which no instance starts
    #[arg(long, value_name = "BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_free_disk: Option<Cap<Size>>,
    /// Remove images that Patchmill pulled and no instance needs any more, the least recently used first, when the disk is that full
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evict_images: Option<bool>,
    /// Time that an engine may be away before the run ends
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_wait: Option<Span>,
    /// Time that a registry may give nothing, being away or limiting pulls, before instances that need its images fail
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry_wait: Option<Span>,
    /// Bytes kept of one command's output
    #[arg(long, value_name = "BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_bytes: Option<Size>,
    /// Root of the sandboxes' private directories [default: the system's temporary directory]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scratch: Option<PathBuf>,
}
