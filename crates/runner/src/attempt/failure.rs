//! Failures on the way of an attempt or a grading.

use schema::{FailureKind, Outcome};

use crate::dispatcher::Cause;
use crate::error::chain;

/// A failure on the way, as an outcome will hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Row of the failure table.
    pub kind: FailureKind,
    /// What happened, with its causes.
    pub message: String,
}

impl Failure {
    /// A failure to use a file of the run.
    pub fn file(operation: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        let full = matches!(
            error.kind(),
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
        );
        Self {
            kind: if full {
                FailureKind::EnvironmentDisk
            } else {
                FailureKind::Internal
            },
            message: format!("could not {operation} `{}`: {error}", path.display()),
        }
    }
}

impl From<sandbox::Error> for Failure {
    fn from(error: sandbox::Error) -> Self {
        Self {
            kind: error.kind(),
            message: chain(&error),
        }
    }
}

/// A failure, and what it comes from where that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traced {
    /// The failure.
    pub failure: Failure,
    /// What it comes from.
    pub cause: Option<Cause>,
}

impl From<Failure> for Traced {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            cause: None,
        }
    }
}

impl From<sandbox::Error> for Traced {
    fn from(error: sandbox::Error) -> Self {
        Self {
            cause: Cause::of(&error),
            failure: error.into(),
        }
    }
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        Self::Failed {
            reason: failure.kind,
            message: failure.message,
        }
    }
}
