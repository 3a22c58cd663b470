//! A second look at a verdict that says "resolved": whether the tests' own machinery was tampered with.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::grading::TestStatus;

/// When a verdict that says "resolved" is looked at a second time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TamperCheck {
    /// Where something is suspicious.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never: only what the first run shows counts.
    Never,
}

/// What came of the second look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExaminationOutcome {
    /// There was none: nothing is suspicious, or the verdict is not "resolved", or nobody wanted it.
    NotNeeded,
    /// It could not be made; the verdict stays as it was.
    NotPossible,
    /// Nothing contradicts the verdict.
    Passed,
    /// It proves that the tests were tampered with.
    Proven,
}

/// The second look at one verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Examination {
    /// What came of it.
    pub outcome: ExaminationOutcome,
    /// Why it was not made, or what it does not cover, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Reasons to look closer, in the patch and in the log. None of them is a verdict.
    #[serde(default)]
    pub suspicions: Vec<Suspicion>,
    /// Files of the patch that were as before for it, since they configure the test runner.
    #[serde(default)]
    pub restored: Vec<String>,
    /// The tests of ours that ran beside the instance's.
    #[serde(default)]
    pub canaries: Vec<Canary>,
    /// How often the tests were run for it, in a fresh sandbox each time.
    #[serde(default)]
    pub runs: u32,
}

impl Examination {
    /// None was made.
    pub fn none(outcome: ExaminationOutcome, suspicions: Vec<Suspicion>, note: &str) -> Self {
        Self {
            outcome,
            note: Some(note.to_owned()),
            suspicions,
            restored: Vec::new(),
            canaries: Vec::new(),
            runs: 0,
        }
    }
}

/// A reason to look closer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Suspicion {
    /// File of the patch; `None` where it is the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What is suspicious.
    pub what: String,
}

impl fmt::Display for Suspicion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(formatter, "{file}: {}", self.what),
            None => formatter.write_str(&self.what),
        }
    }
}

/// A test of ours, and what it did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Canary {
    /// Its name.
    pub name: String,
    /// Whether it has to fail.
    pub must_fail: bool,
    /// What it did beside the patch; `None` where no result of it was seen.
    pub status: Option<TestStatus>,
}
