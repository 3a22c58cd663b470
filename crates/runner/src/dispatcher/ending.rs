//! The exit code of a run, from what happened in it.

use schema::{FailureKind, Outcome};

use super::{Policy, Selected};
use crate::signals::Signal;
use crate::store::ledger::{Ledger, infrastructure};

/// What the exit code depends on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// The first signal.
    pub signal: Option<Signal>,
    /// Whether a bug in Patchmill showed.
    pub bug: bool,
    /// Whether the run was aborted.
    pub aborted: bool,
    /// Failures of the infrastructure among the attempts that count, and gradings that could not be done.
    pub infra_failures: usize,
    /// How many of them are borne.
    pub max_infra_failures: usize,
    /// Whether every gate asked for is met.
    pub gates_met: bool,
}

/// The code; when several apply, 130/143, then 70, 4, 3, 1, 0.
pub fn exit_code(facts: &Facts) -> u8 {
    match facts.signal {
        Some(Signal::Interrupt) => 130,
        Some(Signal::Terminate) => 143,
        None if facts.bug => 70,
        None if facts.aborted => 4,
        None if facts.infra_failures > facts.max_infra_failures => 3,
        None if !facts.gates_met => 1,
        None => 0,
    }
}

/// The code of work on a run that nothing put an end to.
pub fn end_code(policy: &Policy, ledger: &Ledger, selected: &Selected) -> u8 {
    let tally = Tally::of(ledger, |id, sample| {
        selected.contains(&(id.clone(), sample))
    });
    exit_code(&Facts {
        signal: None,
        bug: tally.bugs > 0,
        aborted: false,
        infra_failures: tally.infra_failures,
        max_infra_failures: policy.max_infra_failures,
        gates_met: gates_met(policy, &tally, selected.len()),
    })
}

/// Whether enough of the `selected` samples are resolved, and few enough empty.
pub(super) fn gates_met(policy: &Policy, tally: &Tally, selected: usize) -> bool {
    let resolved_enough = policy.fail_under.is_none_or(|least| {
        #[expect(clippy::cast_precision_loss, reason = "counts of instances are small")]
        let share = tally.resolved as f64 / selected.max(1) as f64;
        share >= least
    });
    let few_empty = policy
        .max_empty_patches
        .is_none_or(|most| tally.empty <= most);
    resolved_enough && few_empty
}

/// Counts over the attempts that count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Samples with an attempt that counts.
    pub ended: usize,
    /// Failures of the infrastructure.
    pub infra_failures: usize,
    /// Bugs of ours.
    pub bugs: usize,
    /// The agent's own ends with an empty patch.
    pub empty: usize,
    /// Resolved.
    pub resolved: usize,
}

impl Tally {
    /// Counts the samples that `selected` accepts. A patch whose grading failed counts as a failure until it has a verdict, whoever graded it.
    pub fn of(ledger: &Ledger, selected: impl Fn(&schema::InstanceId, u32) -> bool) -> Self {
        let mut tally = Self::default();
        for (id, number, sample) in ledger.samples() {
            let Some((_, attempt, end)) = sample.counting().filter(|_| selected(id, number)) else {
                continue;
            };
            tally.ended += 1;
            tally.bugs += usize::from(is_bug(&end.outcome));
            tally.empty += usize::from(end.outcome.is_final() && end.patch.bytes == 0);
            let grade = attempt.grade();
            tally.resolved += usize::from(grade.is_some_and(|grade| grade.resolved));
            let failure = attempt.grading_failure().filter(|_| grade.is_none());
            tally.bugs +=
                usize::from(failure.is_some_and(|(kind, _)| kind == FailureKind::Internal.name()));
            let infra = infrastructure(&end.outcome).is_some();
            tally.infra_failures += usize::from(infra || failure.is_some());
        }
        tally
    }
}

/// Whether an outcome is a bug of ours.
pub(super) fn is_bug(outcome: &Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Failed {
            reason: FailureKind::Internal,
            ..
        }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graver_code_wins() {
        let mut facts = Facts {
            gates_met: true,
            ..Facts::default()
        };
        assert_eq!(exit_code(&facts), 0);
        facts.gates_met = false;
        assert_eq!(exit_code(&facts), 1);
        facts.infra_failures = 1;
        assert_eq!(exit_code(&facts), 3);
        facts.max_infra_failures = 1;
        assert_eq!(exit_code(&facts), 1);
        facts.aborted = true;
        assert_eq!(exit_code(&facts), 4);
        facts.bug = true;
        assert_eq!(exit_code(&facts), 70);
        facts.signal = Some(Signal::Terminate);
        assert_eq!(exit_code(&facts), 143);
        facts.signal = Some(Signal::Interrupt);
        assert_eq!(exit_code(&facts), 130);
    }
}
