//! Which instances.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde::{Deserialize, Serialize};

use crate::layers::values::one_or_many;

/// Which instances.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Dataset and selection")]
#[serde(default)]
pub struct Selection {
    /// Dataset of issues: a file (JSON, JSON Lines, CSV, Parquet, Arrow; also gzip, Zstandard), a directory, `-`, or a dataset
    /// of the hub: ORG/NAME or ORG/NAME@REVISION, lite, verified, full, multimodal, multilingual
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset: Option<PathBuf>,
    /// Split to take, where there are several [default: the only one, or `test`]
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// Subset to take, where there are several [default: the only one, or `default`]
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subset: Option<String>,
    /// Take a dataset of the hub as the cache holds it, without asking the hub
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offline: Option<bool>,
    /// Directory of repositories named `<owner>__<name>`, for rows without `repo_path`
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repos: Option<PathBuf>,
    /// Only these instances, by exact id (repeat it, or separate by commas)
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "one_or_many"
    )]
    pub ids: Option<Vec<String>>,
    /// Only the instances that this file names, one id a line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids_file: Option<PathBuf>,
    /// Only the instances whose whole id matches this regular expression
    #[arg(long, value_name = "REGEX")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Only the instances whose whole id matches this pattern of `*`, `?`, `[…]` and `{…}`
    #[arg(long, value_name = "PATTERN")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub glob: Option<String>,
    /// Only the instances of this repository, `owner/name` (repeat it, or separate by commas)
    #[arg(long, value_name = "OWNER/NAME", value_delimiter = ',')]
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "one_or_many"
    )]
    pub repository: Option<Vec<String>>,
    /// Only the instances of which this became in an earlier run: STATUS@RUN or STATUS,STATUS@RUN, such as `unresolved,empty@runs/x`
    #[arg(long, value_name = "STATUS@RUN")]
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "one_or_many"
    )]
    pub where_status: Option<Vec<String>>,
    /// Python slice over what is left: `10`, `5:20`, `::2`
    #[arg(long, value_name = "SLICE", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
    /// Shuffle before slicing
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shuffle: Option<bool>,
    /// Seed of the shuffle
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Part I of N of the selection, for runs divided over machines
    #[arg(long, value_name = "I/N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
}
