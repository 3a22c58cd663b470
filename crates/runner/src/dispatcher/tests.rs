//! The dispatcher against an executor that does as it is told.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schema::grading::Profile;
use schema::journal::{GradeSummary, PatchSummary};
use schema::{FailureKind, InstanceId, ModelFailureKind, Outcome, RunEvent};

use super::*;
use crate::plan::{PlanRow, Request, plan};
use crate::settings::{PartialPatches, PatchKind};
use crate::store::journal;

/// What an attempt of an instance does.
#[derive(Clone)]
enum Act {
    End(Outcome),
    Caused(Outcome, Cause),
    Panic,
    UntilCancelled,
    Deaf,
}

struct Fake {
    acts: HashMap<(String, u32), Act>,
    stop: Stop,
    running: AtomicUsize,
    most: AtomicUsize,
    started: Mutex<Vec<String>>,
}

impl Executor for Fake {
    fn attempt(
        self: Arc<Self>,
        job: Job,
        _status: Arc<AttemptStatus>,
        reports: Reports,
    ) -> BoxFuture<'static, AttemptEnd> {
        async move {
            let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(running, Ordering::SeqCst);
            self.started.lock().unwrap().push(job.key.to_string());
            reports.ready(&job.key, "local", "place", "commit").await;
            tokio::task::yield_now().await;
            let name = (job.key.instance_id.to_string(), job.key.attempt);
            let act = self.acts.get(&name).cloned();
            let mut cause = None;
            let outcome = match act.unwrap_or(Act::End(Outcome::Completed)) {
                Act::End(outcome) => outcome,
                Act::Caused(outcome, from) => {
                    cause = Some(from);
                    outcome
                }
                Act::Panic => panic!("boom"),
                Act::UntilCancelled => {
                    self.stop.cancel.cancelled().await;
                    Outcome::Cancelled
                }
                Act::Deaf => {
                    self.stop.now.cancelled().await;
                    Outcome::Cancelled
                }
            };
            self.running.fetch_sub(1, Ordering::SeqCst);
            AttemptEnd {
                patch: PatchSummary {
                    bytes: 1,
                    ..PatchSummary::default()
                },
                cause,
                ..AttemptEnd::bare(outcome)
            }
        }
        .boxed()
    }

    fn grade(self: Arc<Self>, job: GradeJob, _: Reports) -> BoxFuture<'static, GradeEnd> {
        async move {
            assert_ne!(job.key.instance_id.as_str(), "ungradable");
            if job.key.instance_id.as_str().starts_with("late") {
                self.stop.now.cancelled().await;
                // So that the end of the limit is heard of before this.
                for _ in 0..8 {
                    tokio::task::yield_now().await;
                }
                tokio::time::sleep(NOW_LIMIT).await;
            }
            GradeEnd::Finished {
                grade: GradeSummary {
                    resolved: true,
                    official_resolved: true,
                    tamper_reason: None,
                    profile: Profile::Sealed,
                    note: None,
                    ..GradeSummary::default()
                },
                seconds: 0.1,
            }
        }
        .boxed()
    }

    fn clean(&self, _limit: Duration) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}

struct Ran {
    end: RunEnd,
    events: Vec<RunEvent>,
    fake: Arc<Fake>,
    ledger: Ledger,
    _root: tempfile::TempDir,
}

impl Ran {
    fn count(&self, matches: impl Fn(&RunEvent) -> bool) -> usize {
        self.events.iter().filter(|event| matches(event)).count()
    }
}

async fn run_with(
    ids: &[String],
    acts: Vec<((&str, u32), Act)>,
    signals: Signals,
    change: impl FnOnce(&mut Policy),
) -> Ran {
    let root = tempfile::tempdir().unwrap();
    let directory = RunDirectory::new(root.path());
    directory.lay_out().unwrap();
    let writer = Writer::claim(&directory).unwrap();
    let journal = JournalWriter::create(&writer.journal()).unwrap();
    let store = Store {
        run: directory.clone(),
        writer,
        journal,
        ledger: Ledger::default(),
    };
    let rows: Vec<_> = ids
        .iter()
        .map(|id| PlanRow {
            id: InstanceId::new(id.clone()),
            sha256: "r".into(),
        })
        .collect();
    let request = Request {
        rows: &rows,
        samples: 1,
        retry: &[],
        grade: false,
    };
    let plan = plan(&Ledger::default(), &request).unwrap();
    let mut policy = Policy {
        prefetch: 0,
        workers: 4,
        prestarted: 0,
        max_attempts: 3,
        grade: false,
        grade_workers: 2,
        grace: Duration::from_secs(5),
        max_infra_failures: 0,
        max_empty_patches: None,
        fail_under: None,
        predictions: PredictionRules {
            model: "m".into(),
            patch: PatchKind::Model,
            partial: PartialPatches::Exclude,
            samples: 1,
        },
    };
    change(&mut policy);
    let stop = Stop::default();
    let fake = Arc::new(Fake {
        acts: acts
            .into_iter()
            .map(|((id, attempt), act)| ((id.to_owned(), attempt), act))
            .collect(),
        stop: stop.clone(),
        running: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
        started: Mutex::default(),
    });
    let selected = rows.into_iter().map(|row| (row.id, 1)).collect();
    let end = run(
        store,
        policy,
        plan,
        selected,
        fake.clone(),
        stop,
        Audience::default(),
        signals,
    )
    .await
    .unwrap();
    let events: Vec<_> = journal::read(&directory)
        .unwrap()
        .lines
        .into_iter()
        .map(|line| line.event)
        .collect();
    Ran {
        end,
        ledger: Ledger::fold(&events),
        events,
        fake,
        _root: root,
    }
}

