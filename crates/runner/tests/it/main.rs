//! The runner as people use it: its binary, its files, its words.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cli;
mod command;
mod errors;
