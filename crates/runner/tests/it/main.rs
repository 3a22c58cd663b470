//! The runner as people use it: its binary, its files, its words.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod batch;
mod cli;
mod command;
mod errors;
mod fixture;
mod grading;
mod resume;
