//! What the journals say, by instance, sample and attempt: folding them is the only way to know a run's state.

use std::collections::BTreeMap;

use schema::journal::{GradeSummary, PatchSummary, Seconds};
use schema::{AttemptKey, FailureKind, InstanceId, Outcome, RunEvent, Usage};

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    /// Its outcome.
    pub outcome: Outcome,
    /// Model replies received.
    pub steps: u32,
    /// Tokens and cost.
    pub usage: Usage,
    /// Where the time went.
    pub seconds: Seconds,
    /// What it left.
    pub patch: PatchSummary,
}

/// What is known of one grading.
#[derive(Debug, Clone, PartialEq)]
pub enum Grading {
    /// It began.
    Started,
    /// It ended with a verdict.
    Finished {
        /// The verdict.
        grade: GradeSummary,
        /// Seconds it took.
        seconds: f64,
    },
    /// It could not be done.
    Failed {
        /// Name of the failure kind.
        kind: String,
        /// What happened.
        message: String,
    },
}

/// What is known of one attempt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attempt {
    /// SHA-256 of the row it solves.
    pub row_sha256: String,
    /// Backend that runs its sandbox, empty before the sandbox stands.
    pub backend: String,
    /// How it ended; `None` while it runs, and when its runner died.
    pub end: Option<End>,
    /// Its gradings by number.
    pub gradings: BTreeMap<u32, Grading>,
}

impl Attempt {
    /// The newest finished grading.
    pub fn grade(&self) -> Option<&GradeSummary> {
        self.gradings
            .values()
            .rev()
            .find_map(|grading| match grading {
                Grading::Finished { grade, .. } => Some(grade),
                Grading::Started | Grading::Failed { .. } => None,
            })
    }

    /// Kind and message of its newest grading that came to an end, when that could not be done.
    pub fn grading_failure(&self) -> Option<(&str, &str)> {
        let mut newest = self.gradings.values().rev();
        // One that only began died with its runner, and takes nothing back.
        match newest.find(|grading| **grading != Grading::Started)? {
            Grading::Failed { kind, message } => Some((kind, message)),
            Grading::Started | Grading::Finished { .. } => None,
        }
    }

    /// The newest grading, finished or not.
    pub fn last_grading(&self) -> Option<(u32, &Grading)> {
        self.gradings
            .iter()
            .next_back()
            .map(|(number, grading)| (*number, grading))
    }
}

/// The attempts of one sample of an instance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// By number.
    pub attempts: BTreeMap<u32, Attempt>,
}

impl Sample {
    /// The attempt that counts: the newest that the agent itself ended, else the newest that ended.
    pub fn counting(&self) -> Option<(u32, &Attempt, &End)> {
        let ended = || {
            self.attempts.iter().rev().filter_map(|(number, attempt)| {
                attempt.end.as_ref().map(|end| (*number, attempt, end))
            })
        };
        ended()
            .find(|(_, _, end)| settles(&end.outcome))
            .or_else(|| ended().next())
    }

    /// The number for a new attempt.
    pub fn next_attempt(&self) -> u32 {
        self.attempts
            .keys()
            .next_back()
            .map_or(1, |number| number + 1)
    }
}

/// Whether an attempt with this outcome settles its instance: the agent, or the model's refusal, had the last word.
pub fn settles(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Completed | Outcome::Stopped { .. } => true,
        Outcome::Failed { reason, .. } => reason.handling().counted,
        Outcome::Cancelled => false,
    }
}

/// Whether an outcome is a failure of the infrastructure.
pub fn infrastructure(outcome: &Outcome) -> Option<FailureKind> {
    match outcome {
        Outcome::Failed { reason, .. } => {
            Some(*reason).filter(|kind| kind.handling().infrastructure)
        }
        Outcome::Completed | Outcome::Stopped { .. } | Outcome::Cancelled => None,
    }
}

/// The state of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    samples: BTreeMap<(InstanceId, u32), Sample>,
}