fn ids(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("i{number:03}")).collect()
}

fn failed(reason: FailureKind) -> Act {
    Act::End(Outcome::Failed {
        reason,
        message: "why".into(),
    })
}

#[tokio::test]
async fn all_instances_end_and_never_more_run_than_workers() {
    let ran = run_with(&ids(30), vec![], Signals::Never, |_| {}).await;
    assert_eq!(ran.end.exit_code, 0);
    assert_eq!(ran.end.outcomes.len(), 30);
    assert_eq!(ran.fake.most.load(Ordering::SeqCst), 4);
    assert!(matches!(
        ran.events.first(),
        Some(RunEvent::RunStarted {
            planned: 30,
            done: 0
        })
    ));
    assert_eq!(
        ran.count(|event| matches!(event, RunEvent::RunFinished { .. })),
        1
    );
}

#[tokio::test]
async fn a_panic_is_one_attempts_internal_failure_and_code_70() {
    let acts = vec![(("i001", 1), Act::Panic)];
    let ran = run_with(&ids(5), acts, Signals::Never, |_| {}).await;
    assert_eq!(ran.end.exit_code, 70);
    let outcome = &ran.end.outcomes[1].1;
    assert!(
        matches!(outcome, Outcome::Failed { reason: FailureKind::Internal, message } if message.contains("boom")),
        "{outcome:?}"
    );
    assert_eq!(ran.end.outcomes.len(), 5);
}

#[tokio::test]
async fn infrastructure_failures_are_tried_again_up_to_the_limit() {
    let lost = || failed(FailureKind::EnvironmentLost);
    let acts = vec![
        (("i000", 1), lost()),
        (("i001", 1), lost()),
        (("i001", 2), lost()),
        (("i001", 3), lost()),
        (("i002", 1), failed(FailureKind::Check)),
        (("i002", 2), failed(FailureKind::Check)),
        (
            ("i003", 1),
            failed(FailureKind::Model(ModelFailureKind::BadRequest)),
        ),
    ];
    let ran = run_with(&ids(5), acts, Signals::Never, |_| {}).await;
    let attempts = |id: &str| {
        ran.ledger
            .sample(&InstanceId::new(id), 1)
            .unwrap()
            .attempts
            .len()
    };
    assert_eq!(
        ["i000", "i001", "i002", "i003", "i004"].map(attempts),
        [2, 3, 2, 1, 1]
    );
    assert_eq!(
        ran.count(|event| matches!(event, RunEvent::RetryPlanned { .. })),
        4
    );
    assert_eq!(ran.end.exit_code, 3);
}

fn caused(reason: FailureKind, cause: Cause) -> Act {
    let Act::End(outcome) = failed(reason) else {
        unreachable!("a failure ends it");
    };
    Act::Caused(outcome, cause)
}

#[tokio::test]
async fn what_is_hopeless_is_tried_once_and_an_outage_is_nobodys_fault() {
    let names = ids(40);
    let image = || caused(FailureKind::EnvironmentStart, Cause::Image("x".into()));
    let outage = |number| caused(FailureKind::EnvironmentLost, Cause::Outage(number));
    let mut acts = vec![
        (
            ("i000", 1),
            caused(FailureKind::EnvironmentStart, Cause::Hopeless),
        ),
        (("i001", 1), outage(1)),
        (("i001", 2), outage(2)),
        (("i001", 3), failed(FailureKind::EnvironmentLost)),
    ];
    // More than the breaker bears, in a row and as a share.
    acts.extend(names[2..22].iter().map(|id| ((id.as_str(), 1), image())));
    acts.extend(names[22..39].iter().map(|id| ((id.as_str(), 1), outage(1))));
    let ran = run_with(&names, acts, Signals::Never, |policy| {
        policy.max_attempts = 2;
        policy.max_infra_failures = 21;
    })
    .await;
    assert_eq!(ran.end.exit_code, 0, "{:?}", ran.end.aborted);
    let attempts = |id: &str| {
        let sample = ran.ledger.sample(&InstanceId::new(id), 1).unwrap();
        sample.attempts.len()
    };
    // Two outages that count for nothing, one failure, and its second try.
    let tried = ["i000", "i001", "i002", "i021", "i022", "i038", "i039"].map(attempts);
    assert_eq!(tried, [1, 4, 1, 1, 2, 2, 1]);
}

