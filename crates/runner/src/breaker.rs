//! Breakers: when failures say that going on is a waste.

use std::collections::{HashMap, HashSet};

use schema::{FailureKind, InstanceId, Outcome};

use crate::dispatcher::Cause;
use crate::store::ledger::infrastructure;

/// Failures of one kind in a row that stop the run.
const IN_A_ROW: usize = 10;

/// Instances before shares are looked at.
const ENOUGH: usize = 20;

/// What tripped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trip {
    /// The run stops.
    Abort(String),
    /// People should know.
    Warn(String),
}

/// Counts ended attempts.
#[derive(Debug, Default)]
pub struct Breaker {
    row: Option<(FailureKind, usize)>,
    last: HashMap<(InstanceId, u32), Last>,
    warned: bool,
    /// Shared causes that were counted.
    causes: HashSet<Cause>,
}

/// The last attempt of a sample.
#[derive(Debug, Clone, Copy)]
struct Last {
    infrastructure: Option<FailureKind>,
    empty: bool,
}

impl Breaker {
    /// Takes in one ended attempt of `sample` of `instance`; `empty` says whether its patch is empty. Of all failures of one shared `cause` the first
    /// alone counts.
    pub fn record(
        &mut self,
        instance: &InstanceId,
        sample: u32,
        outcome: &Outcome,
        empty: bool,
        cause: Option<&Cause>,
    ) -> Option<Trip> {
        if *outcome == Outcome::Cancelled {
            return None;
        }
        if let Some(cause) = cause.filter(|cause| cause.is_shared())
            && !self.causes.insert(cause.clone())
        {
            return None;
        }
        let kind = infrastructure(outcome);
        let last = Last {
            infrastructure: kind,
            empty: empty && outcome.is_final(),
        };
        self.last.insert((instance.clone(), sample), last);
        self.at_once(outcome)
            .or_else(|| self.in_a_row(kind))
            .or_else(|| self.share_of_failures())
            .or_else(|| self.share_of_empty())
    }

    #[expect(clippy::unused_self, reason = "one rule among the others")]
    fn at_once(&self, outcome: &Outcome) -> Option<Trip> {
        match outcome {
            Outcome::Failed { reason, message } if reason.handling().stops_run => {
                Some(Trip::Abort(format!("{reason}: {message}")))
            }
            Outcome::Completed
            | Outcome::Stopped { .. }
            | Outcome::Failed { .. }
            | Outcome::Cancelled => None,
        }
    }

    fn in_a_row(&mut self, kind: Option<FailureKind>) -> Option<Trip> {
        self.row = kind.map(|kind| match self.row {
            Some((before, count)) if before == kind => (kind, count + 1),
            Some(_) | None => (kind, 1),
        });
        match self.row {
            Some((kind, count)) if count >= IN_A_ROW => Some(Trip::Abort(format!(
                "{count} attempts in a row failed by {kind}"
            ))),
            Some(_) | None => None,
        }
    }

    fn share_of_failures(&self) -> Option<Trip> {
        let total = self.last.len();
        let mut kinds: HashMap<FailureKind, usize> = HashMap::new();
        for kind in self.last.values().filter_map(|last| last.infrastructure) {
            *kinds.entry(kind).or_default() += 1;
        }
        let failed: usize = kinds.values().sum();
        if total < ENOUGH || failed * 5 <= total {
            return None;
        }
        let (kind, _) = kinds
            .into_iter()
            .max_by_key(|(kind, count)| (*count, kind.name()))?;
        Some(Trip::Abort(format!(
            "{failed} of {total} instances failed by the infrastructure, most by {kind}"
        )))
    }

    fn share_of_empty(&mut self) -> Option<Trip> {
        let total = self.last.len();
        let empty = self.last.values().filter(|last| last.empty).count();
        if self.warned || total < ENOUGH || empty * 2 <= total {
            return None;
        }
        self.warned = true;
        Some(Trip::Warn(format!(
            "{empty} of {total} instances have an empty patch; look at a trajectory before going on"
        )))
    }
}

#[cfg(test)]
mod tests {
    use schema::ModelFailureKind;

    use super::*;

