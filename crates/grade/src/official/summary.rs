//! The official harness's summary of a run, `<model>.<run>.json`, schema version 2.

use std::collections::{BTreeMap, BTreeSet};

use schema::grading::Harness;
use schema::instance::InstanceId;
use serde::{Deserialize, Serialize};

use super::signature::{Signature, Tier};

/// What became of one instance, as the summary counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// There is no prediction for it, or it was not graded yet.
    Incomplete,
    /// Its patch is empty or `null`.
    EmptyPatch,
    /// Its report was written.
    Completed {
        /// What the report says.
        resolved: bool,
    },
    /// It has no report.
    Error,
}

/// One instance of the dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Which.
    pub id: InstanceId,
    /// Whether there is a prediction for it.
    pub submitted: bool,
    /// What became of it.
    pub standing: Standing,
    /// What its logs show of faults that are not the patch's.
    pub signature: Option<Signature>,
}

/// What a run left behind on its machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Containers.
    pub containers: BTreeSet<String>,
    /// Images.
    pub images: BTreeSet<String>,
}

/// The summary, in the order of its fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Instances of the dataset.
    pub total_instances: usize,
    /// Predictions.
    pub submitted_instances: usize,
    /// Instances with a report.
    pub completed_instances: usize,
    /// Those that are resolved.
    pub resolved_instances: usize,
    /// Those that are not.
    pub unresolved_instances: usize,
    /// Instances whose logs show a fault of the environment; from generation 5 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infra_failure_instances: Option<usize>,
    /// Instances whose logs show another fault; from generation 5 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ambiguous_failure_instances: Option<usize>,
    /// Instances whose patch is empty.
    pub empty_patch_instances: usize,
    /// Instances without a report although they have a patch.
    pub error_instances: usize,
    /// Ids to `completed_instances`.
    pub completed_ids: BTreeSet<String>,
    /// Ids without a prediction.
    pub incomplete_ids: BTreeSet<String>,
    /// Ids to `empty_patch_instances`.
    pub empty_patch_ids: BTreeSet<String>,
    /// Ids to `submitted_instances`.
    pub submitted_ids: BTreeSet<String>,
    /// Ids to `resolved_instances`.
    pub resolved_ids: BTreeSet<String>,
    /// Ids to `unresolved_instances`.
    pub unresolved_ids: BTreeSet<String>,
    /// Ids to `infra_failure_instances`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infra_failure_ids: Option<BTreeSet<String>>,
    /// Ids to `ambiguous_failure_instances`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ambiguous_failure_ids: Option<BTreeSet<String>>,
    /// The sign of each of those two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reasons: Option<BTreeMap<String, String>>,
    /// Ids to `error_instances`.
    pub error_ids: BTreeSet<String>,
    /// 2.
    pub schema_version: u32,
    /// Containers left; where an engine was asked, from generation 5 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unstopped_instances: Option<usize>,
    /// Their names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unstopped_containers: Option<BTreeSet<String>>,
    /// Images left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unremoved_images: Option<BTreeSet<String>>,
}

/// Sums up a run over the instances of its dataset. `leftovers` are told where containers were used.
///
/// Generation 4 never tells leftovers of containers, so they are told from generation 5 on.
pub fn summarize<'a>(
    entries: impl IntoIterator<Item = &'a Entry>,
    harness: Harness,
    leftovers: Option<&Leftovers>,
) -> Summary {
    let mut summary = Summary {
        schema_version: 2,
        ..Summary::default()
    };
    let mut signs = Signs::default();
    for entry in entries {
        let id = || entry.id.as_str().to_owned();
        summary.total_instances += 1;
        if entry.submitted {
            summary.submitted_ids.insert(id());
        }
        let failed = match entry.standing {
            Standing::Incomplete => !summary.incomplete_ids.insert(id()),
            Standing::EmptyPatch => !summary.empty_patch_ids.insert(id()),
            Standing::Completed { resolved } => {
                summary.completed_ids.insert(id());
                if resolved {
                    !summary.resolved_ids.insert(id())
                } else {
                    summary.unresolved_ids.insert(id())
                }
            }
            Standing::Error => summary.error_ids.insert(id()),
        };
        if let Some(sign) = entry.signature.filter(|_| failed) {
            signs.add(id(), sign);
        }
    }
    summary.submitted_instances = summary.submitted_ids.len();
    summary.completed_instances = summary.completed_ids.len();
    summary.resolved_instances = summary.resolved_ids.len();
    summary.unresolved_instances = summary.unresolved_ids.len();
    summary.empty_patch_instances = summary.empty_patch_ids.len();
    summary.error_instances = summary.error_ids.len();
    match harness {
        Harness::V4 => summary,
        Harness::V5 => with_generation_5(summary, signs, leftovers),
    }
}

fn with_generation_5(summary: Summary, signs: Signs, leftovers: Option<&Leftovers>) -> Summary {
    Summary {
        infra_failure_instances: Some(signs.environment.len()),
        ambiguous_failure_instances: Some(signs.ambiguous.len()),
        infra_failure_ids: Some(signs.environment),
        ambiguous_failure_ids: Some(signs.ambiguous),
        failure_reasons: Some(signs.reasons),
        unstopped_instances: leftovers.map(|left| left.containers.len()),
        unstopped_containers: leftovers.map(|left| left.containers.clone()),
        unremoved_images: leftovers.map(|left| left.images.clone()),
        ..summary
    }
}

#[derive(Default)]
struct Signs {
    environment: BTreeSet<String>,
    ambiguous: BTreeSet<String>,
    reasons: BTreeMap<String, String>,
}

impl Signs {
    fn add(&mut self, id: String, sign: Signature) {
        match sign.tier() {
            Tier::Environment => self.environment.insert(id.clone()),
            Tier::Ambiguous => self.ambiguous.insert(id.clone()),
        };
        self.reasons.insert(id, sign.name().to_owned());
    }
}
