//! Which images containers are made from.

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// When images are pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullName {
    /// What the engine has must do
    Never,
    /// Those that the engine does not have
    Missing,
    /// Each once in every run
    Always,
}

/// Which images.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Sandbox")]
#[serde(default)]
pub struct Images {
    /// Image of every container, instead of what rows and their datasets say; may hold placeholders such as {name}
    #[arg(long, value_name = "IMAGE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Platform of images, such as linux/amd64 [default: linux/amd64 where all images of the run are named for x86-64, else the engine's own]
    #[arg(long, value_name = "OS/ARCHITECTURE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// Which images are pulled
    #[arg(long, value_name = "WHEN")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull: Option<PullName>,
    /// Images pulled at the same time
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pulls: Option<usize>,
    /// Registry that stands in for the engine's default one: HOST, HOST:PORT or either with a path
    #[arg(long, value_name = "REGISTRY")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_mirror: Option<String>,
}
