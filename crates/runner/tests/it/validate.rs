//! Datasets validated by their known patches and their unchanged trees, and the quarantine that comes of it.

use std::fs;

use rustix::process::Signal;
use schema::RunEvent;
use schema::quarantine::Quarantine;
use schema::validation::{Reason, Validation};
use serde_json::{Value, json};

use crate::command::Said;
use crate::fixture::{Fixture, signal, wait};

fn change(to: &str) -> String {
    format!(
        "diff --git a/value.txt b/value.txt\n--- a/value.txt\n+++ b/value.txt\n@@ -1 +1 @@\n-bad\n+{to}\n"
    )
}

/// An evaluation script whose test `value` passes where this command succeeds.
fn script(command: &str) -> Value {
    json!(format!(
        "if {command}; then echo 'ok 1 value'; else echo 'not ok 1 value'; fi; echo 'ok 2 keep'\n"
    ))
}

/// Instances whose known patch mends the value.
fn sound(count: usize) -> Fixture {
    let mut fixture = Fixture::new(count);
    for index in 0..count {
        fixture.change(index, "patch", json!(change("good")));
    }
    fixture
}

const VALIDATE: [&str; 8] = [
    "validate",
    "rows.jsonl",
    "--scratch",
    "scratch",
    "--sandbox",
    "local",
    "--out",
    "run",
];

fn validate(fixture: &Fixture, more: &[&str]) -> Said {
    fixture.place.run(&[&VALIDATE, more].concat())
}

fn validation(fixture: &Fixture) -> Validation {
    serde_json::from_slice(&fs::read(fixture.file("validation.json")).unwrap()).unwrap()
}

#[test]
fn each_way_not_to_be_valid_is_told_with_what_shows_it() {
    let mut fixture = sound(8);
    fixture.change(1, "patch", json!(change("other")));
    fixture.change(2, "eval_script", script("true"));
    // The second time that the value is good under a profile, it does not count.
    let before = fixture.place.path().join("before");
    let once = format!(
        "grep -q good value.txt && [ ! -e {0}$PYTHONHASHSEED ] && touch {0}$PYTHONHASHSEED",
        before.display()
    );
    fixture.change(3, "eval_script", script(&once));
    fixture.change(
        4,
        "eval_script",
        script("grep -q good value.txt && [ \"$PYTHONHASHSEED\" = 0 ]"),
    );
    fixture.change(5, "patch", json!(change("good").replace("-bad", "-absent")));
    fixture.change(6, "patch", Value::Null);
    fixture.change(
        7,
        "test_patch",
        json!(change("x").replace("value.txt", "absent.txt")),
    );
    let said = validate(
        &fixture,
        &[
            "--profiles",
            "sealed,official",
            "--times",
            "2",
            "--quarantine",
            "bad.toml",
        ],
    );
    assert_eq!(said.code, 3, "{}", said.all());
    insta::assert_snapshot!(said.out);

    let found = validation(&fixture);
    let reasons: Vec<Option<Reason>> = found
        .instances
        .iter()
        .map(|one| one.findings.first().map(|finding| finding.reason))
        .collect();
    assert_eq!(
        reasons,
        [
            None,
            Some(Reason::NeverResolves),
            Some(Reason::ResolvesEmpty),
            Some(Reason::Flakes),
            Some(Reason::NeverResolves),
            Some(Reason::PatchRejected),
            Some(Reason::NoKnownPatch),
            Some(Reason::Ungradable),
        ]
    );
    let differing = &found.instances[4].findings[1];
    assert_eq!(differing.reason, Reason::DiffersBetweenProfiles);
    assert_eq!(differing.tests, ["value"]);

    let text = fs::read_to_string(fixture.place.path().join("bad.toml")).unwrap();
    let quarantine: Quarantine = toml::from_str(&text).unwrap();
    let ids: Vec<String> = quarantine
        .instances
        .iter()
        .map(|one| one.id.to_string())
        .collect();
    let expected: Vec<String> = (1..8).map(|index| fixture.id(index)).collect();
    assert_eq!(ids, expected);
    fixture.assert_clean();
}

