//! Runs that are taken up again.

use std::fs;

use rustix::process::Signal;
use schema::{Event, Outcome, RunEvent};
use serde_json::json;

use crate::deaths::assert_nothing_done_twice;
use crate::fixture::{Fixture, signal};

#[test]
fn a_changed_setting_is_refused_by_name_and_an_operational_one_is_not() {
    let mut fixture = Fixture::new(2);
    fixture.script(&["echo good > value.txt"]);
    assert_eq!(fixture.run(&[]).code, 0);
    let said = fixture.run(&[]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("--resume"), "{}", said.err);
    let said = fixture.run(&["--resume", "--max-steps", "9"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("max_steps"), "{}", said.err);
    let said = fixture.run(&["--resume", "--workers", "7", "--samples", "2"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(fixture.outcomes().len(), 4);
    assert_nothing_done_twice(&fixture.events());

    fixture.change(1, "problem_statement", json!("Something else."));
    let said = fixture.run(&["--resume", "--samples", "2"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains(&fixture.id(1)), "{}", said.err);
}

#[test]
fn retries_make_new_attempts_and_keep_the_old_ones() {
    let fixture = Fixture::new(2);
    fixture.script(&["true"]);
    let flags = ["--max-steps", "1"];
    assert_eq!(fixture.run(&flags).code, 0);
    fixture.script(&["echo good > value.txt"]);
    let id = fixture.id(1);
    let said = fixture.run(&["--max-steps", "1", "--resume", "--retry", &id]);
    assert_eq!(said.code, 0, "{}", said.all());
    for attempt in ["s1-a1", "s1-a2"] {
        let log = fixture.file(&format!("instances/{id}/{attempt}/trajectory.jsonl"));
        assert!(log.exists(), "{attempt}");
    }
    let patches: Vec<bool> = fixture
        .predictions()
        .iter()
        .map(|prediction| prediction.model_patch.contains("+good"))
        .collect();
    assert_eq!(patches, [false, true]);
}

#[test]
fn an_unfinished_attempt_is_done_again_from_its_record_and_goes_on_live() {
    let fixture = Fixture::new(1);
    // The mark outside the repository is what tells the live part from the recorded one.
    let mark = fixture.place.path().join("mark");
    let wait = format!("until test -e {}; do sleep 0.02; done", mark.display());
    fixture.script(&["echo good > value.txt", &wait]);
    let mut child = fixture.start(&[]);
    crate::fixture::wait("the second command runs", || {
        let log = fixture.file(&format!(
            "instances/{}/s1-a1/trajectory.jsonl",
            fixture.id(0)
        ));
        fs::read_to_string(log).is_ok_and(|text| text.matches("\"tool_started\"").count() == 2)
    });
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    fs::write(&mark, "").unwrap();

    // Of this script only the last reply is used: what comes before it is answered from the record.
    fixture.script(&["echo never", "echo never"]);
    let said = fixture.run(&["--resume=replay"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let trajectory = fixture.trajectory(0);
    assert_eq!(trajectory.header.attempt, 2);
    assert_eq!(trajectory.outcome(), Some(&Outcome::Completed));
    let replies = trajectory
        .events
        .iter()
        .filter(|record| matches!(record.event, Event::Replied { .. }));
    assert_eq!(replies.count(), 3);
    assert!(
        !fixture
            .events()
            .iter()
            .any(|event| matches!(event, RunEvent::Warning { .. }))
    );
    assert!(fixture.predictions()[0].model_patch.contains("+good"));
    fixture.assert_clean();
}

#[test]
fn a_record_that_diverges_is_left_for_the_live_model() {
    let fixture = Fixture::new(1);
    let outside = fixture.place.write("outside", "one\n");
    let wait = "sleep 600 # until it is killed";
    fixture.script(&[&format!("cat {}", outside.display()), wait]);
    let mut child = fixture.start(&[]);
    crate::fixture::wait("the second command runs", || {
        let log = fixture.file(&format!(
            "instances/{}/s1-a1/trajectory.jsonl",
            fixture.id(0)
        ));
        fs::read_to_string(log).is_ok_and(|text| text.matches("\"tool_started\"").count() == 2)
    });
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    fixture.place.write("outside", "two\n");
    fixture.script(&["echo never", "echo good > value.txt"]);
    let said = fixture.run(&["--resume=replay"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let warned = fixture.events().iter().any(|event| {
        matches!(event, RunEvent::Warning { message } if message.contains("one") && message.contains("two"))
    });
    assert!(warned, "{:?}", fixture.events());
    assert!(fixture.predictions()[0].model_patch.contains("+good"));
    fixture.assert_clean();
}

#[test]
fn copies_that_a_power_cut_tore_are_made_again() {
    let fixture = Fixture::new(2);
    fixture.script_of(0, &["echo good > value.txt"]);
    fixture.script_of(1, &["sleep 600 # until it is killed"]);
    let scripts = ["--model", "script:scripts"];
    let mut child = fixture.start(&scripts);
    fixture.wait_for("the first instance is done", |event| {
        matches!(event, RunEvent::AttemptFinished { .. })
    });
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    // What was not synced may be empty afterwards.
    let patch = fixture.file(&format!("patches/{}.patch", fixture.id(0)));
    let document = fixture.file(&format!("trajectories/{}.json", fixture.id(0)));
    let whole = (fs::read(&patch).unwrap(), fs::read(&document).unwrap());
    fs::write(&patch, "").unwrap();
    fs::write(&document, "{").unwrap();
    fixture.script_of(1, &["echo good > value.txt"]);
    let said = fixture.run(&[&scripts[..], &["--resume"]].concat());
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(
        (fs::read(&patch).unwrap(), fs::read(&document).unwrap()),
        whole
    );
    fixture.assert_clean();
}

#[test]
fn of_many_runners_that_begin_in_one_directory_one_runs_and_the_others_say_so() {
    for _ in 0..5 {
        let fixture = Fixture::new(1);
        fixture.script(&["echo good > value.txt"]);
        let runners: Vec<_> = (0..6).map(|_| fixture.start(&[])).collect();
        let mut codes: Vec<_> = runners
            .into_iter()
            .map(|mut runner| runner.wait().unwrap().code())
            .collect();
        codes.sort_unstable();
        let expected = [0, 2, 2, 2, 2, 2].map(Some);
        assert_eq!(codes, expected);
        assert_eq!(fixture.outcomes().len(), 1, "{:?}", fixture.events());
        assert_eq!(fixture.predictions().len(), 1);
        fixture.assert_clean();
    }
}
