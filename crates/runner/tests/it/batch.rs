//! Whole batches on real repositories with scripted models.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;

use rustix::process::Signal;
use schema::{Event, FailureKind, ModelFailureKind, Outcome, RunEvent, StopReason};
use serde_json::{Value, json};
use testkit::{Answer, FakeServer};

use crate::fixture::{Fixture, signal};

#[test]
fn a_batch_leaves_patches_trajectories_and_predictions_and_nothing_else() {
    let fixture = Fixture::new(6);
    fixture.script(&["cat value.txt", "echo good > value.txt"]);
    let said = fixture.run(&["--workers", "3", "--format", "json"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let summary: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(summary["outcomes"], json!({ "completed": 6 }));

    let predictions = fixture.predictions();
    assert_eq!(predictions.len(), 6);
    for (index, prediction) in predictions.iter().enumerate() {
        assert_eq!(prediction.instance_id.as_str(), fixture.id(index));
        assert!(
            prediction.model_patch.contains("-bad\n+good\n"),
            "{}",
            prediction.model_patch
        );
        let patch =
            fs::read_to_string(fixture.file(&format!("patches/{}.patch", fixture.id(index))));
        assert_eq!(patch.unwrap(), prediction.model_patch);
    }
    let preds: Value =
        serde_json::from_slice(&fs::read(fixture.file("preds.json")).unwrap()).unwrap();
    assert_eq!(preds.as_object().unwrap().len(), 6);

    let trajectory = fixture.trajectory(2);
    assert_eq!(trajectory.outcome(), Some(&Outcome::Completed));
    assert_eq!(trajectory.header.sandbox, "local");
    assert_eq!(trajectory.header.environment["seal"]["verified"], true);
    let seqs: Vec<u64> = trajectory.events.iter().map(|record| record.seq).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    fixture.assert_clean();
}

#[test]
fn every_ending_is_written_once_everywhere() {
    let fixture = Fixture::new(6);
    fixture.script_of(0, &["echo good > value.txt"]);
    fixture.script_of(1, &["true", "ls", "pwd", "id", "date", "uname"]);
    fixture.place.write(
        &format!("scripts/{}.jsonl", fixture.id(2)),
        "{\"tool_calls\":[{\"name\":\"bash\",\"arguments\":{\"command\":\"echo good > value.txt\"}}]}\n",
    );
    // Instance 3 has no script, instance 4 a repository that lacks a file of its base commit, instance 5 changes nothing but a test.
    fixture.script_of(4, &["true"]);
    let lost = git2::Oid::hash_object(git2::ObjectType::Blob, b"bad\n")
        .unwrap()
        .to_string();
    let objects = fixture.place.path().join("repos").join(fixture.id(4));
    let objects = objects.join(".git/objects").join(&lost[..2]);
    fs::remove_file(objects.join(&lost[2..])).unwrap();
    let only_tests = ["mkdir tests && echo x > tests/test_x.py", "true"];
    fixture.script_of(5, &only_tests);
    let flags = ["--model", "script:scripts", "--max-steps", "4"];
    let text = fixture.run(&flags);
    let outcome = |index: usize| {
        let id = fixture.id(index);
        let all = fixture.outcomes();
        let ends = all.iter().filter(|(key, _)| key.starts_with(&id));
        ends.map(|(_, outcome)| outcome.clone())
            .next_back()
            .unwrap()
    };
    assert_eq!(outcome(0), Outcome::Completed);
    let stopped = Outcome::Stopped {
        reason: StopReason::MaxSteps,
    };
    assert_eq!(outcome(1), stopped);
    let failed = |index: usize, kind: FailureKind| {
        let outcome = outcome(index);
        assert!(
            matches!(&outcome, Outcome::Failed { reason, .. } if *reason == kind),
            "{outcome:?}"
        );
    };
    failed(2, FailureKind::Model(ModelFailureKind::BadRequest));
    failed(3, FailureKind::Model(ModelFailureKind::BadRequest));
    failed(4, FailureKind::EnvironmentStart);
    failed(5, FailureKind::Model(ModelFailureKind::BadRequest));
    assert_eq!(text.code, 3, "{}", text.all());

    for index in 0..6 {
        let trajectory = fixture.trajectory(index);
        let ends = trajectory
            .events
            .iter()
            .filter(|record| matches!(record.event, Event::Finished { .. }));
        assert_eq!(ends.count(), 1, "instance {index}");
        assert_eq!(trajectory.outcome(), Some(&outcome(index)));
    }
    // What a failed attempt had changed is kept, but is no prediction.
    let kept = fixture.file(&format!("patches/{}.patch", fixture.id(2)));
    assert!(fs::read_to_string(kept).unwrap().contains("+good"));
    let predicted: Vec<_> = fixture
        .predictions()
        .into_iter()
        .map(|prediction| {
            (
                prediction.instance_id.to_string(),
                prediction.model_patch.is_empty(),
            )
        })
        .collect();
    assert_eq!(predicted, [(fixture.id(0), false), (fixture.id(1), true)]);
    let rows = fs::read_to_string(fixture.file("results.csv")).unwrap();
    assert_eq!(rows.lines().count(), 7, "{rows}");

    fs::remove_dir_all(fixture.file("")).unwrap();
    let mut flags = flags.to_vec();
    flags.extend(["--format", "json"]);
    let json = fixture.run(&flags);
    assert_eq!(json.code, text.code);
    let summary: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(summary["exit_code"], text.code);
    fixture.assert_clean();
}

#[test]
fn refused_credentials_stop_three_hundred_instances_at_once() {
    let server = FakeServer::start(|_| {
        Answer::json_with(
            401,
            &json!({ "error": { "message": "bad key", "code": "invalid_api_key" } }),
        )
    });
    let fixture = Fixture::shared(300);
    let said = fixture.run(&[
        "--model",
        "openai:m",
        "--base-url",
        &server.base_url(),
        "--workers",
        "4",
    ]);
    assert_eq!(said.code, 4, "{}", said.all());
    assert!(said.err.contains("model:auth"), "{}", said.err);
    let requests = server.requests().len();
    assert!((1..=4).contains(&requests), "{requests} requests");
    assert_eq!(fixture.predictions(), []);
    fixture.assert_clean();
}

#[test]
fn a_first_signal_harvests_what_was_done() {
    let fixture = Fixture::new(3);
    fixture.script(&[
        "echo good > value.txt",
        "sleep 600 # until somebody ends it",
    ]);
    let mut child = fixture.start(&["--workers", "2"]);
    let sleeping = |fixture: &Fixture| {
        crate::fixture::processes_at(fixture.place.path())
            .iter()
            .filter(|command| command.contains("sleep 600"))
            .count()
            >= 2
    };
    crate::fixture::wait("both workers sleep", || sleeping(&fixture));
    signal(&child, Signal::TERM);
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(143), "{status}");
    let outcomes = fixture.outcomes();
    assert!(outcomes.len() >= 2);
    assert!(
        outcomes
            .iter()
            .all(|(_, outcome)| *outcome == Outcome::Cancelled)
    );
    // Whichever sandboxes stood first got the two workers; a third attempt may have been waiting for one.
    let harvested = (0..3).filter(|index| {
        let patch = format!("instances/{}/s1-a1/model.patch", fixture.id(*index));
        fs::read_to_string(fixture.file(&patch)).is_ok_and(|patch| patch.contains("+good"))
    });
    assert_eq!(harvested.count(), 2);
    assert_eq!(
        fixture.predictions(),
        [],
        "a cancelled attempt is no prediction"
    );
    fixture.assert_clean();

    fixture.script(&["echo good > value.txt"]);
    let said = fixture.run(&["--workers", "2", "--resume"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(fixture.predictions().len(), 3);
}

#[test]
fn two_signals_end_a_hundred_instances_with_valid_files() {
    let fixture = Fixture::shared(100);
    fixture.script(&["echo good > value.txt", "sleep 0.2"]);
    let mut child = fixture.start(&["--workers", "8"]);
    fixture.wait_for("some attempt ended", |event| {
        matches!(event, RunEvent::AttemptFinished { .. })
    });
    signal(&child, Signal::INT);
    fixture.wait_for("the signal was heard", |event| {
        matches!(event, RunEvent::Interrupted { .. })
    });
    signal(&child, Signal::INT);
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130), "{status} {:?}", status.signal());
    let completed = fixture
        .outcomes()
        .iter()
        .filter(|(_, outcome)| *outcome == Outcome::Completed)
        .count();
    assert!(completed >= 1);
    assert_eq!(fixture.predictions().len(), completed);
    let ends = fixture.events();
    let ends = ends
        .iter()
        .filter(|event| matches!(event, RunEvent::RunFinished { exit_code: 130 }));
    assert_eq!(ends.count(), 1);
    fixture.assert_clean();
}

#[test]
fn a_second_runner_is_kept_out_while_the_first_one_lives() {
    let fixture = Fixture::new(1);
    fixture.script(&["sleep 600 # held"]);
    let mut child = fixture.start(&[]);
    fixture.wait_for("the first runner works", |event| {
        matches!(event, RunEvent::SandboxReady { .. })
    });
    let said = fixture.run(&["--resume"]);
    assert_eq!(said.code, 2, "{}", said.all());
    let pid = format!("process {}", child.id());
    assert!(said.err.contains(&pid), "{}", said.err);
    signal(&child, Signal::INT);
    signal(&child, Signal::INT);
    child.wait().unwrap();
    fixture.assert_clean();
}
