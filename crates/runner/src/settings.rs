//! Settings of a run after all layers are resolved: plain values, no options left open.
//!
//! [`Identity`] holds what changes outcomes; it is hashed into `run.json`, and `--resume` refuses a run whose identity differs.
//! [`Operation`] holds what does not; it may change from one resume to the next. Secrets are in neither: they are never written anywhere.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use sandbox::limits::{Limits as SandboxLimits, Network};
use schema::StopReason;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

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
}

impl RunSettings {
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
    /// Values of the variables set inside the sandbox (`--env K=V`).
    pub environment: Vec<(String, SecretString)>,
}

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
}

impl SandboxChoice {
    /// The name used in flags and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Local => "local",
            Self::Bubblewrap => "bubblewrap",
            Self::Docker => "docker",
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

/// Limits of one attempt that change what comes out of it. `None` means no limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentLimits {
    /// Model replies.
    pub max_steps: Option<u32>,
    /// Time, waits for the model's server left out.
    #[serde(with = "seconds::option")]
    pub max_wall_time: Option<Duration>,
    /// US dollars.
    pub max_cost: Option<f64>,
    /// Input and output tokens together.
    pub max_tokens: Option<u64>,
    /// Rejected `task_done` calls before the attempt stops.
    pub max_rejections: u32,
    /// Replies in a row that could not be read before it stops.
    pub max_format_errors: u32,
    /// Replies in a row without a tool call before it stops.
    pub max_nudges: u32,
    /// Time for one command of the agent.
    #[serde(with = "seconds")]
    pub command_timeout: Duration,
    /// Longest time that the model may ask for.
    #[serde(with = "seconds")]
    pub max_command_timeout: Duration,
    /// Bytes of one command's output that the model reads.
    pub max_observation_bytes: usize,
    /// Whether repeating the same calls with the same results stops the attempt.
    pub stuck_detection: bool,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            max_steps: Some(100),
            max_wall_time: Some(Duration::from_hours(1)),
            max_cost: None,
            max_tokens: None,
            max_rejections: 5,
            max_format_errors: 3,
            max_nudges: 3,
            command_timeout: Duration::from_mins(2),
            max_command_timeout: Duration::from_mins(10),
            max_observation_bytes: 16_000,
            stuck_detection: true,
        }
    }
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
    /// Network while solving.
    pub network: Network,
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
    pub limits: AgentLimits,
    /// Changes to the path classes.
    pub paths: PathRules,
    /// Which patch goes into predictions.
    pub patch: PatchKind,
}

impl Identity {
    /// Hexadecimal SHA-256 of the identity as JSON.
    pub fn sha256(&self) -> String {
        let text = serde_json::to_vec(self).unwrap_or_default();
        hex(&Sha256::digest(text))
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

/// Which finished instances get a new attempt (`--retry`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetrySelector {
    /// Failed by a kind that is infrastructure.
    Infra,
    /// Failed by any kind.
    Failed,
    /// An empty model patch.
    Empty,
    /// Stopped, by any reason or by this one.
    Stopped(Option<StopReason>),
    /// Graded and not resolved.
    Unresolved,
    /// Cancelled.
    Cancelled,
    /// This instance, whatever became of it.
    Instance(String),
}

impl RetrySelector {
    /// Reads `infra`, `failed`, `empty`, `stopped`, `stopped:REASON`, `unresolved`, `cancelled`; anything else is an instance id.
    ///
    /// # Errors
    /// When the reason after `stopped:` is unknown.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(name) = text.strip_prefix("stopped:") {
            return serde_json::from_value(Value::from(name))
                .map(|reason| Self::Stopped(Some(reason)))
                .map_err(|_| format!("unknown stop reason `{name}`"));
        }
        Ok(match text {
            "infra" => Self::Infra,
            "failed" => Self::Failed,
            "empty" => Self::Empty,
            "stopped" => Self::Stopped(None),
            "unresolved" => Self::Unresolved,
            "cancelled" => Self::Cancelled,
            id => Self::Instance(id.to_owned()),
        })
    }
}