#[tokio::test]
async fn failures_that_are_borne_give_code_0() {
    let acts = vec![(
        ("i000", 1),
        failed(FailureKind::Model(ModelFailureKind::BadRequest)),
    )];
    let ran = run_with(&ids(5), acts, Signals::Never, |policy| {
        policy.max_infra_failures = 1;
    })
    .await;
    assert_eq!(ran.end.exit_code, 0);
}

#[tokio::test]
async fn refused_credentials_stop_the_run_at_once() {
    let mut acts = vec![(
        ("i000", 1),
        failed(FailureKind::Model(ModelFailureKind::Auth)),
    )];
    let names = ids(300);
    acts.extend(
        names[1..]
            .iter()
            .map(|id| ((id.as_str(), 1), Act::UntilCancelled)),
    );
    let ran = run_with(&names, acts, Signals::Never, |_| {}).await;
    assert_eq!(ran.end.exit_code, 4);
    assert!(ran.end.aborted.as_ref().unwrap().contains("model:auth"));
    assert_eq!(ran.fake.started.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn a_first_signal_cancels_and_a_second_ends_it_now() {
    let acts = |second| {
        vec![
            (("i000", 1), Act::UntilCancelled),
            (("i001", 1), second),
            (("i002", 1), Act::UntilCancelled),
            (("i003", 1), Act::UntilCancelled),
        ]
    };
    let (sender, receiver) = mpsc::channel(2);
    sender.send(Signal::Terminate).await.unwrap();
    let ran = run_with(
        &ids(20),
        acts(Act::UntilCancelled),
        Signals::Given(receiver),
        |_| {},
    )
    .await;
    assert_eq!(ran.end.exit_code, 143);
    assert!(
        ran.end
            .outcomes
            .iter()
            .all(|(_, outcome)| *outcome == Outcome::Cancelled)
    );

    let (sender, receiver) = mpsc::channel(2);
    sender.send(Signal::Interrupt).await.unwrap();
    sender.send(Signal::Interrupt).await.unwrap();
    let ran = run_with(&ids(20), acts(Act::Deaf), Signals::Given(receiver), |_| {}).await;
    assert_eq!(ran.end.exit_code, 130);
    assert_eq!(ran.end.interrupted, Some("SIGINT"));
}

#[tokio::test]
async fn the_grace_period_ends_what_is_deaf_to_the_first_signal() {
    let acts = vec![(("i000", 1), Act::Deaf)];
    let (sender, receiver) = mpsc::channel(2);
    sender.send(Signal::Interrupt).await.unwrap();
    let ran = run_with(&ids(1), acts, Signals::Given(receiver), |policy| {
        policy.grace = Duration::from_millis(20);
    })
    .await;
    assert_eq!(ran.end.exit_code, 130);
}

#[tokio::test]
async fn patches_are_graded_as_they_appear_and_a_grading_may_panic() {
    let mut names = ids(6);
    names.push("ungradable".into());
    let acts = vec![(("i005", 1), Act::End(Outcome::Cancelled))];
    let ran = run_with(&names, acts, Signals::Never, |policy| policy.grade = true).await;
    assert_eq!(
        ran.count(|event| matches!(event, RunEvent::GradeFinished { .. })),
        5
    );
    assert_eq!(
        ran.count(|event| matches!(event, RunEvent::GradeFailed { .. })),
        1
    );
    assert_eq!(ran.end.exit_code, 70);
}

#[tokio::test(start_paused = true)]
async fn gradings_that_end_just_when_they_are_given_up_end_the_run() {
    let names: Vec<String> = (0..4).map(|number| format!("late{number}")).collect();
    let (sender, receiver) = mpsc::channel(2);
    let signals = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        for _ in 0..2 {
            sender.send(Signal::Interrupt).await.unwrap();
        }
        sender
    };
    let ran = run_with(&names, Vec::new(), Signals::Given(receiver), |policy| {
        policy.grade = true;
        policy.grade_workers = 4;
    });
    let (ran, _sender) = tokio::join!(ran, signals);
    assert_eq!(ran.end.exit_code, 130);
    assert_eq!(
        ran.count(|event| matches!(event, RunEvent::GradeStarted { .. })),
        4
    );
}