    fn failed(reason: FailureKind) -> Outcome {
        Outcome::Failed {
            reason,
            message: "why".into(),
        }
    }

    fn feed(breaker: &mut Breaker, from: usize, count: usize, outcome: &Outcome) -> Vec<Trip> {
        (from..from + count)
            .filter_map(|number| {
                breaker.record(
                    &InstanceId::new(number.to_string()),
                    1,
                    outcome,
                    false,
                    None,
                )
            })
            .collect()
    }

    #[test]
    fn credentials_stop_the_run_at_the_first_failure() {
        let outcome = failed(FailureKind::Model(ModelFailureKind::Auth));
        let trips = feed(&mut Breaker::default(), 0, 1, &outcome);
        assert_eq!(trips, [Trip::Abort("model:auth: why".into())]);
    }

    #[test]
    fn ten_of_one_kind_in_a_row_stop_it_and_a_success_between_does_not() {
        let mut breaker = Breaker::default();
        let lost = failed(FailureKind::EnvironmentLost);
        assert!(feed(&mut breaker, 100, 50, &Outcome::Completed).is_empty());
        assert!(feed(&mut breaker, 0, 9, &lost).is_empty());
        assert!(feed(&mut breaker, 100, 1, &Outcome::Completed).is_empty());
        assert!(feed(&mut breaker, 0, 9, &lost).is_empty());
        let trips = feed(&mut breaker, 0, 1, &lost);
        assert!(
            matches!(&trips[..], [Trip::Abort(reason)] if reason.contains("environment:lost")),
            "{trips:?}"
        );
    }

    #[test]
    fn a_fifth_of_failures_is_borne_and_more_is_not() {
        let mut breaker = Breaker::default();
        let lost = failed(FailureKind::EnvironmentLost);
        for start in 0..4 {
            assert!(feed(&mut breaker, start, 1, &lost).is_empty());
        }
        assert!(feed(&mut breaker, 100, 16, &Outcome::Completed).is_empty());
        // The last attempt counts: a failed instance that came through is no failure.
        assert!(feed(&mut breaker, 0, 1, &Outcome::Completed).is_empty());
        assert!(feed(&mut breaker, 200, 1, &lost).is_empty());
        assert!(matches!(
            &feed(&mut breaker, 201, 1, &lost)[..],
            [Trip::Abort(_)]
        ));
    }

    #[test]
    fn cancelled_attempts_say_nothing() {
        let mut breaker = Breaker::default();
        assert!(feed(&mut breaker, 0, 100, &Outcome::Cancelled).is_empty());
    }

    #[test]
    fn failures_of_one_shared_cause_are_one() {
        let mut breaker = Breaker::default();
        let lost = failed(FailureKind::EnvironmentLost);
        let mut record = |number: usize, cause: &Cause| {
            let id = InstanceId::new(number.to_string());
            breaker.record(&id, 1, &lost, false, Some(cause))
        };
        for number in 0..50 {
            assert_eq!(record(number, &Cause::Outage(1)), None);
            assert_eq!(record(number, &Cause::Image("a".into())), None);
        }
        for outage in 2..9 {
            assert_eq!(record(0, &Cause::Outage(outage)), None);
        }
        let tenth = record(0, &Cause::Outage(9));
        assert!(matches!(tenth, Some(Trip::Abort(_))), "{tenth:?}");
        // What is hopeless for reasons of its own counts each time.
        let mut breaker = Breaker::default();
        let trips = (0..10).filter_map(|number| {
            let id = InstanceId::new(number.to_string());
            breaker.record(&id, 1, &lost, false, Some(&Cause::Hopeless))
        });
        assert_eq!(trips.count(), 1);
    }

    #[test]
    fn many_empty_patches_are_a_warning_once() {
        let mut breaker = Breaker::default();
        let trips: Vec<_> = (0..40)
            .filter_map(|number| {
                let id = InstanceId::new(number.to_string());
                breaker.record(&id, 1, &Outcome::Completed, number % 3 != 0, None)
            })
            .collect();
        assert!(matches!(&trips[..], [Trip::Warn(_)]), "{trips:?}");
    }
}
