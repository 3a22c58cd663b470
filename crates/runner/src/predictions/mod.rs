//! Predictions that others made, in whatever shape, made plain: one patch for each instance, and what is odd about each.

mod check;
mod document;
mod item;
mod patch_text;
mod shape;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use schema::InstanceId;

pub use check::{Duplicates, Finding, Findings, check_known, matched};
pub use patch_text::{Oddity, repaired};
pub use shape::Shape;

/// Bytes that a predictions file may have. The largest public ones have some hundred megabytes.
const MAX_FILE: u64 = 1 << 30;

/// Bytes that one patch may have.
pub const MAX_PATCH: usize = 64 << 20;

/// Model of predictions that name none.
pub const UNNAMED: &str = "unknown";

/// One prediction as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Instance that it is for.
    pub id: InstanceId,
    /// Model that made it, where it says so.
    pub model: Option<String>,
    /// The patch; `None` is `null`.
    pub patch: Option<String>,
    /// Where in the file it stands.
    pub place: String,
}

/// A predictions file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// Its shape.
    pub shape: Shape,
    /// Its predictions, in its order.
    pub predictions: Vec<Given>,
}

/// Why predictions cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("could not read the predictions `{}`", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// The file holds something else.
    #[error("`{}`: {problem}", path.display())]
    Malformed {
        /// Which.
        path: PathBuf,
        /// What is wrong, with its place.
        problem: String,
    },
    /// They are by several models.
    #[error("`{}` holds predictions of several models: {}", path.display(), models.join(", "))]
    Models {
        /// Which file.
        path: PathBuf,
        /// The models.
        models: Vec<String>,
    },
    /// They are for instances that are not in the dataset.
    #[error("{} not in the dataset: {}", are(*count), shown.join(", "))]
    Unknown {
        /// How many.
        count: usize,
        /// The first of them, each with its place and the nearest id of the dataset.
        shown: Vec<String>,
    },
    /// Several are for the same instance, and differ.
    #[error("predictions that differ are for the same instance: {}", shown.join("; "))]
    Duplicate {
        /// The first of them, with their places.
        shown: Vec<String>,
    },
}

fn are(count: usize) -> String {
    match count {
        1 => "a prediction is for an instance that is".to_owned(),
        count => format!("{count} predictions are for instances that are"),
    }
}

impl Error {
    /// What the user can do.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Read { .. } => {
                "check the path; `gold` stands for the known patches of the dataset"
            }
            Self::Malformed { .. } => {
                "each prediction is an object with `instance_id` and `model_patch` (or `patch`, or `org`, `repo`, `number` and `fix_patch`), in a list, by id, or one a line"
            }
            Self::Models { .. } => "grade one file for each model",
            Self::Unknown { .. } => {
                "give the dataset and the split that the predictions were made from, or select some instances with --ids: predictions for others are then left out"
            }
            Self::Duplicate { .. } => {
                "--duplicates last takes the last one of each, as the official harness does; --duplicates first takes the first"
            }
        }
    }
}

/// Reads all predictions of a file.
///
/// # Errors
/// The file cannot be read, is too large, or holds something else.
pub fn read(path: &Path) -> Result<Submission, Error> {
    let failed = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let wrong = |problem| Error::Malformed {
        path: path.to_owned(),
        problem,
    };
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes))
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(wrong(format!("it has more than {MAX_FILE} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        wrong(format!(
            "byte {} is not UTF-8",
            error.utf8_error().valid_up_to() + 1
        ))
    })?;
    let (shape, predictions) = shape::parse(&text).map_err(wrong)?;
    if predictions.is_empty() {
        return Err(wrong("there are no predictions in it".to_owned()));
    }
    Ok(Submission { shape, predictions })
}

/// The model that all of them are by.
///
/// # Errors
/// There are several.
pub fn model(path: &Path, predictions: &[Given]) -> Result<String, Error> {
    let mut names: Vec<&str> = predictions
        .iter()
        .map(|given| given.model.as_deref().unwrap_or(UNNAMED))
        .collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [name] => Ok((*name).to_owned()),
        names => Err(Error::Models {
            path: path.to_owned(),
            models: names.iter().map(|name| (*name).to_owned()).collect(),
        }),
    }
}
