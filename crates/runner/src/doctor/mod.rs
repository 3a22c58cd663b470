//! `runner doctor`: what this machine has, what it lacks, and how to mend that.

mod checks;
mod text;

use serde::Serialize;

pub use checks::{Subject, examine};
pub use text::render;

/// How one thing stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It is there.
    Ok,
    /// Runs work without it, or with less.
    Warn,
    /// Runs do not work without it.
    Missing,
}

/// One thing looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What.
    pub name: &'static str,
    /// How it stands.
    pub status: Status,
    /// What was found, in one line.
    pub found: String,
    /// What to do, where something can be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

impl Check {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            name,
            status: Status::Ok,
            found: found.into(),
            mend: None,
        }
    }

    fn warn(name: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            name,
            status: Status::Warn,
            found: found.into(),
            mend: Some(mend.into()),
        }
    }

    fn missing(name: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            status: Status::Missing,
            ..Self::warn(name, found, mend)
        }
    }
}
