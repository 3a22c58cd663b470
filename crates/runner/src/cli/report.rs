//! `runner report`.

use super::arguments::Report;
use super::error::Error;
use super::run;
use crate::exit::Exit;
use crate::quarantine;
use crate::report;
use crate::store::RunDirectory;
use crate::ui::Printer;

/// Runs the command.
pub(super) fn report(command: &Report, printer: &Printer) -> Result<Exit, Error> {
    let run = RunDirectory::new(&command.run);
    let Some(file) = run.read_run_file()? else {
        return Err(crate::error::Error::NoRun(command.run.clone()).into());
    };
    if let Some(found) = super::quarantine::of_run(command.quarantine.as_deref(), &run, printer)? {
        quarantine::give(&run, &found)?;
    }
    let rebuilt = report::rebuild(&run, &file, None)?;
    let graded = rebuilt.report.summary.grading.is_some();
    run::show(&run, &rebuilt, graded, printer);
    Ok(Exit::Success)
}
