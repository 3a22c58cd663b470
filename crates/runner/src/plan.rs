//! What is to be done: instances × samples − what is done.

use std::collections::{BTreeMap, BTreeSet};

use schema::{AttemptKey, FailureKind, InstanceId, Outcome};

use crate::error::Error;
use crate::settings::RetrySelector;
use crate::store::ledger::{Attempt, End, Grading, Ledger, Sample, settles};

/// A selected row, as far as planning looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRow {
    /// Its instance.
    pub id: InstanceId,
    /// Hexadecimal SHA-256 of the row.
    pub sha256: String,
}

/// Why an attempt is planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The sample has no attempt.
    New,
    /// Its last attempt never ended: its runner died.
    Unfinished,
    /// Its last attempt was cancelled.
    Cancelled,
    /// Its last attempt failed in a way that may not happen again.
    Failed,
    /// A retry selector names it.
    Selected,
}

impl Reason {
    /// One word for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Unfinished => "unfinished",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Selected => "retry",
        }
    }
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
    /// Attempts made of this job, this one included.
    pub tries: u32,
}

/// A patch that is to be graded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GradeJob {
    /// The attempt whose patch it is.
    pub key: AttemptKey,
    /// Index of its row.
    pub row: usize,
    /// Number of the grading.
    pub grading: u32,
    /// Gradings made of this job, this one included.
    pub tries: u32,
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
            match reason(&entry.id, attempts, request.retry) {
                Some(reason) => plan.jobs.push(Job {
                    key: key(attempts.next_attempt()),
                    row,
                    row_sha256: entry.sha256.clone(),
                    reason,
                    unfinished: unfinished(attempts),
                    settled: settled(attempts),
                    tries: 1,
                }),
                None => plan.done += 1,
            }
            if request.grade
                && let Some((attempt, grading)) = ungraded(attempts)
            {
                plan.gradings.push(GradeJob {
                    key: key(attempt),
                    row,
                    grading,
                    tries: 1,
                });
            }
        }
    }
    Ok(plan)
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
                tries: 1,
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
    let last_failed = matches!(attempt.last_grading(), Some((_, Grading::Failed { .. })));
    match only {
        GradeSelection::Ungraded => attempt.grade().is_none() && !failed,
        GradeSelection::Unscored => attempt.grade().is_none(),
        GradeSelection::Infra => last_failed,
        GradeSelection::All => true,
    }
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

/// Why the sample needs an attempt, `None` when it is done.
fn reason(id: &InstanceId, sample: &Sample, retry: &[RetrySelector]) -> Option<Reason> {
    let Some((number, attempt, end)) = sample.counting() else {
        return Some(if sample.attempts.is_empty() {
            Reason::New
        } else {
            Reason::Unfinished
        });
    };
    if retry
        .iter()
        .any(|selector| selects(selector, id, attempt, end))
    {
        return Some(Reason::Selected);
    }
    if settles(&end.outcome) {
        return None;
    }
    if sample.next_attempt() > number + 1 {
        return Some(Reason::Unfinished);
    }
    match &end.outcome {
        Outcome::Cancelled => Some(Reason::Cancelled),
        Outcome::Failed { reason, .. } => may_pass(*reason).then_some(Reason::Failed),
        Outcome::Completed | Outcome::Stopped { .. } => None,
    }
}

/// Whether a later runner may have more luck: the kind is retried by itself, or whoever started the runner could mend it (a key, an account).
fn may_pass(kind: FailureKind) -> bool {
    let handling = kind.handling();
    handling.stops_run || handling.retry != schema::failure::Retry::Never
}

