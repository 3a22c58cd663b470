//! The end of a batch: files that are derived from its journals, the table, `--apply`.

use std::path::Path;
use std::time::Instant;

use schema::report::Summary;
use schema::{FailureKind, InstanceId, ModelFailureKind, Outcome};

use crate::cli::error::Error;
use crate::dispatcher::{Kept, RunEnd};
use crate::error::At as _;
use crate::exit::Exit;
use crate::one_off;
use crate::report::{self, Repositories, Row};
use crate::store::ledger::Ledger;
use crate::store::{RunDirectory, journal};
use crate::ui::{self, Printer, Style};

/// Failures that are told in full; the rest is in `results.csv`.
const FAILURES: usize = 10;

/// `id: environment:lost: what happened`.
fn failure(row: &Row) -> String {
    let id = ui::escape::short(row.instance_id.as_str(), 60);
    let error = ui::escape::short(&row.error, 500);
    match row.reason {
        "" => format!("{id}: {error}"),
        reason => format!("{id}: {reason}: {error}"),
    }
}

/// What the counts are of: all that the run has, of which this command may have selected fewer.
fn selection(selected: usize, rows: &[Row]) -> String {
    let noun = if rows.iter().any(|row| row.sample > 1) {
        "sample"
    } else {
        "instance"
    };
    let all = ui::count(selected.max(rows.len()), noun);
    if selected < rows.len() {
        format!("{all} ({selected} selected now): ")
    } else {
        format!("{all}: ")
    }
}

/// What to do about the failures that stopped a run.
fn advice(end: &RunEnd) -> Option<&'static str> {
    end.outcomes.iter().find_map(|(_, outcome)| match outcome {
        Outcome::Failed { reason, .. } => match reason {
            FailureKind::Model(ModelFailureKind::Auth) => Some(
                "set PATCHMILL_API_KEY, or the provider's own variable such as OPENAI_API_KEY, to a key that this server takes",
            ),
            FailureKind::Model(ModelFailureKind::Billing) => {
                Some("the account behind the key has no credit left")
            }
            FailureKind::Model(ModelFailureKind::Overloaded | ModelFailureKind::Timeout) => {
                Some("look whether the server is up and reachable; --workers says how much it is asked at once")
            }
            FailureKind::EnvironmentDisk => {
                Some("free some space, or give --scratch and --out another disk")
            }
            FailureKind::EnvironmentImage => {
                Some("`runner images pull` gets the images of a dataset beforehand, and says which cannot be had")
            }
            FailureKind::EnvironmentStart => {
                Some("`runner doctor` says what this machine lacks")
            }
            FailureKind::Model(ModelFailureKind::BadRequest | ModelFailureKind::Refused)
            | FailureKind::EnvironmentLost
            | FailureKind::Check
            | FailureKind::Internal => None,
        },
        Outcome::Completed | Outcome::Stopped { .. } | Outcome::Cancelled => None,
    })
}

/// Where people can look at what an attempt or a grading left.
fn kept_line(kept: &Kept) -> String {
    let grading = kept
        .grading
        .map_or_else(String::new, |number| format!(", grading {number}"));
    let whose = format!("{}{grading}", kept.key);
    format!(
        "kept {} of {}: {}",
        ui::escape::line(&kept.place.id.0),
        ui::escape::line(&whose),
        ui::escape::line(&kept.place.open)
    )
}

/// What the end needs to know of the beginning.
pub(in crate::cli) struct Finish {
    pub(in crate::cli) run: RunDirectory,
    pub(in crate::cli) repositories: Repositories,
    /// Instances selected, once for each sample; `None` is all that the run has.
    pub(in crate::cli) selected: Option<usize>,
    pub(in crate::cli) graded: bool,
    pub(in crate::cli) started: Instant,
}

