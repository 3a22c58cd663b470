//! What can go wrong with a sandbox: one variant for each kind of failure, each with its operation and subject.

use std::path::{Path, PathBuf};

use schema::FailureKind;

/// Any cause, kept for the chain that people read.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

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
        source: Cause,
    },
    /// The repository cannot be used as asked.
    #[error("cannot use the repository {}: {problem}", path.display())]
    Repository {
        /// Where it was looked for.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What the user can do about it.
        hint: String,
        /// Cause, where another library found the problem.
        #[source]
        source: Option<Cause>,
    },
    /// The image cannot be had, or no place can be made from it.
    #[error("cannot use the image `{image}`: {problem}")]
    Image {
        /// Its name.
        image: String,
        /// What is wrong, in the registry's words where it has some.
        problem: String,
        /// What the user can do about it.
        hint: String,
    },
    /// The registry of an image gives nothing: it is away, or limits how much is pulled. That says nothing of the image.
    #[error("the registry {registry} did not give the image `{image}`: {problem}")]
    Registry {
        /// Its host.
        registry: String,
        /// Name of the image.
        image: String,
        /// Its last answer, or what there was instead.
        problem: String,
    },
    /// The engine that makes places cannot be used.
    #[error("{problem}")]
    Engine {
        /// Which, and what is wrong.
        problem: String,
        /// What the user can do about it.
        hint: String,
        /// Cause.
        #[source]
        source: Option<Cause>,
    },
    /// The place went away, or stopped answering, while it was used.
    #[error("lost the sandbox while trying to {operation}")]
    Lost {
        /// What was tried.
        operation: String,
        /// Cause.
        #[source]
        source: Cause,
    },
    /// The place is there, but no program starts in it.
    #[error("no program starts in the sandbox: {said}")]
    NotStarted {
        /// What came instead.
        said: String,
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
    /// The engine has no network that works, and one was asked for.
    #[error("{problem}")]
    Network {
        /// What is wrong with it, and what to do instead.
        problem: String,
    },
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
            Self::Image { .. } => FailureKind::EnvironmentImage,
            Self::Registry { .. } => FailureKind::EnvironmentRegistry,
            Self::Start { .. }
            | Self::Repository { .. }
            | Self::Engine { .. }
            | Self::Network { .. }
            | Self::Unsupported { .. } => FailureKind::EnvironmentStart,
            Self::Lost { .. } | Self::NotStarted { .. } => FailureKind::EnvironmentLost,
            Self::Disk { .. } => FailureKind::EnvironmentDisk,
            Self::Refused(_) => FailureKind::Internal,
        }
    }

    /// Whether trying again brings nothing before somebody changes something.
    pub fn is_hopeless(&self) -> bool {
        match self {
            Self::Image { .. } | Self::Network { .. } | Self::Unsupported { .. } => true,
            Self::Start { .. }
            | Self::Repository { .. }
            | Self::Registry { .. }
            | Self::Engine { .. }
            | Self::Lost { .. }
            | Self::NotStarted { .. }
            | Self::Disk { .. }
            | Self::Refused(_) => false,
        }
    }

    /// The image that is at fault, where one is: all places from it fail alike.
    pub fn image(&self) -> Option<&str> {
        match self {
            Self::Image { image, .. } => Some(image),
            Self::Start { .. }
            | Self::Repository { .. }
            | Self::Registry { .. }
            | Self::Engine { .. }
            | Self::Lost { .. }
            | Self::NotStarted { .. }
            | Self::Disk { .. }
            | Self::Refused(_)
            | Self::Network { .. }
            | Self::Unsupported { .. } => None,
        }
    }

    /// The registry that is at fault, where one is: all that comes from it fails alike.
    pub fn registry(&self) -> Option<&str> {
        match self {
            Self::Registry { registry, .. } => Some(registry),
            Self::Image { .. }
            | Self::Start { .. }
            | Self::Repository { .. }
            | Self::Engine { .. }
            | Self::Lost { .. }
            | Self::NotStarted { .. }
            | Self::Disk { .. }
            | Self::Refused(_)
            | Self::Network { .. }
            | Self::Unsupported { .. } => None,
        }
    }

    /// What the user can do about it, where something is known to help.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Repository { hint, .. }
            | Self::Image { hint, .. }
            | Self::Engine { hint, .. } => Some(hint),
            Self::Registry { .. } => Some(
                "see whether `docker pull` brings it; `docker login` raises the limits of some registries, and a mirror of the image has limits of its own",
            ),
            Self::Disk { .. } => {
                Some("free some space, or point the sandboxes at another directory")
            }
            Self::Start { source, .. } if is_denied(source.as_ref()) => {
                Some("make it writable for this user, or point the sandboxes at another directory")
            }
            Self::Start { .. }
            | Self::Lost { .. }
            | Self::NotStarted { .. }
            | Self::Refused(_)
            | Self::Network { .. }
            | Self::Unsupported { .. } => None,
        }
    }

    pub(crate) fn start(operation: impl Into<String>, source: impl Into<Cause>) -> Self {
        let (operation, source) = (operation.into(), source.into());
        if is_out_of_space(source.as_ref()) {
            Self::Disk { operation }
        } else {
            Self::Start { operation, source }
        }
    }

    pub(crate) fn lost(operation: impl Into<String>, source: impl Into<Cause>) -> Self {
        let (operation, source) = (operation.into(), source.into());
        if is_out_of_space(source.as_ref()) {
            Self::Disk { operation }
        } else {
            Self::Lost { operation, source }
        }
    }

    pub(crate) fn repository(
        path: &Path,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::Repository {
            path: path.to_owned(),
            problem: problem.into(),
            hint: hint.into(),
            source: None,
        }
    }
}

/// Whether a cause, or one behind it, is a full disk or a used-up quota.
fn is_out_of_space(cause: &(dyn std::error::Error + 'static)) -> bool {
    tells_of_full_disk(cause) || cause.source().is_some_and(is_out_of_space)
}

/// As the system or libgit2 tells it.
fn tells_of_full_disk(cause: &(dyn std::error::Error + 'static)) -> bool {
    if let Some(error) = cause.downcast_ref::<std::io::Error>() {
        return matches!(
            error.kind(),
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
        );
    }
    if let Some(error) = cause.downcast_ref::<git2::Error>() {
        return error.message().contains("No space left on device");
    }
    false
}

fn is_denied(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
}
