//! The quarantine file: instances that say nothing of a patch, since their own tests cannot be relied on.

use serde::{Deserialize, Serialize};

use crate::instance::InstanceId;

/// The file, in TOML. Only the ids are needed: people may write one by hand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantine {
    /// When it was written, RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Dataset that was validated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    /// Profiles that it was validated under.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<String>,
    /// Repetitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// Version of Patchmill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patchmill: Option<String>,
    /// Version of the grader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grader: Option<String>,
    /// The instances.
    #[serde(default, rename = "instance", skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<Quarantined>,
}

/// One instance of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantined {
    /// Which.
    pub id: InstanceId,
    /// Why; a reason of one's own is as good as one of a validation.
    #[serde(default)]
    pub reason: String,
    /// Profile under which it showed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// What happened, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Quarantine {
    /// The entry of an instance.
    pub fn find(&self, id: &InstanceId) -> Option<&Quarantined> {
        self.instances.iter().find(|one| one.id == *id)
    }
}
