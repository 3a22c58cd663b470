//! What became of each sample of a validation, out of its run directory.

use std::fs;

use schema::InstanceId;
use schema::report::GradingReport;

use crate::error::{At, Error};
use crate::settings::{Trial, Trials};
use crate::store::RunDirectory;
use crate::store::ledger::{Attempt, Grading, Ledger, Sample};

/// A trial and what it came to.
#[derive(Debug, Clone)]
pub struct Tried {
    /// The trial.
    pub trial: Trial,
    /// What it came to.
    pub came: Came,
}

/// What a trial came to.
#[derive(Debug, Clone)]
pub enum Came {
    /// A verdict.
    Verdict(Box<GradingReport>),
    /// Its grading failed, for a reason that has a name.
    Failed {
        /// Name of the failure kind.
        kind: String,
        /// What happened.
        message: String,
    },
    /// The dataset has no patch to try.
    NoPatch,
    /// Nothing yet.
    NotRun,
}

/// All trials of an instance.
pub(super) fn of(
    run: &RunDirectory,
    ledger: &Ledger,
    trials: &Trials,
    id: &InstanceId,
) -> Result<Vec<Tried>, Error> {
    // Patches are written down before the first is graded, so an instance that has some has all that there are.
    let written = trials
        .all()
        .any(|(number, _)| counting(ledger, id, number).is_some());
    trials
        .all()
        .map(|(number, trial)| {
            let came = match counting(ledger, id, number) {
                Some((attempt, record)) => came(run, id, number, attempt, record)?,
                None if written => Came::NoPatch,
                None => Came::NotRun,
            };
            Ok(Tried { trial, came })
        })
        .collect()
}

fn counting<'l>(ledger: &'l Ledger, id: &InstanceId, number: u32) -> Option<(u32, &'l Attempt)> {
    let (attempt, record, _) = ledger.sample(id, number).and_then(Sample::counting)?;
    Some((attempt, record))
}

fn came(
    run: &RunDirectory,
    id: &InstanceId,
    sample: u32,
    attempt: u32,
    record: &Attempt,
) -> Result<Came, Error> {
    let mut newest = record.gradings.iter().rev();
    let finished = newest.find(|(_, grading)| matches!(grading, Grading::Finished { .. }));
    if let Some((grading, _)) = finished {
        let key = schema::AttemptKey {
            instance_id: id.clone(),
            sample,
            attempt,
        };
        let path = run.attempt(&key).grading(*grading).join("verdict.json");
        let text = fs::read(&path).at("read", &path)?;
        let report = serde_json::from_slice(&text).map_err(|error| Error::Format {
            path,
            message: error.to_string(),
        })?;
        return Ok(Came::Verdict(Box::new(report)));
    }
    Ok(match record.grading_failure() {
        Some((kind, message)) => Came::Failed {
            kind: kind.to_owned(),
            message: message.to_owned(),
        },
        None => Came::NotRun,
    })
}
