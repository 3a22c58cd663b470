//! What ends a run before it starts, or that no attempt can be blamed for.

use std::io;
use std::path::PathBuf;

use crate::settings::Difference;

/// An error of the runner itself: operation, subject, cause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of the run could not be used.
    #[error("could not {operation} `{path}`")]
    File {
        /// What was tried.
        operation: &'static str,
        /// Subject.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// A file of the run holds something else than expected.
    #[error("`{path}` is not a file that this version can read: {message}")]
    Format {
        /// Subject.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The run directory exists and nobody said that the run should go on.
    #[error("run directory `{0}` already holds a run")]
    Exists(PathBuf),
    /// The run directory holds something else.
    #[error("directory `{0}` is not empty and holds no run")]
    Occupied(PathBuf),
    /// There is no run to go on with.
    #[error("`{0}` holds no run")]
    NoRun(PathBuf),
    /// Another runner works on the run.
    #[error("run directory `{path}` is in use by process {pid} on {host}")]
    InUse {
        /// Subject.
        path: PathBuf,
        /// Its process.
        pid: u32,
        /// Its machine.
        host: String,
    },
    /// The run was made with other settings.
    #[error("run directory `{path}` was made with other settings: {}", describe(.differences))]
    IdentityChanged {
        /// Subject.
        path: PathBuf,
        /// Fields that differ; never empty.
        differences: Vec<Difference>,
    },
    /// What a report counts is not what it lists: a bug.
    #[error("the report does not add up: {counted} instances counted, {all} listed")]
    Sums {
        /// Instances in buckets, and incomplete ones.
        counted: usize,
        /// Instances that it lists.
        all: usize,
    },
    /// A row of the dataset changed since its instance was first started.
    #[error("row of `{instance}` changed since the run began")]
    RowChanged {
        /// Subject.
        instance: String,
    },
    /// Settings that cannot work together, or that this machine cannot meet.
    #[error("{message}")]
    Settings {
        /// What, for people.
        message: String,
        /// What to do.
        hint: Option<String>,
        /// Cause.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

impl Error {
    /// What the user can do, one line each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Exists(_) => {
                vec!["give --resume to go on with it, or another --out for a new run".to_owned()]
            }
            Self::Occupied(_) => vec!["use another --out".to_owned()],
            Self::NoRun(_) => vec![
                "a run's directory holds `run.json`; a new run starts without --resume".to_owned(),
            ],
            Self::InUse { .. } => vec!["wait for it, stop it, or use another --out".to_owned()],
            Self::IdentityChanged { .. } => vec![
                "a run goes on only with the settings that change outcomes left as they were; \
                 use another --out for the new ones"
                    .to_owned(),
            ],
            Self::RowChanged { .. } => {
                vec!["use the dataset that the run began with, or another --out".to_owned()]
            }
            Self::Settings { hint, .. } => hint.iter().cloned().collect(),
            Self::File { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                vec!["free some space; nothing that was finished is lost".to_owned()]
            }
            Self::File { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                vec!["make it writable for this user, or use another --out".to_owned()]
            }
            Self::File { .. } | Self::Format { .. } | Self::Sums { .. } => Vec::new(),
        }
    }
}

fn describe(differences: &[Difference]) -> String {
    let shown: Vec<String> = differences
        .iter()
        .take(5)
        .map(|difference| {
            let short = |value: &serde_json::Value| {
                let text = value.to_string();
                if text.chars().count() > 60 {
                    let cut: String = text.chars().take(57).collect();
                    format!("{cut}...")
                } else {
                    text
                }
            };
            format!(
                "{} is {}, was {}",
                difference.field,
                short(&difference.ours),
                short(&difference.theirs)
            )
        })
        .collect();
    shown.join("; ")
}

/// Adds the operation and the path to an I/O result.
pub(crate) trait At<T> {
    /// Maps an I/O error to [`Error::File`].
    fn at(self, operation: &'static str, path: impl Into<PathBuf>) -> Result<T, Error>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, operation: &'static str, path: impl Into<PathBuf>) -> Result<T, Error> {
        self.map_err(|source| Error::File {
            operation,
            path: path.into(),
            source,
        })
    }
}

/// An error and its causes on one line, as messages of failures hold it.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text
}
