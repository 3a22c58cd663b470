//! The command line: what is parsed, and which command runs.

pub mod arguments;
mod error;
mod help;
mod resolve;

use std::ffi::OsString;

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
    let negated = matches
        .subcommand()
        .map(|(_, matches)| help::negated(matches))
        .unwrap_or_default();
    match dispatch(cli, negated, &printer) {
        Ok(exit) => exit,
        Err(error) => {
            printer.error(&error, &error.hints());
            error.exit()
        }
    }
}

fn dispatch(cli: Cli, negated: Table, printer: &Printer) -> Result<Exit, Error> {
    match cli.command {
        Command::Run(run) => {
            let mut flags = run.options.write().map_err(|error| Error::flags(&error))?;
            flags.extend(negated);
            let resolved = load(&run.config, flags, printer)?;
            if run.print_config {
                let text = crate::layers::show(&resolved, printer.is_json())?;
                printer.data(&text);
                return Ok(Exit::Success);
            }
            Ok(Exit::Success)
        }
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
