//! What the driver does when something outside goes wrong.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use schema::{Event, FailureKind, Outcome};
use tokio::time::Instant;

use crate::fakes::{
    Counting, DONE, MemoryLog, MemoryWorkspace, StrictModel, attempt, bash, calls, done, run, runs,
    text,
};

fn workspace() -> Arc<MemoryWorkspace> {
    Arc::new(MemoryWorkspace::new(&[("src/a.py", "a = 1\n")]))
}

fn replies(replies: Vec<schema::Reply>) -> Arc<StrictModel> {
    Arc::new(StrictModel::replies(replies))
}

#[tokio::test(start_paused = true)]
async fn cancel_during_a_request_ends_at_once() {
    let log = MemoryLog::default();
    let mut model = StrictModel::replies(vec![done()]);
    model.deaf = true;
    let model = Arc::new(model);
    let attempt = attempt(&model, &workspace(), &log);
    let cancel = attempt.cancel.clone();
    let started = Instant::now();
    let (ending, ()) = tokio::join!(run(attempt, &model, &log), async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        cancel.cancel();
    });
    assert_eq!(ending.outcome, Outcome::Cancelled);
    assert!(started.elapsed() < Duration::from_secs(6));
}

#[tokio::test(start_paused = true)]
async fn cancel_during_a_tool_awaits_it_and_answers_the_rest() {
    let log = MemoryLog::default();
    let hang = bash("hang");
    let model = replies(vec![calls(&[(hang.0, &hang.1), (hang.0, &hang.1), DONE])]);
    let attempt = attempt(&model, &workspace(), &log);
    let cancel = attempt.cancel.clone();
    let (ending, ()) = tokio::join!(run(attempt, &model, &log), async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        cancel.cancel();
    });
    assert_eq!(ending.outcome, Outcome::Cancelled);
    let events = log.events();
    let cancelled = events
        .iter()
        .position(|event| *event == Event::CancelRequested);
    let Some(Event::ToolDone { run, .. }) = cancelled.and_then(|at| events.get(at + 1)) else {
        panic!("the tool was not awaited: {events:#?}");
    };
    assert_eq!(run.result.content, "half\n[interrupted]");
    let answered = |event: &&Event| matches!(event, Event::Answered { .. });
    assert_eq!(events.iter().filter(answered).count(), 2);
}

#[tokio::test]
async fn an_attempt_that_is_cancelled_before_it_starts_asks_nothing() {
    let log = MemoryLog::default();
    let model = replies(vec![done()]);
    let attempt = attempt(&model, &workspace(), &log);
    attempt.cancel.cancel();
    let ending = run(attempt, &model, &log).await;
    assert_eq!((ending.outcome, model.asked()), (Outcome::Cancelled, 0));
    assert!(matches!(log.events()[0], Event::Started { .. }));
}

