//! The repository of an instance: prepared once, checked out sealed for each attempt, compared with its start, patched for grading.

mod apply;
mod bundle;
mod checkout;
mod diff;
mod headers;
mod ignore;
mod odb;
mod prepare;
mod seal;
mod source;
mod submodules;
mod survey;
mod worktree;

pub use diff::{Omission, WorkspaceDiff};
pub use prepare::{Prepared, check, prepare};
pub use seal::{LeftOut, SealRecord};
pub use source::Source;

pub(crate) use apply::apply;
pub(crate) use checkout::{Start, checkout};
pub(crate) use diff::diff;
