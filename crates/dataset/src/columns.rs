//! Files that hold columns: Parquet, Arrow streams (as `save_to_disk` writes them) and Arrow files (Feather).

#[cfg(feature = "parquet")]
mod arrow_stream;
#[cfg(feature = "parquet")]
mod batches;
#[cfg(feature = "parquet")]
mod guard;
#[cfg(feature = "parquet")]
mod parquet_file;
#[cfg(feature = "parquet")]
mod time;
#[cfg(feature = "parquet")]
mod value;

use std::path::Path;

#[cfg(feature = "parquet")]
pub(crate) use batches::{Rows, open};
#[cfg(feature = "parquet")]
pub use guard::catches_panics;

use crate::head::has_extension;

/// Kinds of such files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Parquet.
    Parquet,
    /// The streaming form of Arrow's interchange format.
    ArrowStream,
    /// Its form with a footer.
    ArrowFile,
}

impl Kind {
    /// The kind of a file that starts with `magic`. A file whose name says that it is one is read as one, so that its error says what is wrong with it.
    pub(crate) fn of(magic: &[u8], name: &Path) -> Option<Self> {
        match magic {
            [b'P', b'A', b'R', b'1', ..] => Some(Self::Parquet),
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some(Self::ArrowFile),
            [0xff, 0xff, 0xff, 0xff, ..] => Some(Self::ArrowStream),
            // What stands in a file's place says more about it than its name.
            [b'<', ..] | [b'v', b'e', b'r', b's', b'i', b'o', b'n', b' '] | [] => None,
            _ if has_extension(name, &["parquet"]) => Some(Self::Parquet),
            _ if has_extension(name, &["arrow"]) => Some(Self::ArrowStream),
            _ => None,
        }
    }

    /// Name for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Parquet => "Parquet",
            Self::ArrowStream => "Arrow stream",
            Self::ArrowFile => "Arrow file",
        }
    }
}

/// Whether a panic of this thread would be caught and told as an error about the file: a panic hook has nothing to say then.
#[cfg(not(feature = "parquet"))]
pub fn catches_panics() -> bool {
    false
}

/// Rows of a kind that this build does not read.
#[cfg(not(feature = "parquet"))]
#[derive(Debug)]
pub(crate) enum Rows {}

#[cfg(not(feature = "parquet"))]
impl Rows {
    pub(crate) fn columns(&self) -> Vec<(String, String)> {
        match *self {}
    }
}

#[cfg(not(feature = "parquet"))]
impl Iterator for Rows {
    type Item = Result<crate::source::RawRow, crate::error::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match *self {}
    }
}

/// Says that this build does not read such files.
#[cfg(not(feature = "parquet"))]
pub(crate) fn open(
    _: std::fs::File,
    kind: Kind,
    place: crate::source::Place,
) -> Result<Rows, crate::error::Error> {
    Err(crate::error::Error::UnsupportedFormat {
        path: place.path,
        found: match kind {
            Kind::Parquet => "a Parquet file",
            Kind::ArrowStream | Kind::ArrowFile => "an Arrow file",
        },
        hint: "build with the feature `parquet`, or write its rows as JSON lines first",
    })
}
