//! What can stop a command, and the exit code and advice that go with it.

use std::path::PathBuf;

use crate::exit::Exit;
use crate::{layers, one_off};

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
    /// The dataset or the selection cannot be used.
    #[error(transparent)]
    Dataset(#[from] dataset::Error),
    /// The model cannot be used.
    #[error(transparent)]
    Model(#[from] model::Error),
    /// The run could not go on.
    #[error(transparent)]
    Broken(crate::error::Error),
    /// One issue in one repository cannot be worked on.
    #[error(transparent)]
    OneOff(#[from] one_off::Error),
    /// Predictions cannot be used.
    #[error(transparent)]
    Predictions(#[from] crate::predictions::Error),
    /// A file is no trajectory.
    #[error(transparent)]
    Trajectory(#[from] crate::replay::Unreadable),
    /// The machine did not give what every command needs.
    #[error("could not set up this process")]
    Runtime {
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// A prompt template cannot be used.
    #[error(transparent)]
    Prompt(#[from] agent::prompt::Error),
    /// A sandbox cannot be used.
    #[error(transparent)]
    Sandbox(#[from] sandbox::error::Error),
    /// Something given on the command line cannot be used.
    #[error("{message}")]
    Usage {
        /// What, with its subject.
        message: String,
        /// What to do instead.
        hints: Vec<String>,
    },
    /// A file given on the command line could not be read.
    #[error("could not read {what} `{}`", path.display())]
    Read {
        /// What the file is.
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// Cause.
        #[source]
        source: std::io::Error,
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
            Self::Runner(crate::error::Error::Sums { .. })
            | Self::Broken(crate::error::Error::Sums { .. }) => Exit::Bug,
            Self::Runner(_)
            | Self::Configuration(_)
            | Self::Dataset(_)
            | Self::Model(_)
            | Self::Prompt(_)
            | Self::Trajectory(_)
            | Self::Predictions(_)
            | Self::Sandbox(_)
            | Self::Usage { .. }
            | Self::Read { .. } => Exit::Usage,
            Self::Broken(_) | Self::Runtime { .. } => Exit::Aborted,
            Self::OneOff(error) => match error {
                one_off::Error::Apply { .. } | one_off::Error::Outside { .. } => Exit::Gate,
                one_off::Error::Task { .. }
                | one_off::Error::Empty { .. }
                | one_off::Error::NoRepository { .. }
                | one_off::Error::NoWorkTree { .. } => Exit::Usage,
            },
        }
    }

    /// What the user can do about it.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Runner(error) | Self::Broken(error) => error.hints(),
            Self::OneOff(error) => error.hints(),
            Self::Configuration(error) => error.hints(),
            Self::Dataset(error) => error.hints(),
            Self::Model(error) => error.hints(),
            Self::Prompt(_) => vec![
                "templates may use task.id, task.statement, task.workdir, task.images and tools"
                    .to_owned(),
            ],
            Self::Usage { hints, .. } => hints.clone(),
            Self::Sandbox(error) => error.hint().map(str::to_owned).into_iter().collect(),
            Self::Read { source, .. } => match source.kind() {
                std::io::ErrorKind::NotFound => vec!["check the path".to_owned()],
                std::io::ErrorKind::PermissionDenied => {
                    vec!["make it readable for this user".to_owned()]
                }
                _ => Vec::new(),
            },
            Self::Predictions(error) => vec![error.hint().to_owned()],
            Self::Trajectory(error) => error.hint().map(str::to_owned).into_iter().collect(),
            Self::Runtime { .. } => Vec::new(),
        }
    }
}
