//! The command line: what is parsed, and which command runs.

pub mod arguments;
mod clean;
mod doctor;
mod earlier;
mod error;
mod export;
mod grade;
mod help;
mod images;
mod quarantine;
mod replay;
mod report;
mod resolve;
mod run;
mod shell;
mod source;
mod validate;

use std::ffi::OsString;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use clap::FromArgMatches;

use crate::exit::Exit;
use crate::layers::{Resolved, Surroundings, Table};
use crate::ui::Printer;
pub use error::Error;

use arguments::{Cli, Command, Config};

/// Runs one command line and says how the process shall end.
pub fn run(arguments: Vec<OsString>) -> Exit {
    let matches = match help::command().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => return crate::ui::clap_error(&error),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return crate::ui::clap_error(&error),
    };
    let printer = Printer::new(&cli.global);
    crate::ui::report_panics(&printer);
    let negated = help::negated(&matches);
    let dispatched = AssertUnwindSafe(|| dispatch(cli, negated, &printer));
    match std::panic::catch_unwind(dispatched) {
        Ok(Ok(exit)) => exit,
        Ok(Err(error)) => {
            printer.error(&error, &error.hints());
            error.exit()
        }
        // The hook has said what happened.
        Err(_) => Exit::Bug,
    }
}

fn dispatch(cli: Cli, negated: Table, printer: &Printer) -> Result<Exit, Error> {
    match cli.command {
        Command::Run(command) => run::run(&command, negated, printer),
        Command::Grade(command) => grade::grade(&command, negated, printer),
        Command::Validate(command) => validate::validate(&command, negated, printer),
        Command::Export(command) => export::export(command, printer),
        Command::Report(command) => report::report(&command, printer),
        Command::Replay(command) => replay::replay(&command, negated, printer),
        Command::Images(command) => images::images(command, negated, printer),
        Command::Shell(command) => shell::shell(&command, printer),
        Command::Clean(command) => clean::clean(&command, printer),
        Command::Doctor(command) => doctor::doctor(&command, printer),
    }
}

/// Merges the layers and says what is odd about them.
fn load(config: &Config, flags: Table, printer: &Printer) -> Result<Resolved, Error> {
    let surroundings = Surroundings::of_process();
    let resolved = Resolved::load(&surroundings, &config.config, &config.set, flags)?;
    for warning in &resolved.warnings {
        printer.warn(warning);
    }
    Ok(resolved)
}

/// The runtime that a command works on.
/// How long the end of a command waits for threads that still read or write files.
const LAST_WORK: Duration = Duration::from_secs(10);

/// Does a command's work. Threads that still read or write files for what was given up are not waited for: nothing can tell them to end.
fn block_on<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = runtime()?;
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(LAST_WORK);
    done
}

fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|source| Error::Runtime { source })
}
