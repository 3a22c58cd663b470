//! Sandboxes as they are used: real repositories, real shells, real processes.

mod basics;
mod diffs;
mod hostile;
mod limits;
mod sources;
mod support;
