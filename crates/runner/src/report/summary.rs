//! The summary object: `--format json`, `report.json`.

use std::collections::BTreeMap;
use std::time::Duration;

use schema::report::{InstanceReport, Report, Summary};

use super::row::Row;
use crate::error::{At, Error};
use crate::exit::Exit;
use crate::store::ledger::Ledger;
use crate::store::{RunDirectory, atomic};

/// What the rows do not say.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// Instances selected, once for each sample.
    pub selected: usize,
    /// How long the command ran.
    pub elapsed: Duration,
    /// How it ended.
    pub exit: Exit,
}

/// Counts the rows, out of all instances that the report lists.
pub fn summarize(
    run: &RunDirectory,
    ledger: &Ledger,
    rows: &[Row],
    instances: &[InstanceReport],
    span: Span,
) -> Summary {
    let mut summary = Summary {
        run_directory: run.root().display().to_string(),
        selected: span.selected,
        usage: ledger.usage(),
        seconds: (span.elapsed.as_secs_f64() * 1000.0).round() / 1000.0,
        exit_code: span.exit.code(),
        ..Summary::default()
    };
    for row in rows {
        count(&mut summary.outcomes, row.outcome.to_owned());
        if !row.reason.is_empty() {
            let reason = format!("{}:{}", row.outcome, row.reason);
            count(&mut summary.reasons, reason);
        }
        count(&mut summary.verdicts, row.verdict.to_owned());
    }
    summary.grading = super::verdicts::sum(rows, instances);
    summary
}

fn count(counts: &mut BTreeMap<String, usize>, name: String) {
    *counts.entry(name).or_default() += 1;
}

/// Writes `report.json` of a run.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write(run: &RunDirectory, report: &Report) -> Result<(), Error> {
    let path = run.root().join("report.json");
    atomic::replace(&path, |file| {
        serde_json::to_writer_pretty(&mut *file, report)?;
        std::io::Write::write_all(file, b"\n")
    })
    .at("write", &path)
}

#[cfg(test)]
mod tests {
    use super::super::{row::rows, tests};
    use schema::InstanceId;

    use super::*;
    use crate::report::instances;
    use crate::store::selection::Selected;

    #[test]
    fn counts_add_up() {
        let ledger = tests::ledger();
        let rows = rows(&ledger, &tests::repositories());
        let span = Span {
            selected: 7,
            elapsed: Duration::from_millis(12_345),
            exit: Exit::Infrastructure,
        };
        let run = RunDirectory::new("runs/x");
        let absent = [(InstanceId::new("g__absent-7"), Selected::default())];
        let instances = instances(&rows, &absent.into(), 1);
        insta::assert_json_snapshot!(summarize(&run, &ledger, &rows, &instances, span));
    }
}
