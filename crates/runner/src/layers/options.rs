//! Every setting that can come from a flag, a variable or a file, all optional: `None` means that this layer says nothing.
//!
//! A setting has one name: the flag `--max-steps` is the key `max_steps` in files and the variable `PATCHMILL_MAX_STEPS`.
//! The groups are the help's headings; commands take the groups that they use.

mod agent;
mod batch;
mod images;
mod model;
mod patches;
mod rights;
mod sandbox;
mod scoring;
mod selection;

use clap::Args;
use serde_json::{Map, Value};

pub use agent::{Acting, Agent};
pub use batch::{Batch, Gates};
pub use images::{Images, PullName};
pub use model::Model;
pub use patches::{Grading, HarnessName, PartialName, PatchName, Patches, ProfileName, TamperName};
pub use rights::Rights;
pub use sandbox::{KeepName, Keeping, Sandbox, SandboxName};
pub use scoring::Scoring;
pub use selection::Selection;

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
    /// What becomes of sandboxes.
    #[command(flatten)]
    pub keeping: Keeping,
    /// What becomes of the patches.
    #[command(flatten)]
    pub patches: Patches,
    /// How grading is done.
    #[command(flatten)]
    pub grading: Grading,
    /// How verdicts are counted.
    #[command(flatten)]
    pub scoring: Scoring,
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
pub(crate) const PATHS: [&str; 10] = [
    "dataset",
    "ids_file",
    "out",
    "prices",
    "prompt",
    "quarantine",
    "repos",
    "repository_rules",
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
            keeping: group(table)?,
            patches: group(table)?,
            grading: group(table)?,
            scoring: group(table)?,
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
            serde_json::to_value(&self.keeping)?,
            serde_json::to_value(&self.patches)?,
            serde_json::to_value(&self.grading)?,
            serde_json::to_value(&self.scoring)?,
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
