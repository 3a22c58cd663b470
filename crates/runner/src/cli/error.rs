//! What can stop a command, and the exit code and advice that go with it.

use crate::exit::Exit;
use crate::layers;

/// Why a command ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The runner could not work.
    #[error(transparent)]
    Runner(#[from] crate::error::Error),
    /// The configuration cannot be used.
    #[error(transparent)]
    Configuration(#[from] layers::Error),
    /// Something given on the command line cannot be used.
    #[error("{message}")]
    Usage {
        /// What, with its subject.
        message: String,
        /// What to do instead.
        hints: Vec<String>,
    },
}

impl Error {
    /// A usage error with advice.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage {
            message: message.into(),
            hints: vec![hint.into()],
        }
    }

    /// Flags that cannot be written as settings: a path that is not UTF-8.
    pub(crate) fn flags(error: &serde_json::Error) -> Self {
        Self::Usage {
            message: format!("a flag's value cannot be used: {error}"),
            hints: Vec::new(),
        }
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Runner(_) | Self::Configuration(_) | Self::Usage { .. } => Exit::Usage,
        }
    }

    /// What the user can do about it.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Runner(error) => error.hints(),
            Self::Configuration(error) => error.hints(),
            Self::Usage { hints, .. } => hints.clone(),
        }
    }
}
