//! What changes outcomes, hashed and compared.

use std::collections::BTreeMap;

use agent::Limits;
use sandbox::limits::{Limits as SandboxLimits, Network};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::rights::Rights;

/// Sandbox backend asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxChoice {
    /// The best that this machine offers.
    Auto,
    /// A private directory, unconfined.
    Local,
    /// bubblewrap.
    Bubblewrap,
    /// A Docker engine.
    Docker,
    /// Podman's service.
    Podman,
    /// Apptainer's command line.
    Apptainer,
}

impl SandboxChoice {
    /// The name used in flags and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Local => "local",
            Self::Bubblewrap => "bubblewrap",
            Self::Docker => "docker",
            Self::Podman => "podman",
            Self::Apptainer => "apptainer",
        }
    }
}

impl SandboxChoice {
    /// Whether it is asked for containers, and nothing else will do.
    pub fn is_contained(self) -> bool {
        match self {
            Self::Docker | Self::Podman | Self::Apptainer => true,
            Self::Auto | Self::Local | Self::Bubblewrap => false,
        }
    }
}

/// Which patch becomes `model_patch` of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatchKind {
    /// Without files of class `test`.
    Model,
    /// Everything that changed.
    Full,
}

/// Prompt templates as text (minijinja).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompts {
    /// System prompt.
    pub system: String,
    /// First user message.
    pub prompt: String,
}

/// Changes to the built-in path classes: globs by class name, and globs to drop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathRules {
    /// Globs to class `source`.
    pub source: Vec<String>,
    /// Globs to class `test`.
    pub test: Vec<String>,
    /// Globs to class `runner_config`.
    pub runner_config: Vec<String>,
    /// Built-in globs that no longer count.
    pub remove: Vec<String>,
}

/// What changes outcomes: two runs with the same identity may be joined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// Model, `provider:name`.
    pub model: String,
    /// Sampling temperature, where one is sent.
    pub temperature: Option<f64>,
    /// Output tokens that one reply may have, where a limit is sent.
    pub max_output_tokens: Option<u64>,
    /// Tokens that the model's window holds, where the user says so.
    pub window: Option<u64>,
    /// Further fields of the request body.
    pub extra_body: Map<String, Value>,
    /// Prompt templates.
    pub prompts: Prompts,
    /// Tools, in the order offered.
    pub tools: Vec<String>,
    /// Sandbox backend asked for.
    pub sandbox: SandboxChoice,
    /// Shell text that starts each shell, where the user gives it; else the dataset's family has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell_init: Option<String>,
    /// Network while solving.
    pub network: Network,
    /// Template of the image of every row, where the user gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Platform of images, where it is not the engine's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// What programs in each sandbox may do, as far as the user says.
    #[serde(default, skip_serializing_if = "Rights::is_empty")]
    pub rights: Rights,
    /// Limits of each sandbox.
    pub sandbox_limits: SandboxLimits,
    /// Shell commands run once in each sandbox before the agent starts.
    pub setup_commands: Vec<String>,
    /// SHA-256 of the value of each variable set inside the sandbox.
    pub environment_sha256: BTreeMap<String, String>,
    /// Whether an attempt completes only with a non-empty patch.
    pub must_patch: bool,
    /// Command that must succeed before an attempt completes.
    pub verify: Option<String>,
    /// Limits of one attempt.
    pub limits: Limits,
    /// Changes to the path classes.
    pub paths: PathRules,
    /// Which patch goes into predictions.
    pub patch: PatchKind,
}

impl Identity {
    /// Hexadecimal SHA-256 of the identity as JSON.
    pub fn sha256(&self) -> String {
        let text = serde_json::to_vec(self).unwrap_or_default();
        schema::hex(&Sha256::digest(text))
    }

    /// Names the fields in which `other` differs, as dotted paths, in the order of this struct.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let mut found = Vec::new();
        let (ours, theirs) = (serde_json::to_value(self), serde_json::to_value(other));
        if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
            compare("", &ours, &theirs, &mut found);
        }
        found
    }
}

/// A field of the identity that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Dotted path, such as `limits.max_steps`.
    pub field: String,
    /// Value on this side.
    pub ours: Value,
    /// Value on the other side.
    pub theirs: Value,
}

fn compare(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<Difference>) {
    if let (Value::Object(a), Value::Object(b)) = (ours, theirs) {
        let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
        for key in keys {
            let deeper = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            let side = |map: &Map<String, Value>| map.get(key).cloned().unwrap_or(Value::Null);
            compare(&deeper, &side(a), &side(b), found);
        }
    } else if ours != theirs {
        found.push(Difference {
            field: path.to_owned(),
            ours: ours.clone(),
            theirs: theirs.clone(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small identity for tests.
    fn identity() -> Identity {
        Identity {
            model: "script:x".into(),
            temperature: None,
            max_output_tokens: None,
            window: None,
            extra_body: Map::new(),
            prompts: Prompts {
                system: "s".into(),
                prompt: "p".into(),
            },
            tools: vec!["bash".into(), "task_done".into()],
            sandbox: SandboxChoice::Local,
            shell_init: None,
            network: Network::Full,
            image: None,
            platform: None,
            rights: Rights::default(),
            sandbox_limits: SandboxLimits {
                memory: None,
                cpus: None,
                pids: None,
                disk: None,
            },
            setup_commands: Vec::new(),
            environment_sha256: BTreeMap::new(),
            must_patch: true,
            verify: None,
            limits: Limits::default(),
            paths: PathRules::default(),
            patch: PatchKind::Model,
        }
    }

    #[test]
    fn differences_name_the_nested_field() {
        let ours = identity();
        let mut theirs = ours.clone();
        theirs.limits.max_steps = Some(7);
        theirs.model = "script:y".into();
        let fields: Vec<_> = ours
            .differences(&theirs)
            .into_iter()
            .map(|difference| difference.field)
            .collect();
        assert_eq!(fields, ["model", "limits.max_steps"]);
        assert!(ours.differences(&ours).is_empty());
        assert_ne!(ours.sha256(), theirs.sha256());
    }

    #[test]
    fn identity_survives_json() {
        let ours = identity();
        let text = serde_json::to_string(&ours).unwrap();
        let back: Identity = serde_json::from_str(&text).unwrap();
        assert_eq!(ours, back);
    }
}
