//! Everything that is derived from a run's journals at its end, or whenever somebody asks.

use std::collections::BTreeSet;
use std::time::Duration;

use schema::RunEvent;
use schema::report::Report;

use super::official::{self, Summed};
use super::{
    Repositories, Row, Span, instances, markdown, rows, summarize, summary, verdicts, write_results,
};
use crate::error::Error;
use crate::exit::Exit;
use crate::quarantine;
use crate::store::journal::{self, Journal};
use crate::store::ledger::Ledger;
use crate::store::selection::{self, Selection};
use crate::store::{RunDirectory, RunFile};

/// What was derived and written.
#[derive(Debug, Clone)]
pub struct Rebuilt {
    /// One for each instance and sample that an attempt was made for.
    pub rows: Vec<Row>,
    /// `report.json`.
    pub report: Report,
    /// Names of the official summaries in the run's directory.
    pub summaries: Vec<String>,
}

/// Writes `results.csv`, `report.json`, `report.md` and the official summaries anew. What the command that worked on the run knows of itself is
/// in `span`; without one the journals tell it.
///
/// # Errors
/// When the run cannot be read, a file cannot be written, or the counts do not add up, which is a bug.
pub fn rebuild(run: &RunDirectory, file: &RunFile, span: Option<Span>) -> Result<Rebuilt, Error> {
    let journal = journal::read(run)?;
    let selection = selection::read(run)?;
    let ledger = Ledger::fold(journal.lines.iter().map(|line| &line.event));
    let rows = rows(&ledger, &repositories(&selection));
    let samples = file.operation.samples.max(1);
    let mut instances = instances(&rows, &selection, samples);
    let quarantine = quarantine::of_run(run)?;
    if let Some(quarantine) = &quarantine {
        verdicts::mark(&mut instances, quarantine);
    }
    let span = span.unwrap_or_else(|| told(&journal, instances.len()));
    let mut summary = summarize(run, &ledger, &rows, &instances, span);
    if let (Some(grading), Some(_)) = (&mut summary.grading, quarantine) {
        grading.without_quarantined = Some(verdicts::without_quarantined(&instances));
    }
    summary.grading.iter().try_for_each(verdicts::check)?;
    let report = Report { summary, instances };
    write_results(run, &rows)?;
    summary::write(run, &report)?;
    markdown::write(run, &report)?;
    let summaries = official::write(
        run,
        &Summed {
            file,
            selection: &selection,
            rows: &rows,
            kept: &kept(&journal),
        },
    )?;
    Ok(Rebuilt {
        rows,
        report,
        summaries,
    })
}

/// `owner/name` of each selected instance.
pub fn repositories(selection: &Selection) -> Repositories {
    let named = selection
        .iter()
        .map(|(id, selected)| (id.clone(), selected.repo.clone()));
    named.collect()
}

fn kept(journal: &Journal) -> BTreeSet<String> {
    let kept = journal.lines.iter().filter_map(|line| match &line.event {
        RunEvent::SandboxKept { place, .. } => Some(place.clone()),
        _ => None,
    });
    kept.collect()
}

/// How long runners worked, and how the last one ended, as far as the journals tell.
fn told(journal: &Journal, selected: usize) -> Span {
    let mut elapsed = Duration::ZERO;
    let mut exit = Exit::Success;
    let mut open: Option<(jiff::Timestamp, jiff::Timestamp)> = None;
    for line in &journal.lines {
        let Ok(at) = line.at.parse::<jiff::Timestamp>() else {
            continue;
        };
        match &line.event {
            RunEvent::RunStarted { .. } => {
                elapsed += open.map_or(Duration::ZERO, between);
                open = Some((at, at));
            }
            RunEvent::RunFinished { exit_code } => {
                exit = Exit::of_code(*exit_code);
                elapsed += open
                    .take()
                    .map_or(Duration::ZERO, |(from, _)| between((from, at)));
            }
            _ => open = open.map(|(from, _)| (from, at)),
        }
    }
    elapsed += open.map_or(Duration::ZERO, between);
    Span {
        selected,
        elapsed,
        exit,
    }
}

fn between((from, to): (jiff::Timestamp, jiff::Timestamp)) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}
