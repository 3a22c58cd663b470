//! The runner as people use it: its binary, its files, its words.

mod cli;
mod command;
mod errors;
