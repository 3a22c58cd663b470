//! The acceptance tests of the agent, by number. (7 and 11 are the runner's, 4 is in `resume`, and the real halves of 3 and 9 are the
//! sandbox's.)

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use agent::Check;
use agent::history::ModelEncoder;
use agent::machine::replay;
use schema::{
    Event, FailureKind, FinishReason, ModelFailureKind, Outcome, Record, Reply, StopReason,
};

use crate::fakes::{
    Conversation, DONE, MemoryLog, MemoryWorkspace, StrictModel, USAGE, attempt, bash, calls, done,
    run, runs, text,
};

fn workspace() -> Arc<MemoryWorkspace> {
    Arc::new(MemoryWorkspace::new(&[
        ("src/a.py", "a = 1\n"),
        ("tests/a.py", ""),
    ]))
}

const EDIT: (&str, &str) = (
    "str_replace_based_edit_tool",
    r#"{"command": "str_replace", "path": "src/a.py", "old_str": "1", "new_str": "2"}"#,
);

fn cut(reply: Reply, finish_reason: FinishReason) -> Reply {
    Reply {
        finish_reason,
        ..reply
    }
}

/// A script that goes over one edge of the transition table, and how it ends. The last reply repeats.
struct Edge {
    name: &'static str,
    script: Vec<Result<Reply, Option<ModelFailureKind>>>,
    outcome: Outcome,
}

fn edge(name: &'static str, replies: Vec<Reply>, outcome: Outcome) -> Edge {
    Edge {
        name,
        script: replies.into_iter().map(Ok).collect(),
        outcome,
    }
}

fn completing() -> Vec<Edge> {
    let mended = || calls(&[EDIT, DONE]);
    let unknown = || calls(&[("Bash", "{}"), ("browser", "{}")]);
    let scripts = vec![
        ("edit and done", vec![mended()]),
        ("done first", vec![calls(&[DONE, EDIT, DONE])]),
        (
            "rejected",
            vec![done(), runs("write tests/b.py x"), done(), mended()],
        ),
        (
            "unreadable",
            vec![calls(&[("bash", "{")]), calls(&[("", "")]), mended()],
        ),
        ("unknown tools", vec![unknown(), mended()]),
        (
            "withheld",
            vec![cut(calls(&[EDIT]), FinishReason::ContentFilter), mended()],
        ),
        ("cut", vec![cut(mended(), FinishReason::Length), mended()]),
    ];
    let mut edges: Vec<Edge> = scripts
        .into_iter()
        .map(|(name, replies)| edge(name, replies, Outcome::Completed))
        .collect();
    let long = |bytes: u32| Ok(runs(&format!("flood {bytes}")));
    edges.push(Edge {
        name: "overflow once",
        script: vec![long(9000), long(8000), Err(None), Ok(mended())],
        outcome: Outcome::Completed,
    });
    edges
}

fn stopping() -> Vec<Edge> {
    let scripts = vec![
        ("rejected", done(), StopReason::CompletionRejected),
        ("prose", text("done"), StopReason::NoToolCalls),
        ("nothing", text(""), StopReason::NoToolCalls),
        (
            "cut calls",
            cut(calls(&[EDIT, DONE]), FinishReason::Length),
            StopReason::FormatErrors,
        ),
        (
            "cut text",
            cut(text(""), FinishReason::Length),
            StopReason::FormatErrors,
        ),
        ("the same", runs("echo same"), StopReason::Stuck),
        ("steps", runs("poll"), StopReason::MaxSteps),
    ];
    let mut edges: Vec<Edge> = scripts
        .into_iter()
        .map(|(name, reply, reason)| edge(name, vec![reply], Outcome::Stopped { reason }))
        .collect();
    edges.push(Edge {
        name: "overflow for ever",
        script: vec![Ok(runs("echo x")), Err(None)],
        outcome: Outcome::Stopped {
            reason: StopReason::ContextExhausted,
        },
    });
    edges
}

