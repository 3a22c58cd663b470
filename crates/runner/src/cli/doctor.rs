//! `runner doctor`.

use std::path::PathBuf;

use serde_json::json;

use super::arguments::Doctor;
use super::error::Error;
use crate::backends;
use crate::doctor::{Status, Subject, examine, render};
use crate::exit::Exit;
use crate::layers::{Surroundings, Table};
use crate::ui::Printer;

/// Looks at this machine. Warnings leave the exit code at 0: runs work with them.
pub(super) fn doctor(command: &Doctor, printer: &Printer) -> Result<Exit, Error> {
    let resolved = super::load(&command.config, Table::new(), printer)?;
    let options = resolved.options()?;
    let out = command.out.clone().or(options.batch.out);
    let subject = Subject {
        variables: Surroundings::of_process().variables,
        runs: out.unwrap_or_else(|| PathBuf::from(crate::store::RUNS)),
        scratch: backends::root(options.sandbox.scratch.as_ref()),
    };
    let checks = super::runtime()?.block_on(examine(&subject));
    let missing = checks.iter().any(|check| check.status == Status::Missing);
    let exit = if missing { Exit::Gate } else { Exit::Success };
    if printer.is_json() {
        let report = json!({"checks": checks, "exit_code": exit.code()});
        printer.data(&format!("{report:#}"));
    } else {
        printer.data(&render(&checks, printer));
    }
    Ok(exit)
}
