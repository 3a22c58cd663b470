//! What programs in a container may do.

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::layers::values::{Cap, Size, one_or_many};

/// What they may do.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Sandbox")]
#[serde(default)]
pub struct Rights {
    /// User that commands run as in a container: NAME, UID or UID:GID [default: the dataset's, else the image's]
    #[arg(long, value_name = "USER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_user: Option<String>,
    /// Capability of the kernel that a container keeps, such as CHOWN; may be repeated, `none` keeps none [default: the dataset's, else none]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "one_or_many"
    )]
    pub cap_add: Option<Vec<String>>,
    /// Size of a /tmp in memory in a container; `none` leaves it on the disk [default: the dataset's, else none]
    #[arg(long, value_name = "BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tmpfs: Option<Cap<Size>>,
}
