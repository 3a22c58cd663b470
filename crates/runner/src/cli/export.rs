//! `runner export`.

use super::arguments::{Export, ExportCommand, ExportLeaderboard};
use super::error::Error;
use crate::exit::Exit;
use crate::export;
use crate::store::RunDirectory;
use crate::ui::{self, Printer};

/// Runs the command.
pub(super) fn export(command: Export, printer: &Printer) -> Result<Exit, Error> {
    match command.command {
        ExportCommand::Leaderboard(command) => leaderboard(&command, printer),
    }
}

fn leaderboard(command: &ExportLeaderboard, printer: &Printer) -> Result<Exit, Error> {
    let run = RunDirectory::new(&command.run);
    let Some(file) = run.read_run_file()? else {
        return Err(crate::error::Error::NoRun(command.run.clone()).into());
    };
    let exported = export::leaderboard(&run, &file, &command.out)?;
    for warning in exported.warnings() {
        printer.warn(&warning);
    }
    if printer.is_json() {
        printer.data(&format!("{:#}", exported.json(&command.out)));
        return Ok(Exit::Success);
    }
    let root = command.out.display();
    printer.data(&format!(
        "{} in {root}/all_preds.jsonl\n{} in {root}/trajs\n{} in {root}/logs\nfill in {root}/metadata.yaml and {root}/README.md before you submit",
        ui::count(exported.predictions, "prediction"),
        ui::count(exported.trajectories, "trajectory"),
        ui::count(exported.logs, "instance"),
    ));
    Ok(Exit::Success)
}
