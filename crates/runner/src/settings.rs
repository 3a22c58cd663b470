//! Settings of a run after all layers are resolved: plain values, no options left open.
//!
//! [`Identity`] holds what changes outcomes; it is hashed into `run.json`, and `--resume` refuses a run whose identity differs.
//! [`Operation`] holds what does not; it may change from one resume to the next. Secrets are in neither: they are never written anywhere.

mod identity;
mod operation;
mod retry;
mod transport;
mod trials;

use std::path::PathBuf;

use sandbox::place::host::KeepCommand;
use secrecy::SecretString;

pub use identity::{Difference, Identity, PatchKind, PathRules, Prompts, SandboxChoice};
pub use operation::{
    KeepSandbox, Operation, PartialPatches, Processors, ProfileChoice, ResumeMode,
};
pub use retry::RetrySelector;
pub use transport::{Price, Transport};
pub use trials::{Trial, TrialPatch, Trials};

/// Everything that `runner run` does, resolved.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// Directory of this run, `<out>/<run>`.
    pub run_directory: PathBuf,
    /// What changes outcomes.
    pub identity: Identity,
    /// What does not.
    pub operation: Operation,
    /// What is never written.
    pub secrets: Secrets,
    /// How the keepers of sandboxes on this machine are started: by the runner's own binary, which another program must name.
    pub keep: KeepCommand,
}

impl RunSettings {
    /// Settings of a run of this binary.
    pub fn new(
        run_directory: PathBuf,
        identity: Identity,
        operation: Operation,
        secrets: Secrets,
    ) -> Self {
        Self {
            run_directory,
            identity,
            operation,
            secrets,
            keep: KeepCommand::default(),
        }
    }

    /// The run's name: the last component of its directory.
    pub fn run_name(&self) -> String {
        self.run_directory.file_name().map_or_else(
            || "run".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
    }
}

/// What is never written to a file, a log or a terminal.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    /// Key for the model's server.
    pub api_key: Option<SecretString>,
    /// Further request headers, whose values may be secret.
    pub headers: Vec<(String, SecretString)>,
    /// Configuration files, which may hold any of them.
    pub files: Vec<PathBuf>,
    /// Values of the variables set inside the sandbox (`--env K=V`).
    pub environment: Vec<(String, SecretString)>,
}
