//! The run directory: what lies where, and what is written in which order.
//!
//! ```text
//! runs/<run>/
//!   run.json                         identity and operation
//!   selection.json                   the instances that it is about
//!   quarantine.toml                  those of them whose tests cannot be relied on, where somebody named some
//!   validation.json                  what validating a dataset showed
//!   writers/<writer>/journal.jsonl   events of one runner, with its owner file
//!   instances/<id>/s<k>-a<n>/        files of sample k, attempt n
//!   patches/  trajectories/          the attempt that counts, by instance
//!   predictions.jsonl  preds.json    derived from the journals
//! ```
//! Evidence is appended by one writer or replaced whole, never deleted.

pub mod append;
pub mod atomic;
pub mod derived;
pub mod journal;
pub mod ledger;
pub mod outputs;
pub mod owner;
pub mod selection;
pub mod trajectory;

use std::fs;
use std::path::{Path, PathBuf};

use schema::journal::AttemptKey;
use schema::{FormatVersion, InstanceId};
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::error::{At, Error};
use crate::settings::{Identity, Operation};

/// Directory of the runs that were given no other.
pub const RUNS: &str = "runs";

/// `run.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFile {
    /// Version of this file and of the journals.
    pub schema_version: FormatVersion,
    /// The run's name.
    pub run: String,
    /// When it began, RFC 3339 in UTC.
    pub created: String,
    /// Version of Patchmill that began it.
    pub patchmill: String,
    /// Hexadecimal SHA-256 of `identity`.
    pub identity_sha256: String,
    /// What changes outcomes.
    pub identity: Identity,
    /// What does not, as it was when the run was last taken up.
    pub operation: Operation,
}

/// The part of `run.json` that every version has.
#[derive(Deserialize)]
struct Versioned {
    schema_version: FormatVersion,
}

/// Paths of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDirectory {
    root: PathBuf,
}

impl RunDirectory {
    /// The run at `root`, which need not exist.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Its root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `run.json`.
    pub fn run_file(&self) -> PathBuf {
        self.root.join("run.json")
    }

    /// `selection.json`.
    pub fn selection(&self) -> PathBuf {
        self.root.join("selection.json")
    }

    /// `validation.json`, of a run that validates a dataset.
    pub fn validation(&self) -> PathBuf {
        self.root.join("validation.json")
    }

    /// `quarantine.toml`, the run's copy of the file that it was given.
    pub fn quarantine(&self) -> PathBuf {
        self.root.join("quarantine.toml")
    }

    /// `writers/`.
    pub fn writers(&self) -> PathBuf {
        self.root.join("writers")
    }

    /// `instances/<id>/`.
    pub fn instance(&self, id: &InstanceId) -> PathBuf {
        self.root.join("instances").join(id.file_name())
    }

    /// `instances/<id>/s<k>-a<n>/`.
    pub fn attempt(&self, key: &AttemptKey) -> AttemptDirectory {
        AttemptDirectory {
            root: self.instance(&key.instance_id).join(key.directory_name()),
        }
    }

    /// `patches/<id>.patch`, `patches/<id>.s<k>.patch` for k > 1.
    pub fn patch(&self, id: &InstanceId, sample: u32) -> PathBuf {
        let name = sample_file(id, sample, "patch");
        self.root.join("patches").join(name)
    }

    /// `trajectories/<id>.json`, `trajectories/<id>.s<k>.json` for k > 1.
    pub fn trajectory(&self, id: &InstanceId, sample: u32) -> PathBuf {
        let name = sample_file(id, sample, "json");
        self.root.join("trajectories").join(name)
    }

    /// `predictions.jsonl`, `predictions.s<k>.jsonl` for k > 1.
    pub fn predictions(&self, sample: u32) -> PathBuf {
        self.root.join(match sample {
            1 => "predictions.jsonl".to_owned(),
            sample => format!("predictions.s{sample}.jsonl"),
        })
    }

    /// `preds.json`.
    pub fn preds(&self) -> PathBuf {
        self.root.join("preds.json")
    }

    /// Reads `run.json`, `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be read, or was written by another major version.
    pub fn read_run_file(&self) -> Result<Option<RunFile>, Error> {
        let path = self.run_file();
        let text = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            text => text.at("read", &path)?,
        };
        let malformed = |error: serde_json::Error| Error::Format {
            path: path.clone(),
            message: error.to_string(),
        };
        let found = serde_json::from_slice::<Versioned>(&text).map_err(malformed)?;
        if !FormatVersion::RUN.reads(found.schema_version) {
            return Err(Error::Format {
                path,
                message: format!(
                    "it has format {}, this version reads {}",
                    found.schema_version,
                    FormatVersion::RUN
                ),
            });
        }
        serde_json::from_slice(&text).map(Some).map_err(malformed)
    }

    /// Writes `run.json`, keeping when the run began and what began it.
    ///
    /// # Errors
    /// When the directory or the file cannot be written.
    pub fn write_run_file(
        &self,
        name: &str,
        identity: &Identity,
        operation: &Operation,
        before: Option<&RunFile>,
    ) -> Result<(), Error> {
        let file = RunFile {
            schema_version: FormatVersion::RUN,
            run: name.to_owned(),
            created: before.map_or_else(|| clock::text(clock::now()), |run| run.created.clone()),
            patchmill: before.map_or_else(
                || env!("CARGO_PKG_VERSION").to_owned(),
                |run| run.patchmill.clone(),
            ),
            identity_sha256: identity.sha256(),
            identity: identity.clone(),
            operation: operation.clone(),
        };
        let path = self.run_file();
        let mut text = serde_json::to_vec_pretty(&file).map_err(|error| Error::Format {
            path: path.clone(),
            message: error.to_string(),
        })?;
        text.push(b'\n');
        atomic::replace_bytes(&path, &text).at("write", path)
    }

    /// Makes the directories that every run has, and sweeps what a dead runner left half written.
    ///
    /// # Errors
    /// When one cannot be made.
    pub fn lay_out(&self) -> Result<(), Error> {
        for name in ["writers", "instances", "patches", "trajectories"] {
            let path = self.root.join(name);
            fs::create_dir_all(&path).at("create", &path)?;
            atomic::sweep(&path).at("clean", &path)?;
        }
        atomic::sweep(&self.root).at("clean", &self.root)
    }
}

fn sample_file(id: &InstanceId, sample: u32, extension: &str) -> String {
    let name = id.file_name();
    if sample == 1 {
        format!("{name}.{extension}")
    } else {
        format!("{name}.s{sample}.{extension}")
    }
}

/// Paths of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptDirectory {
    root: PathBuf,
}

impl AttemptDirectory {
    /// Its root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `trajectory.jsonl`.
    pub fn trajectory(&self) -> PathBuf {
        self.root.join("trajectory.jsonl")
    }

    /// `full.patch`.
    pub fn full_patch(&self) -> PathBuf {
        self.root.join("full.patch")
    }

    /// `model.patch`.
    pub fn model_patch(&self) -> PathBuf {
        self.root.join("model.patch")
    }

    /// `attempt.log`.
    pub fn log(&self) -> PathBuf {
        self.root.join("attempt.log")
    }

    /// `outputs/`.
    pub fn outputs(&self) -> PathBuf {
        self.root.join("outputs")
    }

    /// `grade-<g>/`.
    pub fn grading(&self, grading: u32) -> PathBuf {
        self.root.join(format!("grade-{grading}"))
    }
}