/// How requests to the model's server are sent and retried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transport {
    /// Address of the server, `None` for the provider's own.
    pub base_url: Option<String>,
    /// Whether replies are streamed.
    pub stream: bool,
    /// Tries at one request, the first included.
    pub max_tries: u32,
    /// Time for one request, its retries included.
    #[serde(with = "seconds")]
    pub total_timeout: Duration,
    /// Time for the connection.
    #[serde(with = "seconds")]
    pub connect_timeout: Duration,
    /// Time for the first byte of an answer.
    #[serde(with = "seconds")]
    pub first_byte_timeout: Duration,
    /// Time between two bytes of an answer.
    #[serde(with = "seconds")]
    pub idle_timeout: Duration,
    /// US dollars for a million tokens, where the user says so.
    pub price: Option<Price>,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            base_url: None,
            stream: false,
            max_tries: 6,
            total_timeout: Duration::from_mins(30),
            connect_timeout: Duration::from_secs(30),
            first_byte_timeout: Duration::from_mins(5),
            idle_timeout: Duration::from_mins(2),
            price: None,
        }
    }
}

/// Price of a model in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Prompt tokens.
    pub input: f64,
    /// Prompt tokens read from the cache; `None` costs as `input`.
    pub cached: Option<f64>,
    /// Prompt tokens written to the cache; `None` costs as `input`.
    pub cache_write: Option<f64>,
    /// Completion tokens.
    pub output: f64,
}

/// What does not change outcomes: recorded in `run.json`, free to differ on resume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    /// Dataset file, as given.
    pub dataset: Option<PathBuf>,
    /// Directory that holds the dataset file: `repo_path` of a row is relative to it.
    pub dataset_directory: PathBuf,
    /// Directory of repositories, `<owner>__<name>` each.
    pub repositories: Option<PathBuf>,
    /// Root of the sandboxes' private directories; `None` is the system's temporary directory.
    pub scratch: Option<PathBuf>,
    /// Attempts that solve at the same time.
    pub workers: usize,
    /// Attempts whose sandboxes start at the same time.
    pub start_workers: usize,
    /// Samples of each instance.
    pub samples: u32,
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
    /// Time that an engine may be away before the run stops.
    #[serde(with = "seconds")]
    pub engine_wait: Duration,
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

impl Operation {
    /// The defaults, on a machine with `cores` processors.
    pub fn defaults(cores: usize) -> Self {
        Self {
            dataset: None,
            dataset_directory: PathBuf::from("."),
            repositories: None,
            scratch: None,
            workers: 4,
            start_workers: cores.max(1),
            samples: 1,
            max_attempts: 3,
            transport: Transport::default(),
            grade: false,
            grade_workers: cores.max(1),
            grade_timeout: Duration::from_mins(30),
            partial: PartialPatches::Exclude,
            resume: ResumeMode::New,
            retry: Vec::new(),
            grace: Duration::from_secs(30),
            max_infra_failures: 0,
            max_total_cost: None,
            max_empty_patches: None,
            fail_under: None,
            durable: false,
            engine_wait: Duration::from_mins(1),
            start_timeout: Duration::from_mins(5),
            max_output_bytes: 16 * 1024 * 1024,
            network_explicit: false,
            best_effort_limits: false,
        }
    }
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Durations as seconds with a fraction.
pub(crate) mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(value.as_secs_f64())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(from)?).map_err(serde::de::Error::custom)
    }

    pub(crate) mod option {
        use std::time::Duration;

        use serde::{Deserialize, Deserializer, Serialize, Serializer};

        #[expect(clippy::ref_option, reason = "the signature that serde calls")]
        pub(crate) fn serialize<S: Serializer>(
            value: &Option<Duration>,
            to: S,
        ) -> Result<S::Ok, S::Error> {
            value.map(|value| value.as_secs_f64()).serialize(to)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Option<Duration>, D::Error> {
            Option::<f64>::deserialize(from)?
                .map(|value| Duration::try_from_secs_f64(value).map_err(serde::de::Error::custom))
                .transpose()
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A small identity for tests.
    pub(crate) fn identity() -> Identity {
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
            network: Network::Full,
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
            limits: AgentLimits::default(),
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

    #[test]
    fn retry_selectors() {
        assert_eq!(RetrySelector::parse("infra"), Ok(RetrySelector::Infra));
        assert_eq!(
            RetrySelector::parse("stopped:stuck"),
            Ok(RetrySelector::Stopped(Some(StopReason::Stuck)))
        );
        assert!(RetrySelector::parse("stopped:bored").is_err());
        assert_eq!(
            RetrySelector::parse("a__b-1"),
            Ok(RetrySelector::Instance("a__b-1".into()))
        );
    }
}
