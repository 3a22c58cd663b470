//! Plans of journals that tell of every ending.

use schema::grading::Profile;
use schema::journal::GradeSummary;
use schema::{FailureKind, ModelFailureKind, Outcome, RunEvent, StopReason};

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
            profile: Profile::Sealed,
            note: None,
            ..GradeSummary::default()
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