#[tokio::test(start_paused = true)]
async fn the_wall_time_interrupts_a_request_that_never_ends() {
    let log = MemoryLog::default();
    let mut model = StrictModel::replies(vec![done()]);
    model.deaf = true;
    let model = Arc::new(model);
    let mut attempt = attempt(&model, &workspace(), &log);
    attempt.settings.limits.max_wall_time = Some(Duration::from_mins(1));
    let started = Instant::now();
    let ending = run(attempt, &model, &log).await;
    assert_eq!(ending.outcome.reason(), "max_wall_time");
    assert!(started.elapsed() < Duration::from_secs(62));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_turn_is_no_wall_time() {
    let log = MemoryLog::default();
    let mut model = StrictModel::replies(vec![runs("write src/a.py x"), runs("echo x"), done()]);
    model.wait = Some(Duration::from_mins(10));
    let model = Arc::new(model);
    let mut attempt = attempt(&model, &workspace(), &log);
    attempt.settings.limits.max_wall_time = Some(Duration::from_mins(1));
    let ending = run(attempt, &model, &log).await;
    assert_eq!(ending.outcome, Outcome::Completed);
    let waited: u64 = log
        .events()
        .iter()
        .map(|event| match event {
            Event::Replied { reply, .. } => reply.waited_ms,
            _ => 0,
        })
        .sum();
    assert!(waited >= 1_800_000, "the waits are in the log: {waited}");
}

#[tokio::test]
async fn a_panic_in_the_model_is_a_bug_of_ours_with_one_end() {
    let log = MemoryLog::default();
    let model = Arc::new(StrictModel::new(|_| panic!("a model that panics")));
    let ending = run(attempt(&model, &workspace(), &log), &model, &log).await;
    let Outcome::Failed { reason, message } = ending.outcome else {
        panic!("it went on");
    };
    assert_eq!(reason, FailureKind::Internal);
    assert!(message.contains("a model that panics"), "{message}");
}

#[tokio::test]
async fn a_panic_inside_the_machine_still_has_one_end() {
    let log = MemoryLog::default();
    let mut model = StrictModel::replies(vec![runs("write src/a.py x"), done()]);
    model.panics_at = Some(1);
    let model = Arc::new(model);
    let ending = run(attempt(&model, &workspace(), &log), &model, &log).await;
    assert_eq!(ending.outcome.reason(), "internal");

    // The same while a log is folded.
    let rest = MemoryLog::default();
    let records = log.events().len() - 1;
    *rest.records.lock().unwrap() = log.records.lock().unwrap()[..records].to_vec();
    let mut model = StrictModel::replies(vec![done()]);
    model.panics_at = Some(1);
    let model = Arc::new(model);
    let ending = run(attempt(&model, &workspace(), &rest), &model, &rest).await;
    assert_eq!(ending.outcome.reason(), "internal");
}

#[tokio::test]
async fn a_log_that_cannot_be_written_ends_the_attempt_at_any_record() {
    for (error, kind) in [
        (ErrorKind::StorageFull, FailureKind::EnvironmentDisk),
        (ErrorKind::PermissionDenied, FailureKind::Internal),
    ] {
        for fail_after in 0..8 {
            let log = MemoryLog {
                fail_after: Some(fail_after),
                error: Some(error),
                ..MemoryLog::default()
            };
            let model = replies(vec![runs("write src/a.py x"), done()]);
            let ending = agent::driver::run(attempt(&model, &workspace(), &log)).await;
            let Outcome::Failed { reason, .. } = ending.outcome else {
                panic!("{fail_after}: {:?}", ending.outcome);
            };
            assert_eq!(reason, kind);
            assert_eq!(log.len(), fail_after);
        }
    }
}

#[tokio::test]
async fn an_observer_that_panics_changes_nothing() {
    let log = MemoryLog::default();
    let model = replies(vec![runs("write src/a.py x"), done()]);
    let mut attempt = attempt(&model, &workspace(), &log);
    let observer = Arc::new(Counting {
        panics: true,
        ..Counting::default()
    });
    attempt.observer = Arc::clone(&observer) as _;
    let ending = run(attempt, &model, &log).await;
    assert_eq!(ending.outcome, Outcome::Completed);
    assert_eq!(observer.seen.load(Ordering::Relaxed), log.len());
}

#[tokio::test]
async fn long_outputs_go_to_the_store_and_not_to_the_model() {
    let (workspace, log) = (workspace(), MemoryLog::default());
    let model = replies(vec![
        runs("flood 1000000"),
        runs("write src/a.py x"),
        done(),
    ]);
    run(attempt(&model, &workspace, &log), &model, &log).await;
    assert_eq!(workspace.kept.load(Ordering::Relaxed), 1);
    let Some(Event::ToolDone { run, .. }) = log
        .events()
        .into_iter()
        .find(|event| matches!(event, Event::ToolDone { .. }))
    else {
        panic!("nothing ran");
    };
    assert_eq!(run.output_bytes, 1_000_000);
    assert!(run.output_sha256.is_some());
    assert!(run.result.content.len() < 17_000);
    assert!(
        run.result.content.contains("983616 bytes"),
        "what is missing is said"
    );
}

#[tokio::test]
async fn no_step_copies_the_conversation() {
    let log = MemoryLog::default();
    let steps = (0..20).map(|step| runs(&format!("echo {step}")));
    let model = replies(steps.chain([runs("write src/a.py x"), done()]).collect());
    run(attempt(&model, &workspace(), &log), &model, &log).await;
    let views = model.views.lock().unwrap();
    assert_eq!(views.len(), 22);
    assert!(views.iter().all(|view| *view == views[0]), "{views:?}");
}

#[tokio::test]
async fn a_restart_of_the_shell_is_told_once() {
    let log = MemoryLog::default();
    let restart = calls(&[("bash", r#"{"restart": true}"#)]);
    let model = replies(vec![restart, runs("write src/a.py x"), done()]);
    run(attempt(&model, &workspace(), &log), &model, &log).await;
    let said = log.events().into_iter().find_map(|event| match event {
        Event::ToolDone { run, .. } => Some(run.result.content),
        _ => None,
    });
    assert_eq!(said.as_deref(), Some("the shell was restarted"));
}

#[tokio::test]
async fn without_must_patch_an_empty_diff_completes() {
    let log = MemoryLog::default();
    let model = replies(vec![text("thinking"), done()]);
    let mut attempt = attempt(&model, &workspace(), &log);
    attempt.checks.clear();
    let ending = run(attempt, &model, &log).await;
    assert_eq!(ending.outcome, Outcome::Completed);
}