fn failing() -> Vec<Edge> {
    let failed = |reason, message: &str| Outcome::Failed {
        reason,
        message: message.into(),
    };
    let breaking = |command| {
        let (name, arguments) = bash(command);
        vec![calls(&[EDIT, (name, &arguments), DONE])]
    };
    let mut edges: Vec<Edge> = [
        ModelFailureKind::Auth,
        ModelFailureKind::Billing,
        ModelFailureKind::BadRequest,
        ModelFailureKind::Overloaded,
        ModelFailureKind::Timeout,
        ModelFailureKind::Refused,
    ]
    .into_iter()
    .map(|kind| Edge {
        name: FailureKind::Model(kind).name(),
        script: vec![Err(Some(kind))],
        outcome: failed(FailureKind::Model(kind), "made to fail"),
    })
    .collect();
    edges.push(edge(
        "lost",
        breaking("lost"),
        failed(FailureKind::EnvironmentLost, "the sandbox is gone"),
    ));
    edges.push(edge(
        "panic",
        breaking("panic"),
        failed(
            FailureKind::Internal,
            "run a tool: panic: a tool that panics",
        ),
    ));
    edges
}

fn edges() -> Vec<Edge> {
    [completing(), stopping(), failing()]
        .into_iter()
        .flatten()
        .collect()
}

