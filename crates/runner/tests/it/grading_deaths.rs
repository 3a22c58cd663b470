//! Graders that are killed, and the runs of predictions that others take up after them.

use std::collections::HashSet;
use std::fs;

use rustix::process::Signal;
use schema::RunEvent;
use serde_json::{Value, json};

use crate::command::Place;
use crate::fixture::{Fixture, signal};

const INSTANCES: usize = 40;
const DEATHS: usize = 5;

const GRADE: [&str; 12] = [
    "grade",
    "preds.json",
    "--dataset",
    "rows.jsonl",
    "--scratch",
    "scratch",
    "--out",
    "run",
    "--sandbox",
    "local",
    "--grade-workers",
    "4",
];

/// One prediction for each instance: of every four one resolves it, one does not, one does not apply and one is empty.
fn predictions(fixture: &Fixture) -> Value {
    let change = |from: &str, to: &str| {
        format!(
            "diff --git a/value.txt b/value.txt\n--- a/value.txt\n+++ b/value.txt\n@@ -1 +1 @@\n-{from}\n+{to}\n"
        )
    };
    let kinds = [
        change("bad", "good"),
        change("bad", "other"),
        change("absent", "good"),
        String::new(),
    ];
    let one = |index: usize| json!({"instance_id": fixture.id(index), "model_name_or_path": "m", "model_patch": kinds[index % 4]});
    (0..INSTANCES).map(one).collect()
}

fn prepared() -> Fixture {
    let mut fixture = Fixture::shared(INSTANCES);
    for index in 0..INSTANCES {
        // Long enough for a death in the middle of it.
        fixture.change(
            index,
            "eval_script",
            json!("sleep 0.1; grep -q good value.txt && echo 'ok 1 value' || echo 'not ok 1 value'; echo 'ok 2 keep'\n"),
        );
    }
    let predictions = predictions(&fixture).to_string();
    fixture.place.write("preds.json", predictions);
    fixture
}

/// What a run says at its end, without times.
fn said_of(place: &Place) -> Vec<String> {
    let read = |name: &str| fs::read_to_string(place.path().join("run").join(name)).unwrap();
    let seconds = regex::Regex::new(r#""seconds": [0-9.e-]+"#).unwrap();
    let report = seconds.replace_all(&read("report.json"), "").into_owned();
    let table = read("results.csv");
    let mut lines = csv::Reader::from_reader(table.as_bytes());
    let timed: HashSet<usize> = lines
        .headers()
        .unwrap()
        .iter()
        .enumerate()
        .filter_map(|(column, name)| name.starts_with("seconds").then_some(column))
        .collect();
    let table: Vec<String> = lines
        .records()
        .map(|record| {
            let record = record.unwrap();
            let cells = record.iter().enumerate();
            let cells = cells.filter(|(column, _)| !timed.contains(column));
            cells.map(|(_, cell)| cell).collect::<Vec<_>>().join(",")
        })
        .collect();
    vec![
        report,
        table.join("\n"),
        read("m.run.json"),
        read("predictions.jsonl"),
        read("selection.json"),
    ]
}

fn finished(fixture: &Fixture) -> usize {
    let events = fixture.events();
    let ends = events
        .iter()
        .filter(|event| matches!(event, RunEvent::GradeFinished { .. }));
    ends.count()
}

#[test]
fn a_grading_run_that_is_killed_again_and_again_ends_like_an_undisturbed_one() {
    let undisturbed = prepared();
    let said = undisturbed.place.run(&GRADE);
    assert_eq!(said.code, 0, "{}", said.all());

    let disturbed = prepared();
    let mut random = fastrand::Rng::with_seed(5);
    let mut deaths = random.choose_multiple(1..INSTANCES - 8, DEATHS);
    deaths.sort_unstable();
    for at in deaths {
        let mut child = disturbed
            .place
            .command(&GRADE)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        crate::fixture::wait("some patches are graded", || finished(&disturbed) >= at);
        signal(&child, Signal::KILL);
        assert_eq!(child.wait().unwrap().code(), None, "it ended by itself");
    }
    assert!(finished(&disturbed) < INSTANCES);
    let said = disturbed.place.run(&GRADE);
    assert_eq!(said.code, 0, "{}", said.all());

    assert_eq!(said_of(&disturbed.place), said_of(&undisturbed.place));
    // A verdict that a dead grader wrote down was not given twice.
    assert_eq!(finished(&disturbed), INSTANCES);
    disturbed.assert_clean();
}
