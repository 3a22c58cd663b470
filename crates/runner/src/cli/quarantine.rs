//! `--quarantine FILE` of the commands that report.

use std::collections::BTreeSet;
use std::path::Path;

use schema::InstanceId;
use schema::quarantine::Quarantine;

use super::error::Error;
use crate::quarantine;
use crate::store::{RunDirectory, selection};
use crate::ui::{self, Printer};

/// Reads the file, where one is named, and warns of instances in it that are not among the dataset's.
pub(super) fn of_dataset<'i>(
    path: Option<&Path>,
    known: impl IntoIterator<Item = &'i InstanceId>,
    printer: &Printer,
) -> Result<Option<Quarantine>, Error> {
    let Some(path) = path else {
        return Ok(None);
    };
    let found = quarantine::read(path)?;
    warn(&found, &known.into_iter().collect(), "dataset", printer);
    Ok(Some(found))
}

/// Reads the file, where one is named, and warns of instances in it that are not among the run's.
pub(super) fn of_run(
    path: Option<&Path>,
    run: &RunDirectory,
    printer: &Printer,
) -> Result<Option<Quarantine>, Error> {
    let Some(path) = path else {
        return Ok(None);
    };
    let found = quarantine::read(path)?;
    let selected = selection::read(run)?;
    warn(&found, &selected.keys().collect(), "run", printer);
    Ok(Some(found))
}

fn warn(found: &Quarantine, known: &BTreeSet<&InstanceId>, whose: &str, printer: &Printer) {
    if let Some(warning) = quarantine::unknown(found, known, whose) {
        printer.warn(&ui::escape::line(&warning));
    }
}
