//! The engine behind a backend: a program of its own, which may go away and come back.

use tokio::sync::watch;

/// How an engine is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineState {
    /// How many times it went away since the backend was made.
    pub outages: u64,
    /// What keeps it from answering now, in one line; `None` while it answers.
    pub away: Option<String>,
}

/// An engine that others can be told about.
#[derive(Debug, Clone)]
pub struct EngineWatch {
    /// What people know it by: `the Docker engine at unix:///var/run/docker.sock`.
    pub name: String,
    /// What can be done when it is gone.
    pub hint: String,
    /// Its state, as it changes.
    pub state: watch::Receiver<EngineState>,
}
