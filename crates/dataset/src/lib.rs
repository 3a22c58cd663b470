//! Datasets of issues: readers, variants, selection.
//!
//! A dataset is one row for each issue, in files of one of several formats. [`locate`] finds its files, [`Rows`] reads them one row at a time
//! with bounded memory, [`Located::select`] keeps only what a [`Selection`] asks for, and [`load`] all of it. Whatever the variant, a row
//! becomes an [`Instance`](schema::Instance), which says where the work happens and what is asked, and an
//! [`AnswerKey`](schema::AnswerKey), which the agent never sees.

mod array;
mod columns;
mod compression;
mod document;
mod error;
mod families;
mod fields;
mod files;
mod head;
pub mod hub;
pub mod images;
mod layout;
mod lines;
mod list;
mod load;
mod location;
mod near;
mod pictures;
mod position;
mod python;
mod quotes;
mod repository;
mod row;
mod rows;
mod saved;
pub mod select;
mod separated;
mod slice;
mod source;
mod syntax;
mod template;
mod unique;
mod variant;

pub use columns::catches_panics;
pub use error::{Error, Unknown};
pub use families::Family;
pub use files::{DataFile, Located, locate};
pub use layout::Wanted;
pub use load::{Dataset, load, load_selected};
pub use location::Location;
pub use repository::repository_path;
pub use row::Row;
pub use rows::Rows;
pub use select::Selection;
pub use slice::Slice;

/// How a dataset is read.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// Bytes that one row may have. The largest rows of the public datasets have a few megabytes: long test lists, patches with binary files.
    pub max_row_bytes: usize,
    /// Which part of it.
    pub wanted: Wanted,
    /// Whether a row must say what is asked. Only whoever solves it needs to know.
    pub needs_statement: bool,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            max_row_bytes: 64 << 20,
            wanted: Wanted::default(),
            needs_statement: true,
        }
    }
}
