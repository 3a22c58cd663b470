//! Git diffs: parsing, path classes, filtering. Pure.
//!
//! A patch is parsed into ranges of its own bytes, so that taking files out of it leaves every other byte as it was, whatever its encoding,
//! line endings or missing final newlines.

pub mod classes;
mod cursor;
pub mod error;
pub mod file;
mod header;
mod parse;
pub mod path;
mod reverse;
pub mod split;

pub use classes::{PathClass, PathClasses};
pub use error::{ParseError, PatternError, ReverseError};
pub use file::{Change, Content, FilePatch, Hunk, Patch, Paths};
pub use parse::parse;
pub use path::PatchPath;
pub use reverse::reverse;
pub use split::{Split, split};