impl Ledger {
    /// The state after `events`.
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a RunEvent>) -> Self {
        let mut ledger = Self::default();
        for event in events {
            ledger.apply(event);
        }
        ledger
    }

    /// Takes one event in. Events of different attempts may come in any order.
    pub fn apply(&mut self, event: &RunEvent) {
        match event {
            RunEvent::AttemptStarted { key, row_sha256 } => {
                self.attempt(key).row_sha256.clone_from(row_sha256);
            }
            RunEvent::SandboxReady { key, backend, .. } => {
                self.attempt(key).backend.clone_from(backend);
            }
            RunEvent::AttemptFinished {
                key,
                outcome,
                steps,
                usage,
                seconds,
                patch,
                network: _,
            } => {
                self.attempt(key).end = Some(End {
                    outcome: outcome.clone(),
                    steps: *steps,
                    usage: *usage,
                    seconds: *seconds,
                    patch: patch.clone(),
                });
            }
            RunEvent::GradeStarted { key, grading } => {
                self.attempt(key)
                    .gradings
                    .entry(*grading)
                    .or_insert(Grading::Started);
            }
            RunEvent::GradeFinished {
                key,
                grading,
                grade,
                seconds,
            } => {
                let finished = Grading::Finished {
                    grade: grade.clone(),
                    seconds: *seconds,
                };
                self.attempt(key).gradings.insert(*grading, finished);
            }
            RunEvent::GradeFailed {
                key,
                grading,
                kind,
                message,
            } => {
                let failed = Grading::Failed {
                    kind: kind.clone(),
                    message: message.clone(),
                };
                self.attempt(key).gradings.insert(*grading, failed);
            }
            RunEvent::RunStarted { .. }
            | RunEvent::RetryPlanned { .. }
            | RunEvent::SandboxKept { .. }
            | RunEvent::ImageRemoved { .. }
            | RunEvent::Aborted { .. }
            | RunEvent::Warning { .. }
            | RunEvent::Interrupted { .. }
            | RunEvent::RunFinished { .. } => {}
        }
    }

    /// All samples that any attempt was made for, by instance and sample.
    pub fn samples(&self) -> impl Iterator<Item = (&InstanceId, u32, &Sample)> {
        self.samples
            .iter()
            .map(|((id, sample), attempts)| (id, *sample, attempts))
    }

    /// One sample.
    pub fn sample(&self, id: &InstanceId, sample: u32) -> Option<&Sample> {
        self.samples.get(&(id.clone(), sample))
    }

    /// Tokens and cost over all attempts.
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        let ends = self
            .samples
            .values()
            .flat_map(|sample| sample.attempts.values())
            .filter_map(|attempt| attempt.end.as_ref());
        for end in ends.filter(|end| end.usage != Usage::default()) {
            sum.add(&end.usage);
        }
        sum
    }

    fn attempt(&mut self, key: &AttemptKey) -> &mut Attempt {
        self.samples
            .entry((key.instance_id.clone(), key.sample))
            .or_default()
            .attempts
            .entry(key.attempt)
            .or_default()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use schema::StopReason;
    use schema::grading::Profile;

    use super::*;

    pub(crate) fn key(id: &str, attempt: u32) -> AttemptKey {
        AttemptKey {
            instance_id: InstanceId::new(id),
            sample: 1,
            attempt,
        }
    }

    pub(crate) fn started(key: AttemptKey) -> RunEvent {
        RunEvent::AttemptStarted {
            key,
            row_sha256: "r".into(),
        }
    }

    pub(crate) fn finished(key: AttemptKey, outcome: Outcome) -> RunEvent {
        RunEvent::AttemptFinished {
            key,
            outcome,
            steps: 3,
            usage: Usage::default(),
            seconds: Seconds::default(),
            patch: PatchSummary::default(),
            network: None,
        }
    }

    fn failed(reason: FailureKind) -> Outcome {
        Outcome::Failed {
            reason,
            message: String::new(),
        }
    }

    #[test]
    fn the_newest_attempt_that_the_agent_ended_counts() {
        let stopped = Outcome::Stopped {
            reason: StopReason::Stuck,
        };
        let ledger = Ledger::fold(&[
            started(key("a", 1)),
            finished(key("a", 1), failed(FailureKind::EnvironmentLost)),
            started(key("a", 2)),
            finished(key("a", 2), stopped.clone()),
            started(key("a", 3)),
            finished(key("a", 3), failed(FailureKind::EnvironmentLost)),
            started(key("a", 4)),
        ]);
        let sample = ledger.sample(&InstanceId::new("a"), 1).unwrap();
        let (number, _, end) = sample.counting().unwrap();
        assert_eq!((number, &end.outcome), (2, &stopped));
        assert_eq!(sample.next_attempt(), 5);
    }

    #[test]
    fn without_one_the_newest_end_counts() {
        let ledger = Ledger::fold(&[
            finished(key("a", 1), failed(FailureKind::EnvironmentLost)),
            finished(key("a", 2), Outcome::Cancelled),
            started(key("a", 3)),
        ]);
        let sample = ledger.sample(&InstanceId::new("a"), 1).unwrap();
        assert_eq!(sample.counting().unwrap().0, 2);
    }

    #[test]
    fn the_newest_finished_grading_counts() {
        let grade = |resolved| GradeSummary {
            resolved,
            official_resolved: resolved,
            tamper_reason: None,
            profile: Profile::Sealed,
            note: None,
            ..GradeSummary::default()
        };
        let finished_grading = |grading, resolved| RunEvent::GradeFinished {
            key: key("a", 1),
            grading,
            grade: grade(resolved),
            seconds: 1.0,
        };
        let mut ledger = Ledger::fold(&[finished_grading(2, true), finished_grading(1, false)]);
        ledger.apply(&RunEvent::GradeFailed {
            key: key("a", 1),
            grading: 3,
            kind: "environment:start".into(),
            message: String::new(),
        });
        let sample = ledger.sample(&InstanceId::new("a"), 1).unwrap();
        assert_eq!(sample.attempts[&1].grade(), Some(&grade(true)));
    }
}
