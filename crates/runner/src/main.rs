//! The `runner` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    // A keeper of a sandbox: before any runtime, any thread, any argument parsing.
    if arguments
        .nth(1)
        .is_some_and(|first| first == sandbox::keep::ARGUMENT)
    {
        return sandbox::keep::main(arguments);
    }
    runner::cli::run(std::env::args_os().collect()).into()
}
