//! One issue of a dataset, and what only the grader may know about it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Longest file name made of an instance id, in bytes; leaves room for suffixes such as `.s2.patch` below the 255 of most file systems.
const MAX_FILE_NAME: usize = 120;

/// Identifier of an instance, exactly as its dataset spells it. It may hold anything: never use it as a path, use [`InstanceId::file_name`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InstanceId(String);

impl InstanceId {
    /// Wraps an identifier as it came.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The identifier as it came.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// One safe path component for this id: a pure function, so that it stays the same when the selection grows.
    ///
    /// Lower-case ids of letters, digits, `.`, `_` and `-` are kept. Any other id is cleaned and gets 12 hexadecimal digits of its SHA-256:
    /// upper case too, since two ids that differ only in case are one file on some file systems.
    pub fn file_name(&self) -> String {
        let plain =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
        let starts_well = self
            .0
            .starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        if starts_well && self.0.len() <= MAX_FILE_NAME && self.0.chars().all(plain) {
            return self.0.clone();
        }
        let cleaned: String = self
            .0
            .chars()
            .map(|c| {
                if plain(c) || c.is_ascii_uppercase() {
                    c
                } else {
                    '_'
                }
            })
            .take(MAX_FILE_NAME - 13)
            .collect();
        let cleaned = cleaned.trim_start_matches(['.', '-']);
        let digest = Sha256::digest(self.0.as_bytes());
        let [a, b, c, d, e, f, ..] = <[u8; 32]>::from(digest);
        format!("{cleaned}-{a:02x}{b:02x}{c:02x}{d:02x}{e:02x}{f:02x}")
    }
}

impl std::fmt::Display for InstanceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The part of a dataset row that is not secret: it says where the work happens and what is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// Identifier, unique in its dataset.
    pub id: InstanceId,
    /// `owner/name` of the repository, empty when the row has none.
    pub repo: String,
    /// Commit that the work starts from; `None` means HEAD.
    pub base_commit: Option<String>,
    /// What the agent is asked to do.
    pub statement: String,
    /// Repository on this machine, relative to the dataset file.
    pub repo_path: Option<String>,
    /// Directory of the repository inside its image.
    pub workdir: Option<String>,
    /// Container image that the row names.
    pub image: Option<String>,
    /// Version of the project, kept as text (`"1.10"` is not a number).
    pub version: Option<String>,
    /// Addresses of images in the problem statement.
    pub statement_images: Vec<String>,
}

/// What the grader knows and the agent must never see: it stays on the runner's side of every port.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerKey {
    /// The known fix.
    pub patch: Option<String>,
    /// The change to the tests that proves the fix.
    pub test_patch: Option<String>,
    /// Hints from the discussion.
    pub hints: Option<String>,
    /// Tests that fail before the fix and pass after it.
    pub fail_to_pass: Vec<String>,
    /// Tests that pass before and after.
    pub pass_to_pass: Vec<String>,
    /// Script that runs the tests inside the sandbox.
    pub eval_script: Option<String>,
    /// Name of the parser that reads the script's log.
    pub log_parser: Option<String>,
    /// Seconds that grading may take, where the row says so.
    pub eval_timeout: Option<u64>,
    /// Every field of the row that no typed field holds, verbatim.
    pub extra: Map<String, Value>,
}
