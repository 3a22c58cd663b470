//! Where a row stands in its file, for people.

use std::fmt;

/// Where a row stands in its file: what errors name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// Line of a text file where the row starts, from 1.
    Line(u64),
    /// Number of a row in a file that has no lines, from 1.
    Row {
        /// The row.
        number: u64,
        /// Its row group, from 1, where the file has them.
        group: Option<u32>,
    },
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row {
                number,
                group: None,
            } => write!(f, "row {number}"),
            Self::Row {
                number,
                group: Some(group),
            } => write!(f, "row {number} (row group {group})"),
        }
    }
}
