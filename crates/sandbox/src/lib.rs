//! Places where commands run, the shell protocol, and the repository inside.

pub mod error;
mod files;
pub mod keep;
pub mod limits;
mod memory;
pub mod network;
pub mod place;
mod processes;
pub mod repository;
mod sandbox;
pub mod shell;
mod space;

pub use error::Error;
pub use files::Entry;
pub use sandbox::{Sandbox, SandboxSpec};
pub use shell::{Captured, End, Kept, RunOptions, Shell};
