//! The engine behind a backend: a program of its own, which may go away and come back.

use tokio::sync::watch;

/// How an engine is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineState {
    /// How many times it went away since the backend was made.
    pub outages: u64,
    /// Whether it can be used now.
    pub condition: EngineCondition,
}

/// Whether an engine can be used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum EngineCondition {
    /// It answers.
    #[default]
    Ready,
    /// It answers again, and what was left in it is being removed: nothing should start yet.
    Cleaning,
    /// It does not answer.
    Away {
        /// Why, in one line.
        problem: String,
    },
}

impl EngineState {
    /// What keeps it from answering now, in one line; `None` while it answers.
    pub fn problem(&self) -> Option<&str> {
        match &self.condition {
            EngineCondition::Ready | EngineCondition::Cleaning => None,
            EngineCondition::Away { problem } => Some(problem),
        }
    }

    /// Whether things may start in it.
    pub fn is_ready(&self) -> bool {
        match &self.condition {
            EngineCondition::Ready => true,
            EngineCondition::Cleaning | EngineCondition::Away { .. } => false,
        }
    }
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