#[tokio::test(start_paused = true)]
async fn acceptance_1_no_edge_of_the_table_sends_an_unpaired_conversation() {
    for Edge {
        name,
        script,
        outcome,
    } in edges()
    {
        let (model, log) = (Arc::new(StrictModel::script(script)), MemoryLog::default());
        let ending = run(attempt(&model, &workspace(), &log), &model, &log).await;
        assert_eq!(ending.outcome, outcome, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_log_of_every_edge_replays_to_the_same_decisions() {
    for Edge { name, script, .. } in edges() {
        let (model, log) = (Arc::new(StrictModel::script(script)), MemoryLog::default());
        let attempt = attempt(&model, &workspace(), &log);
        let (settings, catalog) = (attempt.settings.clone(), Arc::clone(&attempt.catalog));
        run(attempt, &model, &log).await;
        let mut records = log.records.lock().unwrap().clone();
        let over = |records: &[Record]| {
            let encoder = Arc::new(ModelEncoder(Arc::clone(&model) as _));
            replay(settings.clone(), Arc::clone(&catalog), encoder, records)
        };
        let machine = over(&records).unwrap_or_else(|error| panic!("{name}: {error:#?}"));
        assert!(machine.outcome().is_some(), "{name}");

        let asked = records
            .iter()
            .rposition(|record| matches!(record.event, Event::Asked { .. }))
            .unwrap();
        let Event::Asked { request_sha256, .. } = &mut records[asked].event else {
            unreachable!("as found above");
        };
        request_sha256.clear();
        let divergence = over(&records).unwrap_err();
        assert_eq!(divergence.seq, records[asked].seq, "{name}");
    }
}

#[tokio::test]
async fn acceptance_2_an_edit_beside_task_done_is_made_first() {
    let (workspace, log) = (workspace(), MemoryLog::default());
    let model = Arc::new(StrictModel::replies(vec![calls(&[EDIT, DONE])]));
    let ending = run(attempt(&model, &workspace, &log), &model, &log).await;
    assert_eq!(ending.outcome, Outcome::Completed);
    assert_eq!(workspace.content("src/a.py").unwrap(), "a = 2\n");
    assert_eq!(model.asked(), 1);
}

#[tokio::test]
async fn acceptance_3_the_gate_counts_sources_and_not_tests() {
    for (path, accepted) in [
        ("src/new.py", true),
        ("src/latest_x.py", true),
        ("tests/new.py", false),
    ] {
        let (workspace, log) = (workspace(), MemoryLog::default());
        let write = runs(&format!("write {path} x"));
        let model = Arc::new(StrictModel::replies(vec![write, done(), text("stop")]));
        let ending = run(attempt(&model, &workspace, &log), &model, &log).await;
        assert_eq!(ending.outcome == Outcome::Completed, accepted, "{path}");
        let told = log.events().iter().any(|event| {
            matches!(event, Event::Answered { result } if result.content.contains("tests/new.py"))
        });
        assert_eq!(told, !accepted, "the model is told which");
    }
}

#[tokio::test]
async fn acceptance_3_a_diff_that_cannot_be_taken_is_no_empty_patch() {
    let (workspace, log) = (workspace(), MemoryLog::default());
    workspace.broken_diffs.store(1, Ordering::Relaxed);
    let model = Arc::new(StrictModel::replies(vec![calls(&[EDIT, DONE])]));
    let ending = run(attempt(&model, &workspace, &log), &model, &log).await;
    assert_eq!(ending.outcome, Outcome::Completed);

    let (workspace, log) = (self::workspace(), MemoryLog::default());
    workspace.broken_diffs.store(2, Ordering::Relaxed);
    let ending = run(attempt(&model, &workspace, &log), &model, &log).await;
    assert_eq!(ending.outcome.reason(), "check");
}

#[tokio::test]
async fn acceptance_3_a_verify_command_has_to_pass_too() {
    let (workspace, log) = (workspace(), MemoryLog::default());
    let model = Arc::new(StrictModel::replies(vec![
        calls(&[EDIT, DONE]),
        text("stop"),
    ]));
    let mut attempt = attempt(&model, &workspace, &log);
    attempt.checks.push(Check::VerifyCommand {
        command: "fail 3".into(),
        timeout: Duration::from_secs(5),
    });
    let ending = run(attempt, &model, &log).await;
    assert_eq!(ending.outcome.reason(), "no_tool_calls");
    let request = model.requests.lock().unwrap()[1].clone();
    let request = String::from_utf8(request).unwrap();
    assert!(request.contains("failed\\n[exit code 3]"), "{request}");
}

#[tokio::test]
async fn acceptance_5_repetition_stops_at_six_and_polling_does_not() {
    let log = MemoryLog::default();
    let model = Arc::new(StrictModel::replies(vec![runs("echo same"); 25]));
    let ending = run(attempt(&model, &workspace(), &log), &model, &log).await;
    assert_eq!((ending.outcome.reason(), ending.steps), ("stuck", 6));
    let notes = |log: &MemoryLog| {
        let noted = |event: &&Event| matches!(event, Event::Nudged { .. });
        log.events().iter().filter(noted).count()
    };
    assert_eq!(notes(&log), 1, "it was warned");

    let log = MemoryLog::default();
    let model = Arc::new(StrictModel::replies(vec![runs("poll")]));
    let ending = run(attempt(&model, &workspace(), &log), &model, &log).await;
    assert_eq!((ending.outcome.reason(), ending.steps), ("max_steps", 100));
    assert_eq!(notes(&log), 0);
}

#[tokio::test]
async fn acceptance_6_condensing_that_saves_nothing_ends_after_three() {
    let log = MemoryLog::default();
    let model = Arc::new(StrictModel::script(vec![Ok(runs("echo x")), Err(None)]));
    let ending = run(attempt(&model, &workspace(), &log), &model, &log).await;
    assert_eq!(ending.outcome.reason(), "context_exhausted");
    assert_eq!(model.asked(), 4);
}

#[tokio::test]
async fn acceptance_8_bad_arguments_run_nothing_and_end() {
    for arguments in [
        "{",
        "{\"command\": \"touch",
        "[]",
        "7",
        "\"touch x\"",
        "not json",
        "{\"cmd\": \"touch x\"}",
        "{\"command\": [\"touch\", \"x\"]}",
        "{\"command\": \"touch \\u0000\"}",
        "{\"command\": {}}",
        "",
    ] {
        let (workspace, log) = (workspace(), MemoryLog::default());
        let model = Arc::new(StrictModel::replies(vec![calls(&[("bash", arguments)])]));
        let ending = run(attempt(&model, &workspace, &log), &model, &log).await;
        assert!(
            matches!(ending.outcome.reason(), "format_errors" | "stuck"),
            "{arguments}"
        );
        assert!(ending.steps <= 6, "{arguments}");
        assert!(workspace.commands.lock().unwrap().is_empty(), "{arguments}");
    }
    let (workspace, log) = (workspace(), MemoryLog::default());
    let stringified = r#""{\"command\": \"write src/a.py x\", \"timeout\": \"5\"}""#;
    let model = Arc::new(StrictModel::replies(vec![calls(&[
        ("bash", stringified),
        DONE,
    ])]));
    let ending = run(attempt(&model, &workspace, &log), &model, &log).await;
    assert_eq!(ending.outcome, Outcome::Completed);
}

#[tokio::test(start_paused = true)]
async fn acceptance_9_a_hanging_command_returns_at_its_deadline_with_its_output() {
    let log = MemoryLog::default();
    let hang = ("bash", r#"{"command": "hang", "timeout": 2}"#);
    let model = Arc::new(StrictModel::replies(vec![calls(&[hang, EDIT, DONE])]));
    let started = tokio::time::Instant::now();
    let ending = run(attempt(&model, &workspace(), &log), &model, &log).await;
    assert_eq!(ending.outcome, Outcome::Completed);
    assert!(started.elapsed() < Duration::from_secs(3));
    let timed_out = log.events().iter().any(|event| {
        matches!(event, Event::ToolDone { run, .. } if run.timed_out && run.result.content.starts_with("half\n[killed after 2 s"))
    });
    assert!(timed_out, "{:#?}", log.events());
}

#[tokio::test(start_paused = true)]
async fn acceptance_9_a_deaf_command_holds_the_attempt_no_longer_than_the_grace() {
    let log = MemoryLog::default();
    let model = Arc::new(StrictModel::replies(vec![runs("deaf")]));
    let mut attempt = attempt(&model, &workspace(), &log);
    attempt.settings.limits.max_wall_time = Some(Duration::from_secs(30));
    let started = tokio::time::Instant::now();
    let ending = run(attempt, &model, &log).await;
    assert_eq!(ending.outcome.reason(), "max_wall_time");
    assert!(started.elapsed() < Duration::from_secs(42));
}

#[tokio::test(start_paused = true)]
async fn acceptance_10_every_end_has_one_finish_and_its_usage() {
    for Edge { name, script, .. } in edges() {
        let log = MemoryLog::default();
        let replies = script.clone();
        let model = Arc::new(StrictModel::script(script));
        let ending = run(attempt(&model, &workspace(), &log), &model, &log).await;
        let answered = (0..model.asked())
            .filter(|index| replies[(*index).min(replies.len() - 1)].is_ok())
            .count();
        let answered = u32::try_from(answered).unwrap();
        assert_eq!(ending.steps, answered, "{name}");
        assert_eq!(
            ending.usage.input,
            USAGE.input * u64::from(answered),
            "{name}"
        );
        if answered > 0 {
            let cost = ending.usage.cost.unwrap();
            assert!((cost - 0.25 * f64::from(answered)).abs() < 1e-9, "{name}");
        }
        assert_eq!(ending.model_ms, 3 * u64::from(answered), "{name}");
    }
}

#[tokio::test]
async fn acceptance_12_the_same_script_sends_the_same_bytes() {
    let script = || {
        let mut script = vec![
            Ok(calls(&[
                EDIT,
                (bash("flood 60000").0, &bash("flood 60000").1),
            ])),
            Ok(text("prose")),
            Err(None),
        ];
        for round in 0..8 {
            script.push(Ok(runs(&format!("flood {}", 20_000 + round))));
        }
        script.push(Ok(done()));
        script
    };
    let mut sent = Vec::new();
    for _ in 0..2 {
        let log = MemoryLog::default();
        let mut model = StrictModel::script(script());
        model.window = Some(40_000);
        let model = Arc::new(model);
        run(attempt(&model, &workspace(), &log), &model, &log).await;
        let digests: Vec<String> = log
            .events()
            .iter()
            .filter_map(|event| match event {
                Event::Asked { request_sha256, .. } => Some(request_sha256.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(digests.len(), model.asked());
        sent.push((model.requests.lock().unwrap().clone(), digests));
    }
    assert_eq!(sent[0], sent[1]);
    let elided = sent[0]
        .0
        .last()
        .unwrap()
        .windows(8)
        .any(|bytes| bytes == b"left out");
    assert!(elided, "the script is long enough to condense");
}

#[tokio::test]
async fn each_turn_is_encoded_once_however_long_the_history() {
    let log = MemoryLog::default();
    let answer = |conversation: &Conversation| Ok(runs(&format!("echo {}", conversation.index)));
    let model = Arc::new(StrictModel::new(answer));
    let attempt = attempt(&model, &workspace(), &log);
    let ending = run(attempt, &model, &log).await;
    assert_eq!(ending.steps, 100);
    assert_eq!(model.encoded.load(Ordering::Relaxed), 100);
}
