//! Limits of a sandbox: what was asked, and what was really applied.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::network::{Allowed, NetworkProbe};

/// A limit's value and whether the user asked for it: what a user asked for and a backend cannot enforce is refused, a default is only recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit<T> {
    /// The value.
    pub value: T,
    /// Whether the user set it.
    pub explicit: bool,
}

/// Limits asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of memory.
    pub memory: Option<Limit<u64>>,
    /// Processors.
    pub cpus: Option<Limit<f64>>,
    /// Processes.
    pub pids: Option<Limit<u64>>,
    /// Bytes of disk.
    pub disk: Option<Limit<u64>>,
}

/// Network while solving.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// None.
    None,
    /// The host's or the engine's default.
    Full,
    /// None but these hosts, by way of a proxy of the runner.
    Allow(Allowed),
}

/// Words before the hosts.
const ALLOW: &str = "allow=";

impl FromStr for Network {
    type Err = String;

    /// Reads `none`, `full` or `allow=HOST[:PORT],…`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "none" => Ok(Self::None),
            "full" => Ok(Self::Full),
            text => match text.strip_prefix(ALLOW) {
                Some(hosts) => hosts.parse().map(Self::Allow),
                None => Err(format!(
                    "`{text}` is neither `none`, `full` nor `allow=HOST[:PORT],…`"
                )),
            },
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Full => f.write_str("full"),
            Self::Allow(allowed) => write!(f, "{ALLOW}{allowed}"),
        }
    }
}

/// What was really applied; recorded in the trajectory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Network as it is.
    pub network: Network,
    /// What was seen of it from inside at the start.
    #[serde(default)]
    pub probe: NetworkProbe,
    /// Names of limits in force.
    pub enforced: Vec<String>,
    /// Names of limits that were asked for (by default or by the user) and are not in force.
    pub unenforced: Vec<String>,
    /// User that commands run as: its number, in a container `user:group`.
    pub user: String,
    /// Capabilities of the kernel that commands keep; all others are dropped where a container is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// Bytes of a `/tmp` in memory, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tmpfs: Option<u64>,
    /// Digest of the image, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}