impl Finish {
    /// Writes `results.csv` and `report.json`, prints the table or the summary.
    pub(in crate::cli) fn report(&self, end: &RunEnd, printer: &Printer) -> Result<Exit, Error> {
        let journal = journal::read(&self.run)?;
        let ledger = Ledger::fold(journal.lines.iter().map(|line| &line.event));
        let rows = report::rows(&ledger, &self.repositories);
        let exit = Exit::of_code(end.exit_code);
        let span = report::Span {
            selected: self.selected.unwrap_or(rows.len()),
            elapsed: self.started.elapsed(),
            exit,
        };
        let summary = report::summarize(&self.run, &ledger, &rows, span);
        report::write_results(&self.run, &rows)?;
        report::write_summary(&self.run, &summary)?;
        if printer.is_json() {
            let text = serde_json::to_string_pretty(&summary);
            printer.data(&text.unwrap_or_default());
        } else {
            printer.data(&self.text(&rows, &summary));
        }
        for kept in &end.kept {
            printer.note(&kept_line(kept));
        }
        if matches!(exit, Exit::Aborted | Exit::Interrupted | Exit::Terminated) {
            let label = printer.paint(Style::Hint, "hint:");
            let advice = end.advice.as_deref().or_else(|| advice(end));
            if let Some(advice) = advice.filter(|_| exit == Exit::Aborted) {
                printer.note(&format!("{label} {advice}"));
            }
            let run = self.run.root().display();
            // A grading takes up whatever has no verdict; only a run has to be told that it goes on.
            printer.note(&match self.selected {
                Some(_) => format!("{label} the same command with --out {run} --resume goes on"),
                None => format!("{label} runner grade {run} goes on with what has no verdict yet"),
            });
        }
        Ok(exit)
    }

    fn text(&self, rows: &[Row], summary: &Summary) -> String {
        let counts = |counts: &std::collections::BTreeMap<String, usize>| {
            let named = counts.iter().map(|(name, count)| format!("{count} {name}"));
            named.collect::<Vec<_>>().join(", ")
        };
        let mut lines = Vec::new();
        if !rows.is_empty() {
            lines.push(report::table(rows));
            lines.push(String::new());
        }
        let failures = rows.iter().filter(|row| !row.error.is_empty());
        let mut failures: Vec<String> = failures.map(failure).collect();
        if !failures.is_empty() {
            let more = failures.len().saturating_sub(FAILURES);
            failures.truncate(FAILURES);
            lines.extend(failures);
            if more > 0 {
                let more = ui::count(more, "more failure");
                lines.push(format!("… and {more} in results.csv"));
            }
            lines.push(String::new());
        }
        let mut counted = selection(summary.selected, rows);
        counted.push_str(&counts(&summary.outcomes));
        if summary.outcomes.is_empty() {
            counted.push_str("none ended");
        }
        if self.graded {
            counted.push_str("; ");
            counted.push_str(&counts(&summary.verdicts));
        }
        lines.push(counted);
        let usage = &summary.usage;
        let tokens = match (usage.input + usage.output, usage.cost) {
            (0, _) => "no tokens".to_owned(),
            (_, Some(cost)) => {
                format!(
                    "{} tokens in, {} out, ${cost:.4}",
                    usage.input, usage.output
                )
            }
            (_, None) => format!(
                "{} tokens in, {} out, cost unknown",
                usage.input, usage.output
            ),
        };
        lines.push(format!("{tokens}, {:.1} s", summary.seconds));
        let root = self.run.root().display();
        lines.push(format!("patches       {root}/patches"));
        lines.push(format!("trajectories  {root}/trajectories"));
        lines.push(format!("predictions   {root}/predictions.jsonl"));
        lines.push(format!(
            "results       {root}/results.csv, {root}/report.json"
        ));
        lines.join("\n")
    }

    /// Puts the patch into the work tree when the attempt completed.
    pub(super) fn apply(
        &self,
        end: &RunEnd,
        id: &InstanceId,
        repository: &Path,
        printer: &Printer,
    ) -> Result<(), Error> {
        let completed = end
            .outcomes
            .iter()
            .any(|(key, outcome)| key.instance_id == *id && *outcome == Outcome::Completed);
        if !completed {
            printer.warn("the attempt did not complete: nothing was applied");
            return Ok(());
        }
        let path = self.run.patch(id, 1);
        let patch = std::fs::read(&path).at("read", &path)?;
        if patch.is_empty() {
            printer.warn("the patch is empty: nothing was applied");
            return Ok(());
        }
        one_off::apply(repository, &patch)?;
        printer.note(&format!("applied to {}", repository.display()));
        Ok(())
    }
}
