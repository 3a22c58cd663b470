//! The end of a batch: files that are derived from its journals, the table, `--apply`.

use std::path::Path;
use std::time::Instant;

use schema::quarantine::Quarantine;
use schema::{FailureKind, InstanceId, ModelFailureKind, Outcome};

use super::text::show;
use crate::cli::error::Error;
use crate::dispatcher::{Kept, RunEnd};
use crate::error::At as _;
use crate::exit::Exit;
use crate::one_off;
use crate::report;
use crate::store::RunDirectory;
use crate::store::selection::Selection;
use crate::ui::{self, Printer, Style};

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
            FailureKind::EnvironmentRegistry => {
                Some("--resume tries again what a registry did not give; `docker login` or a mirror (--image-mirror) may have other limits")
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

/// Says where people can look at what was kept.
pub(in crate::cli) fn note_kept(end: &RunEnd, printer: &Printer) {
    for kept in &end.kept {
        printer.note(&kept_line(kept));
    }
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
    pub(in crate::cli) selection: Selection,
    /// Instances selected, once for each sample; `None` is all that the run has.
    pub(in crate::cli) selected: Option<usize>,
    pub(in crate::cli) graded: bool,
    /// Instances whose tests cannot be relied on, where they were named.
    pub(in crate::cli) quarantine: Option<Quarantine>,
    pub(in crate::cli) started: Instant,
}

impl Finish {
    /// Writes `results.csv` and `report.json`, prints the table or the summary, and says what can be done about what stopped the run.
    pub(in crate::cli) fn report(&self, end: &RunEnd, printer: &Printer) -> Result<Exit, Error> {
        let exit = Exit::of_code(end.exit_code);
        self.show(exit, printer)?;
        note_kept(end, printer);
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

    /// Writes what is derived from the journals, and prints the table or the summary.
    pub(in crate::cli) fn show(&self, exit: Exit, printer: &Printer) -> Result<(), Error> {
        let file = self.run.read_run_file()?;
        let file = file.ok_or_else(|| crate::error::Error::NoRun(self.run.root().to_owned()))?;
        let span = report::Span {
            selected: self.selected.unwrap_or(self.selection.len()),
            elapsed: self.started.elapsed(),
            exit,
        };
        let rebuilt = report::rebuild(&self.run, &file, Some(span))?;
        show(&self.run, &rebuilt, self.graded, printer);
        Ok(())
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
