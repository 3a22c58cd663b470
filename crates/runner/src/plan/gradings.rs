//! Which patches are to be graded.

use std::collections::BTreeMap;

use schema::{AttemptKey, InstanceId, Outcome};

use super::{PlanRow, Tries, check_rows};
use crate::error::Error;
use crate::store::ledger::{Attempt, Grading, Ledger, Sample};

/// A patch that is to be graded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GradeJob {
    /// The attempt whose patch it is.
    pub key: AttemptKey,
    /// Index of its row.
    pub row: usize,
    /// Number of the grading.
    pub grading: u32,
    /// How often it is tried.
    pub tries: Tries,
}

/// Which patches of a run are graded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GradeSelection {
    /// Those that no grading was ever concluded for.
    #[default]
    Ungraded,
    /// Those without a verdict: a grading that failed counts as none.
    Unscored,
    /// Those whose last grading failed.
    Infra,
    /// All, again.
    All,
}

/// Plans gradings of the patches that count, of the rows given.
///
/// # Errors
/// When a row changed since its instance was first started.
pub fn gradings(
    ledger: &Ledger,
    rows: &[PlanRow],
    only: GradeSelection,
) -> Result<Vec<GradeJob>, Error> {
    check_rows(ledger, rows)?;
    let places: BTreeMap<&InstanceId, usize> = rows
        .iter()
        .enumerate()
        .map(|(place, row)| (&row.id, place))
        .collect();
    let mut jobs = Vec::new();
    for (id, sample, attempts) in ledger.samples() {
        let Some((attempt_number, attempt, end)) = attempts.counting() else {
            continue;
        };
        let Some(row) = places.get(id) else {
            continue;
        };
        if gradable(&end.outcome) && wanted(attempt, only) {
            jobs.push(GradeJob {
                key: AttemptKey {
                    instance_id: id.clone(),
                    sample,
                    attempt: attempt_number,
                },
                row: *row,
                grading: next_grading(attempt),
                tries: Tries::default(),
            });
        }
    }
    Ok(jobs)
}

fn wanted(attempt: &Attempt, only: GradeSelection) -> bool {
    let failed = attempt
        .gradings
        .values()
        .any(|grading| matches!(grading, Grading::Failed { .. }));
    match only {
        GradeSelection::Ungraded => attempt.grade().is_none() && !failed,
        GradeSelection::Unscored => attempt.grade().is_none(),
        GradeSelection::Infra => attempt.grading_failure().is_some(),
        GradeSelection::All => true,
    }
}

/// The attempt that counts and the number for its grading, when its patch may be graded and has no verdict.
pub(super) fn ungraded(sample: &Sample) -> Option<(u32, u32)> {
    let (number, attempt, end) = sample.counting()?;
    let graded = attempt.grade().is_some();
    (gradable(&end.outcome) && !graded).then(|| (number, next_grading(attempt)))
}

/// Whether the patch of an attempt with this outcome is graded.
pub fn gradable(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Completed | Outcome::Stopped { .. } => true,
        Outcome::Failed { reason, .. } => reason.handling().graded,
        Outcome::Cancelled => false,
    }
}

/// The number for a new grading of `attempt`.
pub fn next_grading(attempt: &Attempt) -> u32 {
    attempt.last_grading().map_or(1, |(number, _)| number + 1)
}
