//! Places where commands run, the shell protocol, and the repository inside.

pub mod error;
pub mod limits;
pub mod place;
