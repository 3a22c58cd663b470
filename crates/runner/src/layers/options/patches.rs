//! What becomes of the patches.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use schema::examination::TamperCheck;
use schema::grading::Harness;
use serde::{Deserialize, Serialize};

use crate::layers::values::{Amount, Cap, Span, one_or_many};
use crate::settings::ProfileChoice;

/// Which patch goes into predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatchName {
    /// Without changes to tests
    Model,
    /// Everything that changed
    Full,
}

/// What becomes of failed and cancelled instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartialName {
    /// They get no prediction
    Exclude,
    /// They get one with what was harvested
    Include,
}

/// What becomes of the patches.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Patches and grading")]
#[serde(default)]
pub struct Patches {
    /// Patch that goes into predictions
    #[arg(long, value_name = "KIND")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<PatchName>,
    /// Predictions of failed and cancelled instances
    #[arg(long, value_name = "RULE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<PartialName>,
    /// Glob of paths that count as tests, besides the built-in ones
    #[arg(long, value_name = "GLOB")]
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "one_or_many"
    )]
    pub test_paths: Option<Vec<String>>,
    /// Glob of paths that count as source, whatever the built-in ones say
    #[arg(long, value_name = "GLOB")]
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "one_or_many"
    )]
    pub source_paths: Option<Vec<String>>,
    /// Glob of paths that count as configuration of a test runner
    #[arg(long, value_name = "GLOB")]
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "one_or_many"
    )]
    pub runner_config_paths: Option<Vec<String>>,
    /// Built-in path glob that no longer counts
    #[arg(long, value_name = "GLOB")]
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "one_or_many"
    )]
    pub drop_path_rules: Option<Vec<String>>,
    /// Grade each patch as it appears
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade: Option<bool>,
}

/// A generation of the official harness.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub enum HarnessName {
    /// Versions 2.1 to 4.1
    #[value(name = "4")]
    #[serde(rename = "4")]
    V4,
    /// Version 5
    #[default]
    #[value(name = "5")]
    #[serde(rename = "5")]
    V5,
}

/// In a file, a generation is a number or its text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(u64),
    Text(String),
}

impl TryFrom<Written> for HarnessName {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let text = match written {
            Written::Number(number) => number.to_string(),
            Written::Text(text) => text,
        };
        Self::from_str(&text, false)
            .map_err(|_| format!("`{text}` is not a generation of the harness: 4 or 5"))
    }
}

impl From<HarnessName> for Harness {
    fn from(name: HarnessName) -> Self {
        match name {
            HarnessName::V4 => Self::V4,
            HarnessName::V5 => Self::V5,
        }
    }
}

/// Conditions under which patches are graded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileName {
    /// official for datasets that have a short name and for images that their publishers made, sealed for all others
    #[default]
    Auto,
    /// Network, capabilities and environment as the dataset's own harness has them
    Official,
    /// No network, what solving may do, a fixed environment
    Sealed,
}

impl From<ProfileName> for ProfileChoice {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Auto => Self::Auto,
            ProfileName::Official => Self::Official,
            ProfileName::Sealed => Self::Sealed,
        }
    }
}

/// When a verdict that says "resolved" is looked at a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TamperName {
    /// Where the patch or the log is suspicious
    Auto,
    /// Always
    Always,
    /// Never: only what the first run shows counts
    Never,
}

impl From<TamperName> for TamperCheck {
    fn from(name: TamperName) -> Self {
        match name {
            TamperName::Auto => Self::Auto,
            TamperName::Always => Self::Always,
            TamperName::Never => Self::Never,
        }
    }
}

/// How grading is done.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Patches and grading")]
#[serde(default)]
pub struct Grading {
    /// Gradings at the same time [default: one for each processor]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade_workers: Option<usize>,
    /// Time for one evaluation script, where the row says nothing
    #[arg(long, value_name = "TIME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade_timeout: Option<Span>,
    /// Processors of each sandbox that grades, whatever rules say [default: those of the rules, else as for solving]
    #[arg(long, value_name = "NUMBER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade_cpus: Option<Cap<Amount>>,
    /// Conditions under which patches are graded
    #[arg(long, value_name = "PROFILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade_profile: Option<ProfileName>,
    /// When the tests of a resolved instance are run again, beside tests that must fail, to see whether the patch tampers with them
    #[arg(long, value_name = "WHEN")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tamper_check: Option<TamperName>,
    /// How the tests of repositories are run, for rows that do not say it: a file in the form of `configs/repositories/`, or a directory of them
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository_rules: Option<PathBuf>,
    /// Take verdicts of earlier gradings where patch, image, script, tests, parser and grader are the same; only in containers
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade_cache: Option<bool>,
    /// Generation of the official harness whose verdicts and names of tests are given
    #[arg(long, value_name = "GENERATION")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness: Option<HarnessName>,
}