fn selects(selector: &RetrySelector, id: &InstanceId, attempt: &Attempt, end: &End) -> bool {
    match (selector, &end.outcome) {
        (RetrySelector::Instance(wanted), _) => wanted == id.as_str(),
        (RetrySelector::Infra, Outcome::Failed { reason, .. }) => reason.handling().infrastructure,
        (RetrySelector::Failed, Outcome::Failed { .. })
        | (RetrySelector::Stopped(None), Outcome::Stopped { .. })
        | (RetrySelector::Cancelled, Outcome::Cancelled) => true,
        (RetrySelector::Stopped(Some(wanted)), Outcome::Stopped { reason }) => wanted == reason,
        (RetrySelector::Empty, Outcome::Completed | Outcome::Stopped { .. }) => {
            end.patch.bytes == 0
        }
        (RetrySelector::Unresolved, _) => attempt.grade().is_some_and(|grade| !grade.resolved),
        (
            RetrySelector::Infra
            | RetrySelector::Failed
            | RetrySelector::Empty
            | RetrySelector::Stopped(_)
            | RetrySelector::Cancelled,
            _,
        ) => false,
    }
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

/// The attempt that counts and the number for its grading, when its patch may be graded and has no verdict.
fn ungraded(sample: &Sample) -> Option<(u32, u32)> {
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

#[cfg(test)]
mod tests {
    use schema::journal::GradeSummary;
    use schema::{ModelFailureKind, RunEvent, StopReason};

    use super::*;
    use crate::store::ledger::tests::{finished, key, started};

    fn rows(ids: &[&str]) -> Vec<PlanRow> {
        ids.iter()
            .map(|id| PlanRow {
                id: InstanceId::new(*id),
                sha256: "r".into(),
            })
            .collect()
    }

    fn failed(reason: FailureKind) -> Outcome {
        Outcome::Failed {
            reason,
            message: String::new(),
        }
    }

    fn stopped(reason: StopReason) -> Outcome {
        Outcome::Stopped { reason }
    }

    fn planned(events: &[RunEvent], ids: &[&str], retry: &[&str]) -> Plan {
        let retry: Vec<_> = retry
            .iter()
            .map(|text| RetrySelector::parse(text).unwrap())
            .collect();
        plan(
            &Ledger::fold(events),
            &Request {
                rows: &rows(ids),
                samples: 1,
                retry: &retry,
                grade: true,
            },
        )
        .unwrap()
    }

    fn short(plan: &Plan) -> Vec<(String, u32, Reason)> {
        plan.jobs
            .iter()
            .map(|job| (job.key.instance_id.to_string(), job.key.attempt, job.reason))
            .collect()
    }

    #[test]
    fn a_new_run_plans_every_sample_of_every_instance() {
        let plan = plan(
            &Ledger::default(),
            &Request {
                rows: &rows(&["b", "a"]),
                samples: 2,
                retry: &[],
                grade: true,
            },
        )
        .unwrap();
        let keys: Vec<_> = plan.jobs.iter().map(|job| job.key.to_string()).collect();
        assert_eq!(keys, ["b s1-a1", "b s2-a1", "a s1-a1", "a s2-a1"]);
        assert_eq!(plan.done, 0);
        assert!(plan.gradings.is_empty());
    }

    #[test]
    fn what_is_settled_is_done_and_the_rest_goes_on() {
        let events = [
            started(key("done", 1)),
            finished(key("done", 1), Outcome::Completed),
            started(key("stopped", 1)),
            finished(key("stopped", 1), stopped(StopReason::Stuck)),
            started(key("refused", 1)),
            finished(
                key("refused", 1),
                failed(FailureKind::Model(ModelFailureKind::Refused)),
            ),
            started(key("dead", 1)),
            started(key("cancelled", 1)),
            finished(key("cancelled", 1), Outcome::Cancelled),
            started(key("lost", 1)),
            finished(key("lost", 1), failed(FailureKind::EnvironmentLost)),
            started(key("auth", 1)),
            finished(
                key("auth", 1),
                failed(FailureKind::Model(ModelFailureKind::Auth)),
            ),
            started(key("bad", 1)),
            finished(
                key("bad", 1),
                failed(FailureKind::Model(ModelFailureKind::BadRequest)),
            ),
            started(key("again", 1)),
            finished(key("again", 1), Outcome::Cancelled),
            started(key("again", 2)),
        ];
        let ids = [
            "done",
            "stopped",
            "refused",
            "dead",
            "cancelled",
            "lost",
            "auth",
            "bad",
            "again",
            "fresh",
        ];
        let plan = planned(&events, &ids, &[]);
        assert_eq!(
            short(&plan),
            [
                ("dead".into(), 2, Reason::Unfinished),
                ("cancelled".into(), 2, Reason::Cancelled),
                ("lost".into(), 2, Reason::Failed),
                ("auth".into(), 2, Reason::Failed),
                ("again".into(), 3, Reason::Unfinished),
                ("fresh".into(), 1, Reason::New),
            ]
        );
        assert_eq!(plan.done, 4);
        assert_eq!(plan.jobs[0].unfinished, Some(1));
        assert_eq!(plan.jobs[1].unfinished, None);
        let graded: Vec<_> = plan
            .gradings
            .iter()
            .map(|job| job.key.instance_id.as_str())
            .collect();
        assert_eq!(graded, ["done", "stopped", "refused"]);
    }

    #[test]
    fn selectors_pick_finished_samples() {
        let mut events = vec![
            finished(key("done", 1), Outcome::Completed),
            finished(key("stuck", 1), stopped(StopReason::Stuck)),
            finished(key("steps", 1), stopped(StopReason::MaxSteps)),
            finished(
                key("bad", 1),
                failed(FailureKind::Model(ModelFailureKind::BadRequest)),
            ),
        ];
        let ids = ["done", "stuck", "steps", "bad"];
        let picked = |events: &[RunEvent], retry: &[&str]| -> Vec<String> {
            planned(events, &ids, retry)
                .jobs
                .into_iter()
                .map(|job| job.key.instance_id.to_string())
                .collect()
        };
        assert!(picked(&events, &[]).is_empty());
        assert_eq!(picked(&events, &["stopped"]), ["stuck", "steps"]);
        assert_eq!(picked(&events, &["stopped:max_steps"]), ["steps"]);
        assert_eq!(picked(&events, &["failed"]), ["bad"]);
        assert_eq!(picked(&events, &["infra"]), ["bad"]);
        assert_eq!(picked(&events, &["empty"]), ["done", "stuck", "steps"]);
        assert_eq!(picked(&events, &["done", "stuck"]), ["done", "stuck"]);
        assert!(picked(&events, &["unresolved"]).is_empty());
        events.push(RunEvent::GradeFinished {
            key: key("done", 1),
            grading: 1,
            grade: GradeSummary {
                resolved: false,
                official_resolved: false,
                tamper_reason: None,
                profile: "sealed".into(),
                note: None,
            },
            seconds: 0.0,
        });
        let plan = planned(&events, &ids, &["unresolved"]);
        assert_eq!(short(&plan), [("done".into(), 2, Reason::Selected)]);
        assert!(plan.jobs[0].settled);
    }

    #[test]
    fn a_selector_for_an_unknown_instance_is_refused() {
        let retry = [RetrySelector::parse("infrra").unwrap()];
        let request = Request {
            rows: &rows(&["a"]),
            samples: 1,
            retry: &retry,
            grade: false,
        };
        let error = plan(&Ledger::default(), &request).unwrap_err();
        assert!(error.to_string().contains("infrra"), "{error}");
    }

    #[test]
    fn a_changed_row_is_refused_but_only_when_it_is_selected() {
        let ledger = Ledger::fold(&[started(key("a", 1))]);
        let mut rows = rows(&["a", "b"]);
        rows[0].sha256 = "changed".into();
        let request = |rows| Request {
            rows,
            samples: 1,
            retry: &[],
            grade: false,
        };
        let error = plan(&ledger, &request(&rows)).unwrap_err();
        assert!(matches!(error, Error::RowChanged { instance } if instance == "a"));
        assert_eq!(plan(&ledger, &request(&rows[1..])).unwrap().jobs.len(), 1);
    }
}
