//! The record of an attempt: a header line and one event a line; and the same as one document.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{Event, Record};
use crate::instance::InstanceId;
use crate::outcome::Outcome;
use crate::version::FormatVersion;

/// What was fixed before the first event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of this format.
    pub schema_version: FormatVersion,
    /// Instance that was solved.
    pub instance_id: InstanceId,
    /// Sample, from 1.
    pub sample: u32,
    /// Attempt, from 1.
    pub attempt: u32,
    /// Model as given on the command line, `provider:name`.
    pub model: String,
    /// Hexadecimal SHA-256 of the run's identity.
    pub config_sha256: String,
    /// Hexadecimal SHA-256 of the rendered system prompt and task.
    pub prompt_sha256: String,
    /// Names of the tools, in the order offered.
    pub tools: Vec<String>,
    /// Sandbox backend that ran it.
    pub sandbox: String,
    /// Commit that the diff is taken against.
    pub start_commit: String,
    /// What sealing removed, as `sandbox` recorded it, and what else a reader may want (limits applied, image digest, versions).
    #[serde(default)]
    pub environment: BTreeMap<String, Value>,
    /// Version of Patchmill.
    pub patchmill: String,
}

/// A whole trajectory: the readable document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trajectory {
    /// What was fixed before.
    pub header: Header,
    /// What happened.
    pub events: Vec<Record>,
}

impl Trajectory {
    /// How it ended, `None` when the log stops before its end.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.events
            .iter()
            .rev()
            .find_map(|record| match &record.event {
                Event::Finished { outcome } => Some(outcome),
                _ => None,
            })
    }
}
