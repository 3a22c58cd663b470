//! The registries that images come from: others' services, which may go away, or have enough of us for a while.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::watch;

/// How a registry is doing that gave nothing at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistryState {
    /// It gives images again.
    Giving,
    /// It gives none, and is asked again for one at a time; all other pulls from it wait.
    Away {
        /// Its answer, or what there was instead, in one line.
        problem: String,
    },
    /// It gave none for so long that those who waited were told so. Who comes now is told at once.
    GivenUp {
        /// Its last answer.
        problem: String,
    },
}

/// Registries that others can be told about.
#[derive(Debug, Clone)]
pub struct RegistryWatch {
    /// How long pulls wait for one.
    pub wait: Duration,
    /// Those that gave nothing at some time, by host, as they change.
    pub states: watch::Receiver<BTreeMap<String, RegistryState>>,
}
