//! The `runner` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    runner::cli::run(std::env::args_os().collect()).into()
}
