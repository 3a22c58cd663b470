//! What `runner images` takes.

use clap::{Args, Subcommand};

use super::Config;
use crate::layers::options;
use crate::layers::values::{Size, Span};

/// `runner images`.
#[derive(Debug, Args)]
pub struct Images {
    /// What to do with them.
    #[command(subcommand)]
    pub command: ImagesCommand,
}

/// What to do with images.
#[derive(Debug, Subcommand)]
pub enum ImagesCommand {
    /// Show the engine's images, the least recently used first
    List(ImagesList),
    /// Get images by name, or those of a dataset's instances
    Pull(Box<ImagesPull>),
    /// Remove images that runs used and no container needs, the least recently used first
    Prune(ImagesPrune),
}

/// `runner images list`.
#[derive(Debug, Args)]
pub struct ImagesList {
    /// Where settings come from.
    #[command(flatten)]
    pub config: Config,
}

/// `runner images pull`.
#[derive(Debug, Args)]
pub struct ImagesPull {
    /// Images
    #[arg(value_name = "IMAGE", conflicts_with = "dataset")]
    pub names: Vec<String>,
    /// Whose images
    #[command(flatten)]
    pub selection: options::Selection,
    /// Which images.
    #[command(flatten)]
    pub images: options::Images,
    /// Where settings come from.
    #[command(flatten)]
    pub config: Config,
}

/// `runner images prune`.
#[derive(Debug, Args)]
pub struct ImagesPrune {
    /// Keep the most recently used ones up to this size; layers that images share count for each
    #[arg(long, value_name = "BYTES", default_value = "0")]
    pub keep: Size,
    /// Only those that no run used for this long
    #[arg(long, value_name = "TIME")]
    pub unused_for: Option<Span>,
    /// Those that no run is known to have used, too
    #[arg(long)]
    pub unknown: bool,
    /// Those that the project's scripts built here, too: no registry has them
    #[arg(long)]
    pub built: bool,
    /// Say what would be removed, and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Where settings come from.
    #[command(flatten)]
    pub config: Config,
}
