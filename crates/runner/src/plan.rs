//! What is to be done: instances × samples − what is done.

mod gradings;
mod reason;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use schema::{AttemptKey, InstanceId};

pub use gradings::{GradeJob, GradeSelection, gradable, gradings, next_grading};
pub use reason::Reason;

use crate::error::Error;
use crate::settings::RetrySelector;
use crate::store::ledger::{Attempt, Ledger, Sample, settles};

/// A selected row, as far as planning looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRow {
    /// Its instance.
    pub id: InstanceId,
    /// Hexadecimal SHA-256 of the row.
    pub sha256: String,
}

/// One attempt to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Which.
    pub key: AttemptKey,
    /// Index of its row.
    pub row: usize,
    /// Hexadecimal SHA-256 of the row.
    pub row_sha256: String,
    /// Why.
    pub reason: Reason,
    /// The attempt that never ended, whose record `--resume=replay` goes through.
    pub unfinished: Option<u32>,
    /// Whether an earlier attempt settled the instance, so that only one that settles it too takes its place.
    pub settled: bool,
    /// How often it is tried.
    pub tries: Tries,
}

/// How often a job is tried by one runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tries {
    /// Tries that count, this one included.
    pub own: u32,
    /// Tries before it that an outage of the engine ended.
    pub outages: u32,
}

impl Default for Tries {
    fn default() -> Self {
        Self { own: 1, outages: 0 }
    }
}

impl Tries {
    /// After one that failed by itself.
    #[must_use]
    pub fn after_own(self) -> Self {
        Self {
            own: self.own + 1,
            ..self
        }
    }

    /// After one that an outage ended.
    #[must_use]
    pub fn after_outage(self) -> Self {
        Self {
            outages: self.outages + 1,
            ..self
        }
    }
}

/// What a runner is to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Attempts, in dataset order, the samples of an instance side by side so that they share a prepared repository.
    pub jobs: Vec<Job>,
    /// Patches that nobody graded yet.
    pub gradings: Vec<GradeJob>,
    /// Samples that are done.
    pub done: usize,
}

impl Plan {
    /// Planned attempts by reason.
    pub fn reasons(&self) -> BTreeMap<Reason, usize> {
        let mut counts = BTreeMap::new();
        for job in &self.jobs {
            *counts.entry(job.reason).or_default() += 1;
        }
        counts
    }
}

/// What is asked of a plan.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// Selected rows.
    pub rows: &'a [PlanRow],
    /// Samples of each.
    pub samples: u32,
    /// Finished samples that get a new attempt.
    pub retry: &'a [RetrySelector],
    /// Whether patches without a verdict are to be graded.
    pub grade: bool,
}

/// Plans the attempts that `request` still needs after `ledger`.
///
/// # Errors
/// When a row changed since its instance was first started, or a selector names an instance that is not selected.
pub fn plan(ledger: &Ledger, request: &Request<'_>) -> Result<Plan, Error> {
    check_rows(ledger, request.rows)?;
    check_selectors(request)?;
    let mut plan = Plan::default();
    let empty = Sample::default();
    for (row, entry) in request.rows.iter().enumerate() {
        for sample in 1..=request.samples.max(1) {
            let attempts = ledger.sample(&entry.id, sample).unwrap_or(&empty);
            let key = |attempt| AttemptKey {
                instance_id: entry.id.clone(),
                sample,
                attempt,
            };
            match reason::reason(&entry.id, attempts, request.retry) {
                Some(reason) => plan.jobs.push(Job {
                    key: key(attempts.next_attempt()),
                    row,
                    row_sha256: entry.sha256.clone(),
                    reason,
                    unfinished: unfinished(attempts),
                    settled: settled(attempts),
                    tries: Tries::default(),
                }),
                None => plan.done += 1,
            }
            if request.grade
                && let Some((attempt, grading)) = gradings::ungraded(attempts)
            {
                plan.gradings.push(GradeJob {
                    key: key(attempt),
                    row,
                    grading,
                    tries: Tries::default(),
                });
            }
        }
    }
    Ok(plan)
}

fn check_rows(ledger: &Ledger, rows: &[PlanRow]) -> Result<(), Error> {
    let hashes: BTreeMap<&InstanceId, &str> = rows
        .iter()
        .map(|row| (&row.id, row.sha256.as_str()))
        .collect();
    for (id, _, sample) in ledger.samples() {
        let changed = |attempt: &Attempt| {
            hashes
                .get(id)
                .is_some_and(|hash| !attempt.row_sha256.is_empty() && attempt.row_sha256 != *hash)
        };
        if sample.attempts.values().any(changed) {
            return Err(Error::RowChanged {
                instance: id.to_string(),
            });
        }
    }
    Ok(())
}

fn check_selectors(request: &Request<'_>) -> Result<(), Error> {
    let ids: BTreeSet<&str> = request.rows.iter().map(|row| row.id.as_str()).collect();
    for selector in request.retry {
        if let RetrySelector::Instance(id) = selector
            && !ids.contains(id.as_str())
        {
            return Err(Error::Settings {
                message: format!("--retry names `{id}`, which is not among the selected instances"),
                hint: Some(
                    "--retry takes infra, failed, empty, stopped[:REASON], unresolved, cancelled or an instance id"
                        .to_owned(),
                ),
                source: None,
            });
        }
    }
    Ok(())
}

fn settled(sample: &Sample) -> bool {
    sample
        .counting()
        .is_some_and(|(_, _, end)| settles(&end.outcome))
}

/// The newest attempt, when it never ended.
fn unfinished(sample: &Sample) -> Option<u32> {
    let (number, attempt) = sample.attempts.iter().next_back()?;
    attempt.end.is_none().then_some(*number)
}
