//! What can go wrong with a sandbox: one variant for each kind of failure, each with its operation and subject.

use schema::FailureKind;

/// A sandbox failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The place could not be started.
    #[error("could not {operation}")]
    Start {
        /// What was tried, with its subject: "clone `x` at `y`".
        operation: String,
        /// Cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The place went away, or stopped answering, while it was used.
    #[error("lost the sandbox while trying to {operation}")]
    Lost {
        /// What was tried.
        operation: String,
        /// Cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// No space is left.
    #[error("no space left while trying to {operation}")]
    Disk {
        /// What was tried.
        operation: String,
    },
    /// The agent asked for something that cannot be: no such file, a directory, not permitted. It can act on it.
    #[error("{0}")]
    Refused(String),
    /// The user asked for something that this backend cannot do.
    #[error("{message}")]
    Unsupported {
        /// What, and what to do instead.
        message: String,
    },
}

impl Error {
    /// Row of the failure table.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Start { .. } | Self::Unsupported { .. } => FailureKind::EnvironmentStart,
            Self::Lost { .. } => FailureKind::EnvironmentLost,
            Self::Disk { .. } => FailureKind::EnvironmentDisk,
            Self::Refused(_) => FailureKind::Internal,
        }
    }
}