#[test]
fn a_sound_dataset_is_validated_and_more_repetitions_add_to_the_same_run() {
    let fixture = sound(2);
    let said = validate(&fixture, &[]);
    assert_eq!(said.code, 0, "{}", said.all());
    let finished = || {
        let events = fixture.events();
        let ends = events
            .iter()
            .filter(|event| matches!(event, RunEvent::GradeFinished { .. }));
        ends.count()
    };
    assert_eq!(finished(), 4);
    let said = validate(&fixture, &["--times", "3", "--format", "json"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(finished(), 12);
    let told: Validation = serde_json::from_str(&said.out).unwrap();
    assert_eq!((told.validated, told.times), (2, 3));
    assert_eq!(told, validation(&fixture));

    let said = validate(&fixture, &["--profiles", "official"]);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(
        said.err.contains("was made with --profiles auto"),
        "{}",
        said.err
    );
}

#[test]
fn a_validation_whose_runner_is_killed_goes_on() {
    let fixture = sound(6);
    let mut child = fixture.place.command(&VALIDATE).spawn().unwrap();
    wait("something is graded", || {
        let events = fixture.events();
        events
            .iter()
            .any(|event| matches!(event, RunEvent::GradeFinished { .. }))
    });
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    let said = validate(&fixture, &[]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(validation(&fixture).validated, 6);
    fixture.assert_clean();
}

#[test]
fn reports_give_the_score_with_and_without_the_quarantine() {
    let fixture = sound(3);
    fixture.place.write(
        "bad.toml",
        format!(
            "[[instance]]\nid = '{}'\nreason = 'flakes'\n\n[[instance]]\nid = 'gone-1'\n",
            fixture.id(2)
        ),
    );
    let prediction = |index: usize, to: &str| json!({"instance_id": fixture.id(index), "model_name_or_path": "m", "model_patch": change(to)});
    let all = json!([
        prediction(0, "good"),
        prediction(1, "other"),
        prediction(2, "other")
    ]);
    fixture.place.write("preds.json", all.to_string());
    let grade = [
        "grade",
        "preds.json",
        "--dataset",
        "rows.jsonl",
        "--scratch",
        "scratch",
        "--sandbox",
        "local",
        "--out",
        "run",
        "--quarantine",
        "bad.toml",
    ];
    let said = fixture.place.run(&grade);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(
        said.err
            .contains("names `gone-1`, which the dataset has not got"),
        "{}",
        said.err
    );
    assert!(
        said.out.contains("resolved 1 of 3")
            && said
                .out
                .contains("without 1 in quarantine: resolved 1 of 2"),
        "{}",
        said.out
    );
    let report = || -> Value {
        serde_json::from_slice(&fs::read(fixture.file("report.json")).unwrap()).unwrap()
    };
    let left = report()["grading"]["without_quarantined"].clone();
    assert_eq!(left["quarantined"], 1);
    assert_eq!(left["resolved_of_submitted"]["of"], 2);
    // It is graded all the same, and marked.
    assert_eq!(report()["instances"][2]["bucket"], "unresolved");
    assert_eq!(report()["instances"][2]["quarantined"], "flakes");
    let markdown = fs::read_to_string(fixture.file("report.md")).unwrap();
    assert!(
        markdown.contains("without 1 in quarantine | 1 | 2 |"),
        "{markdown}"
    );

    // The run keeps it; another one takes its place.
    let said = fixture.place.run(&["report", "run"]);
    assert!(said.out.contains("without 1 in quarantine"), "{}", said.out);
    fixture.place.write("none.toml", "");
    let said = fixture
        .place
        .run(&["report", "run", "--quarantine", "none.toml"]);
    assert!(
        said.out
            .contains("without 0 in quarantine: resolved 1 of 3"),
        "{}",
        said.out
    );
    let said = fixture
        .place
        .run(&["report", "run", "--quarantine", "rows.jsonl"]);
    assert_eq!(said.code, 2, "{}", said.all());
}

#[test]
fn a_run_that_grades_as_it_solves_is_counted_without_the_quarantine_too() {
    let fixture = Fixture::new(2);
    fixture.script_of(0, &["echo good > value.txt"]);
    fixture.script_of(1, &["echo other > value.txt"]);
    let entry = format!("[[instance]]\nid = '{}'\n", fixture.id(1));
    fixture.place.write("bad.toml", entry);
    let said = fixture.run(&[
        "--model",
        "script:scripts",
        "--grade",
        "--quarantine",
        "bad.toml",
    ]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(
        said.out.contains("resolved 1 of 2")
            && said
                .out
                .contains("without 1 in quarantine: resolved 1 of 1"),
        "{}",
        said.out
    );
    let said = fixture.run(&["--resume", "--quarantine", "absent.toml"]);
    assert_eq!(said.code, 2, "{}", said.all());
}
