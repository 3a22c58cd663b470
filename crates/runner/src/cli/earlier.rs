//! `--where-status STATUS[,STATUS]@RUN`: what became of instances in an earlier run.

use std::collections::BTreeSet;
use std::path::Path;

use dataset::select::Earlier;
use schema::Outcome;
use serde_json::Value;

use super::error::Error;
use crate::store::ledger::{Ledger, Sample};
use crate::store::{RunDirectory, journal};

/// What can have become of an instance.
#[derive(Debug, Clone, PartialEq)]
enum Status {
    Resolved,
    Unresolved,
    Ungraded,
    Completed,
    Stopped(Option<schema::StopReason>),
    Failed,
    Infra,
    Empty,
    Cancelled,
    Unfinished,
    Missing,
}

/// The names, for advice.
const KNOWN: &str = "resolved, unresolved, ungraded, completed, stopped[:REASON], failed, infra, empty, cancelled, unfinished, missing";

impl Status {
    fn parse(name: &str) -> Option<Self> {
        if let Some(reason) = name.strip_prefix("stopped:") {
            let reason = serde_json::from_value(Value::from(reason)).ok()?;
            return Some(Self::Stopped(Some(reason)));
        }
        Some(match name {
            "resolved" => Self::Resolved,
            "unresolved" => Self::Unresolved,
            "ungraded" => Self::Ungraded,
            "completed" => Self::Completed,
            "stopped" => Self::Stopped(None),
            "failed" => Self::Failed,
            "infra" => Self::Infra,
            "empty" => Self::Empty,
            "cancelled" => Self::Cancelled,
            "unfinished" => Self::Unfinished,
            "missing" => Self::Missing,
            _ => return None,
        })
    }

    /// Whether it holds for what counts of a sample.
    fn holds(&self, sample: &Sample) -> bool {
        let Some((_, attempt, end)) = sample.counting() else {
            return *self == Self::Unfinished;
        };
        let grade = attempt.grade();
        match (self, &end.outcome) {
            (Self::Resolved, _) => grade.is_some_and(|grade| grade.resolved),
            (Self::Unresolved, _) => grade.is_some_and(|grade| !grade.resolved),
            (Self::Ungraded, _) => grade.is_none(),
            (Self::Infra, Outcome::Failed { reason, .. }) => reason.handling().infrastructure,
            (Self::Stopped(Some(wanted)), Outcome::Stopped { reason }) => wanted == reason,
            (Self::Completed, Outcome::Completed)
            | (Self::Stopped(None), Outcome::Stopped { .. })
            | (Self::Failed, Outcome::Failed { .. })
            | (Self::Cancelled, Outcome::Cancelled) => true,
            (Self::Empty, Outcome::Completed | Outcome::Stopped { .. }) => end.patch.bytes == 0,
            (
                Self::Completed
                | Self::Stopped(_)
                | Self::Failed
                | Self::Infra
                | Self::Empty
                | Self::Cancelled
                | Self::Unfinished
                | Self::Missing,
                _,
            ) => false,
        }
    }
}

/// Reads `STATUS[,STATUS]@RUN` and looks the instances up in the run's journals; with several samples, one that fits is enough.
pub(super) fn look_up(text: &str) -> Result<Earlier, Error> {
    let Some((names, run)) = text.split_once('@').filter(|(_, run)| !run.is_empty()) else {
        return Err(Error::usage(
            format!("--where-status {text:?} names no run"),
            "it is STATUS[,STATUS]@RUN, such as unresolved@runs/lite",
        ));
    };
    let statuses = names
        .split(',')
        .map(|name| {
            Status::parse(name.trim()).ok_or_else(|| {
                let problem = format!("--where-status: {name:?} is no status");
                Error::usage(problem, format!("there are {KNOWN}"))
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let run = RunDirectory::new(Path::new(run));
    if run.read_run_file()?.is_none() {
        return Err(crate::error::Error::NoRun(run.root().to_owned()).into());
    }
    let journal = journal::read(&run)?;
    let ledger = Ledger::fold(journal.lines.iter().map(|line| &line.event));
    let (mut ids, mut known) = (BTreeSet::new(), BTreeSet::new());
    for (id, _, sample) in ledger.samples() {
        known.insert(id.to_string());
        if statuses.iter().any(|status| status.holds(sample)) {
            ids.insert(id.to_string());
        }
    }
    let missing = statuses.contains(&Status::Missing);
    Ok(Earlier {
        asked: text.to_owned(),
        ids,
        others_but: missing.then_some(known),
    })
}
