//! Acceptance 4: a kill at any record, and going on from the log.

use std::sync::Arc;

use schema::{Event, Outcome};
use tokio_util::sync::CancellationToken;

use crate::fakes::{
    Conversation, DONE, MemoryLog, MemoryWorkspace, StrictModel, attempt, bash, calls, run,
};

/// A model that looks at the conversation and not at a script: it writes a test, is rejected, mends the code, and is done.
fn solver() -> Arc<StrictModel> {
    Arc::new(StrictModel::new(|conversation: &Conversation| {
        let (write_test, look) = (bash("write tests/b.py x"), bash("echo looks fine"));
        let (mend, say) = (bash("write src/a.py mended"), bash("echo mended it"));
        let mended = conversation
            .results()
            .any(|result| result.contains("mended it"));
        Ok(if mended {
            calls(&[(look.0, &look.1), DONE])
        } else if conversation.turns.is_empty() {
            calls(&[(write_test.0, &write_test.1), DONE])
        } else {
            calls(&[(mend.0, &mend.1), (say.0, &say.1)])
        })
    }))
}

fn workspace() -> Arc<MemoryWorkspace> {
    Arc::new(MemoryWorkspace::new(&[("src/a.py", "a = 1\n")]))
}

async fn undisturbed() -> usize {
    let (model, log) = (solver(), MemoryLog::default());
    let ending = run(attempt(&model, &workspace(), &log), &model, &log).await;
    assert_eq!(ending.outcome, Outcome::Completed);
    log.len()
}

async fn resume(workspace: &Arc<MemoryWorkspace>, records: &MemoryLog, after: usize) {
    let log = MemoryLog {
        records: Arc::clone(&records.records),
        ..MemoryLog::default()
    };
    let model = solver();
    let ending = run(attempt(&model, workspace, &log), &model, &log).await;
    assert_eq!(ending.outcome, Outcome::Completed, "after {after}");
    assert_eq!(
        workspace.content("src/a.py").unwrap(),
        "mended",
        "after {after}"
    );
    let started = |event: &&Event| matches!(event, Event::Started { .. });
    assert_eq!(
        log.events().iter().filter(started).count(),
        1,
        "after {after}"
    );
}

#[tokio::test]
async fn acceptance_4_a_kill_after_any_record_before_its_effect() {
    let records = undisturbed().await;
    assert!(records >= 12, "{records}");
    for after in 1..records {
        let (workspace, model) = (workspace(), solver());
        let log = MemoryLog {
            die_after: Some(after),
            ..MemoryLog::default()
        };
        *workspace.killed.lock().unwrap() = log.killed.clone();
        let attempt = attempt(&model, &workspace, &log);
        tokio::select! {
            biased;
            () = log.killed.cancelled() => {}
            _ = agent::driver::run(attempt) => {}
        }
        assert_eq!(log.len(), after);
        *workspace.killed.lock().unwrap() = CancellationToken::new();
        resume(&workspace, &log, after).await;
    }
}

#[tokio::test]
async fn acceptance_4_a_kill_after_any_effect_before_its_record() {
    let records = undisturbed().await;
    for after in 1..records {
        let (workspace, model) = (workspace(), solver());
        let log = MemoryLog {
            fail_after: Some(after),
            ..MemoryLog::default()
        };
        agent::driver::run(attempt(&model, &workspace, &log)).await;
        assert_eq!(log.len(), after);
        resume(&workspace, &log, after).await;
    }
}

#[tokio::test]
async fn a_finished_log_is_not_touched() {
    let (workspace, model, log) = (workspace(), solver(), MemoryLog::default());
    let first = run(attempt(&model, &workspace, &log), &model, &log).await;
    let (records, asked) = (log.len(), model.asked());
    let second = run(attempt(&model, &workspace, &log), &model, &log).await;
    assert_eq!(first, second);
    assert_eq!((log.len(), model.asked()), (records, asked));
}

#[tokio::test]
async fn the_clock_goes_on_where_the_log_ended() {
    let (workspace, model) = (workspace(), solver());
    let log = MemoryLog {
        fail_after: Some(4),
        ..MemoryLog::default()
    };
    agent::driver::run(attempt(&model, &workspace, &log)).await;
    log.records.lock().unwrap()[3].at.0 = 3_600_000;
    let rest = MemoryLog {
        records: Arc::clone(&log.records),
        ..MemoryLog::default()
    };
    let ending = run(attempt(&model, &workspace, &rest), &model, &rest).await;
    assert_eq!(ending.outcome.reason(), "max_wall_time");
}
