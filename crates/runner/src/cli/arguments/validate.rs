//! What `runner validate` takes.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::Config;
use crate::layers::options::{self, ProfileName};

/// `runner validate`.
#[derive(Debug, Args)]
pub struct Validate {
    /// Dataset, as `--dataset` takes it
    #[arg(value_name = "DATASET", value_hint = ValueHint::AnyPath, required_unless_present = "dataset", conflicts_with = "dataset")]
    pub target: Option<PathBuf>,
    /// Profiles that both patches are tried under, separated by commas [default: the one that each instance is graded under]
    #[arg(
        long,
        value_name = "PROFILE",
        value_delimiter = ',',
        conflicts_with = "grade_profile"
    )]
    pub profiles: Vec<ProfileName>,
    /// How often each is tried: once finds what never works, several times what does not always
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub times: u32,
    /// Write the instances that cannot be relied on to this file, for `--quarantine` of other commands
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub quarantine: Option<PathBuf>,
    /// Which instances.
    #[command(flatten)]
    pub selection: options::Selection,
    /// Where the tests run.
    #[command(flatten)]
    pub sandbox: options::Sandbox,
    /// What becomes of sandboxes.
    #[command(flatten)]
    pub keeping: options::Keeping,
    /// How.
    #[command(flatten)]
    pub grading: options::Grading,
    /// Directory of the run; given again, it goes on with that run [default: runs/TIME-DATASET]
    #[arg(long, short, help_heading = "Run", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Where settings come from.
    #[command(flatten)]
    pub config: Config,
}
