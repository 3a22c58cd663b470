//! Calls to the engine: each under a deadline, each error with its operation.

use std::future::Future;
use std::time::Duration;

use bollard::errors::Error as Answer;
use tokio::time::{Instant, timeout_at};

use super::podman;
use crate::error::{Cause, Error};

/// Why a call brought nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The engine refused, or could not be reached.
    #[error("{}", said(.0))]
    Engine(#[source] Answer),
    /// It did not answer in time.
    #[error("the engine did not answer in time")]
    Late,
}

/// The engine's own words where it has some: the status before them helps nobody.
fn said(answer: &Answer) -> String {
    match answer {
        Answer::DockerResponseServerError { message, .. } => {
            format!("the engine says: {}", message.trim())
        }
        Answer::DockerStreamError { error } => format!("the engine says: {}", error.trim()),
        other => other.to_string(),
    }
}

impl Failure {
    /// Status of the engine's answer.
    pub(super) fn status(&self) -> Option<u16> {
        match self {
            Self::Engine(Answer::DockerResponseServerError { status_code, .. }) => {
                Some(*status_code)
            }
            Self::Engine(_) | Self::Late => None,
        }
    }

    /// What the engine said.
    pub(super) fn message(&self) -> &str {
        match self {
            Self::Engine(Answer::DockerResponseServerError { message, .. }) => message,
            Self::Engine(Answer::DockerStreamError { error }) => error,
            Self::Engine(_) | Self::Late => "",
        }
    }

    /// Whether the container does not run, or is being removed.
    pub(super) fn is_not_running(&self) -> bool {
        self.status() == Some(409) || podman::says_not_running(self.message())
    }

    /// Whether what was given as the name of an image is none.
    pub(super) fn is_bad_name(&self) -> bool {
        self.status() == Some(400) || podman::says_bad_name(self.message())
    }

    /// Whether there is no such file in a container that is there.
    pub(super) fn is_missing_file(&self) -> bool {
        let message = self.message();
        self.status() == Some(404)
            && !message.contains("No such container:")
            && !podman::says_no_container(message)
    }

    /// Whether nobody answered, or the answer broke off: the engine said nothing of what it was asked.
    pub(super) fn is_unanswered(&self) -> bool {
        match self {
            Self::Engine(
                Answer::DockerResponseServerError { .. } | Answer::DockerStreamError { .. },
            ) => false,
            Self::Engine(_) | Self::Late => true,
        }
    }

    fn is_full_disk(&self) -> bool {
        self.message()
            .to_ascii_lowercase()
            .contains("no space left on device")
    }

    pub(super) fn starting(self, operation: impl Into<String>) -> Error {
        if self.is_full_disk() {
            return Error::Disk {
                operation: operation.into(),
            };
        }
        Error::start(operation, self.cause())
    }

    pub(super) fn losing(self, operation: impl Into<String>) -> Error {
        if self.is_full_disk() {
            return Error::Disk {
                operation: operation.into(),
            };
        }
        Error::lost(operation, self.cause())
    }

    /// Without a second copy of the same words.
    fn cause(self) -> Cause {
        match self {
            Self::Engine(
                Answer::DockerResponseServerError { .. } | Answer::DockerStreamError { .. },
            )
            | Self::Late => self.to_string().into(),
            Self::Engine(other) => Box::new(other),
        }
    }
}

/// Waits for the engine's answer until `until`.
pub(super) async fn by<T>(
    until: Instant,
    call: impl Future<Output = Result<T, Answer>>,
) -> Result<T, Failure> {
    match timeout_at(until, call).await {
        Ok(answer) => answer.map_err(Failure::Engine),
        Err(_) => Err(Failure::Late),
    }
}

/// The same for `limit` from now on.
pub(super) async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, Answer>>,
) -> Result<T, Failure> {
    by(Instant::now() + limit, call).await
}
