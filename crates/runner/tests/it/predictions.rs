//! Predictions by others: sound ones in every shape, and all that can be wrong with them.

use std::fs;

use serde_json::{Value, json};

use crate::command::Said;
use crate::fixture::Fixture;

const GOOD: &str = "diff --git a/value.txt b/value.txt\n--- a/value.txt\n+++ b/value.txt\n@@ -1 +1 @@\n-bad\n+good\n";
const BINARY: &str = "diff --git a/x.png b/x.png\nindex 1111111..2222222 100644\nBinary files a/x.png and b/x.png differ\n";

fn prediction(fixture: &Fixture, index: usize, patch: &Value) -> Value {
    json!({"instance_id": fixture.id(index), "model_name_or_path": "org/m", "model_patch": patch})
}

fn grade(fixture: &Fixture, more: &[&str]) -> Said {
    let always = [
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
    ];
    fixture.place.run(&[&always, more].concat())
}

fn read(fixture: &Fixture, name: &str) -> Value {
    serde_json::from_slice(&fs::read(fixture.file(name)).unwrap()).unwrap()
}

/// Bucket of each instance, in order.
fn buckets(fixture: &Fixture) -> Vec<Option<String>> {
    let report = read(fixture, "report.json");
    let instances = report["instances"].as_array().unwrap().iter();
    instances
        .map(|one| one["bucket"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn every_odd_patch_is_named_and_ends_in_a_bucket() {
    let fixture = Fixture::new(10);
    let reversed = GOOD.replace("-bad\n+good", "-good\n+bad");
    let patches = [
        json!(GOOD),
        Value::Null,
        json!(""),
        json!(" \n"),
        json!(reversed),
        json!("no diff at all\n"),
        json!(GOOD.replace('\n', "\r\n")),
        json!(GOOD.trim_end()),
        json!(format!("{BINARY}{GOOD}")),
    ];
    let all: Vec<Value> = patches
        .iter()
        .enumerate()
        .map(|(index, patch)| prediction(&fixture, index, patch))
        .collect();
    fixture
        .place
        .write("preds.json", Value::from(all).to_string());
    let said = grade(&fixture, &["--grade-workers", "1"]);
    insta::assert_snapshot!(said.all());
    let expected = [
        Some("resolved"),
        Some("empty_patch"),
        Some("empty_patch"),
        Some("patch_rejected"),
        // Turned round, it is there already.
        Some("unresolved"),
        Some("patch_rejected"),
        Some("resolved"),
        Some("resolved"),
        Some("resolved"),
        None,
    ];
    let found = buckets(&fixture);
    let found: Vec<Option<&str>> = found.iter().map(Option::as_deref).collect();
    assert_eq!(found, expected);

    let summary = read(&fixture, "org__m.run.json");
    let ids = |indexes: &[usize]| -> Vec<String> {
        indexes.iter().map(|index| fixture.id(*index)).collect()
    };
    assert_eq!(summary["resolved_ids"], json!(ids(&[0, 6, 7, 8])));
    assert_eq!(summary["empty_patch_ids"], json!(ids(&[1, 2])));
    assert_eq!(summary["error_ids"], json!(ids(&[3, 5])));
    assert_eq!(summary["incomplete_ids"], json!(ids(&[9])));
    assert_eq!(summary["total_instances"], 10);
    assert_eq!(summary["submitted_instances"], 9);
    // As officially: only what was judged has a report.
    for (index, bucket) in expected.iter().enumerate() {
        let graded = format!("instances/{}/s1-a1/grade-1", fixture.id(index));
        let there = fixture.file(&graded).join("report.json").exists();
        let judged = matches!(bucket, Some("resolved" | "unresolved"));
        assert_eq!(there, judged, "{bucket:?}");
    }
    fixture.assert_clean();
}

#[test]
fn reports_add_up_and_can_be_written_anew() {
    let fixture = Fixture::new(3);
    let half = GOOD.replace("+good", "+other");
    let all: Vec<Value> = [json!(GOOD), json!(half)]
        .iter()
        .enumerate()
        .map(|(index, patch)| prediction(&fixture, index, patch))
        .collect();
    fixture
        .place
        .write("preds.json", Value::from(all).to_string());
    let said = grade(&fixture, &["--format", "json"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let grading = &serde_json::from_str::<Value>(&said.out).unwrap()["grading"];
    let counted: u64 = grading["buckets"]
        .as_object()
        .unwrap()
        .values()
        .map(|count| count.as_u64().unwrap())
        .sum();
    assert_eq!(counted + grading["incomplete"].as_u64().unwrap(), 3);
    assert_eq!(grading["resolved_of_submitted"]["of"], 2);
    assert_eq!(grading["resolved_of_all"]["of"], 3);

    let names = ["report.json", "report.md", "results.csv", "org__m.run.json"];
    let before: Vec<String> = names
        .iter()
        .map(|name| fs::read_to_string(fixture.file(name)).unwrap())
        .collect();
    for name in names {
        fs::remove_file(fixture.file(name)).unwrap();
    }
    let said = fixture.place.run(&["report", "run"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let seconds = regex::Regex::new(r#""seconds": [0-9.]+,\n  "exit_code""#).unwrap();
    for (name, before) in names.iter().zip(before) {
        let after = fs::read_to_string(fixture.file(name)).unwrap();
        let same = |text: &str| seconds.replace(text, "").into_owned();
        assert_eq!(same(&after), same(&before), "{name}");
    }
    let none = fixture.place.run(&["report", "nowhere"]);
    insta::assert_snapshot!(none.all());
}

#[test]
fn a_changed_patch_is_graded_anew_in_the_same_run() {
    let fixture = Fixture::new(2);
    let submit = |first: &str| {
        let all = json!([
            prediction(&fixture, 0, &json!(first)),
            prediction(&fixture, 1, &json!(GOOD)),
        ]);
        fixture.place.write("preds.json", all.to_string());
        let said = grade(&fixture, &[]);
        assert_eq!(said.code, 0, "{}", said.all());
        said
    };
    let bad = GOOD.replace("+good", "+other");
    submit(&bad);
    let resolved = Some("resolved".to_owned());
    assert_eq!(
        buckets(&fixture),
        [Some("unresolved".to_owned()), resolved.clone()]
    );

    let said = submit(GOOD);
    assert_eq!(buckets(&fixture), [resolved.clone(), resolved]);
    assert!(
        said.err
            .contains(&format!("another patch of `{}`", fixture.id(0))),
        "{}",
        said.err
    );
    let graded = |index: usize, attempt: u32| {
        let path = format!(
            "instances/{}/s1-a{attempt}/grade-1/verdict.json",
            fixture.id(index)
        );
        let text = fs::read(fixture.file(&path)).ok()?;
        let verdict: Value = serde_json::from_slice(&text).unwrap();
        verdict["resolved"].as_bool()
    };
    assert_eq!(
        [graded(0, 1), graded(0, 2), graded(1, 1), graded(1, 2)],
        [Some(false), Some(true), Some(true), None],
        "the first verdict stays, and what did not change is not graded again"
    );
    let lines = fs::read_to_string(fixture.file("predictions.jsonl")).unwrap();
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["model_patch"], GOOD);
    let summary = read(&fixture, "org__m.run.json");
    assert_eq!(summary["resolved_instances"], 2);

    let said = submit(GOOD);
    assert!(!said.err.contains("another patch"), "{}", said.err);
    assert_eq!(graded(0, 3), None);
}

#[test]
fn rows_that_cannot_be_graded_end_in_a_bucket_that_names_what_they_lack() {
    let mut fixture = Fixture::new(3);
    fixture.change(1, "log_parser", json!("no_such_parser"));
    fixture.change(2, "FAIL_TO_PASS", json!([]));
    fixture.change(2, "PASS_TO_PASS", json!([]));
    let all: Vec<Value> = (0..3)
        .map(|index| prediction(&fixture, index, &json!(GOOD)))
        .collect();
    fixture
        .place
        .write("preds.json", Value::from(all).to_string());
    let said = grade(&fixture, &[]);
    // More failures of the infrastructure than are allowed.
    assert_eq!(said.code, 3, "{}", said.all());
    let warning = format!(
        "2 of 3 selected rows cannot be graded, the first is `{}`",
        fixture.id(1)
    );
    assert!(said.err.contains(&warning), "{}", said.err);
    let report = read(&fixture, "report.json");
    let told = |index: usize, field: &str| {
        report["instances"][index][field]
            .as_str()
            .unwrap_or_default()
    };
    assert_eq!(told(0, "bucket"), "resolved");
    for (index, missing) in [(1, "no_such_parser"), (2, "the row has no FAIL_TO_PASS")] {
        assert_eq!(told(index, "bucket"), "infra_failure");
        assert!(told(index, "reason").contains(missing), "{report}");
    }
    let tried = fixture
        .events()
        .into_iter()
        .filter(|event| matches!(event, schema::RunEvent::GradeFailed { .. }));
    assert_eq!(tried.count(), 2, "trying again brings nothing");
    let summary = read(&fixture, "org__m.run.json");
    assert_eq!(summary["error_ids"], json!([fixture.id(1), fixture.id(2)]));
}

#[test]
fn the_same_is_so_when_an_agent_solves_them() {
    let mut fixture = Fixture::new(2);
    fixture.change(1, "log_parser", json!("no_such_parser"));
    fixture.script(&["echo good > value.txt"]);
    let said = fixture.run(&["--grade"]);
    assert_eq!(said.code, 3, "{}", said.all());
    let expected = ["resolved", "infra_failure"].map(|bucket| Some(bucket.to_owned()));
    assert_eq!(buckets(&fixture), expected);
}

/// Counts are of what the report lists, be it selected or only in the journals.
#[test]
fn what_was_done_outside_of_the_selection_is_counted_too() {
    let fixture = Fixture::new(3);
    let all = json!([prediction(&fixture, 0, &json!(GOOD))]);
    fixture.place.write("preds.json", all.to_string());
    assert_eq!(grade(&fixture, &[]).code, 0);
    let mut selection = read(&fixture, "selection.json");
    selection.as_object_mut().unwrap().remove(&fixture.id(0));
    fs::write(fixture.file("selection.json"), selection.to_string()).unwrap();
    let said = fixture.place.run(&["report", "run"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let report = read(&fixture, "report.json");
    assert_eq!(report["instances"].as_array().unwrap().len(), 3);
    assert_eq!(report["grading"]["incomplete"], 2);
    assert_eq!(report["grading"]["resolved_of_all"]["of"], 3);
}

#[test]
fn predictions_for_unknown_instances_are_an_error_unless_others_are_selected() {
    let fixture = Fixture::new(2);
    let mut all = vec![prediction(&fixture, 0, &json!(GOOD))];
    all.push(json!({"instance_id": "tiny__tiny-0011", "model_name_or_path": "org/m", "model_patch": GOOD}));
    fixture
        .place
        .write("preds.json", Value::from(all).to_string());
    let said = grade(&fixture, &[]);
    insta::assert_snapshot!(said.all());
    assert!(!fixture.file("run.json").exists());
    let said = grade(&fixture, &["--ids", &fixture.id(0)]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(buckets(&fixture), [Some("resolved".to_owned())]);
}

/// A directory with all programs of this machine but one.
fn programs_without(fixture: &Fixture, left_out: &str) -> std::path::PathBuf {
    let directory = fixture.place.path().join("programs");
    fs::create_dir(&directory).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let entries = std::env::split_paths(&path).filter_map(|path| fs::read_dir(path).ok());
    for entry in entries.flatten() {
        let program = entry.unwrap();
        if program.file_name() != left_out {
            // The first of a name counts.
            let _ = std::os::unix::fs::symlink(program.path(), directory.join(program.file_name()));
        }
    }
    directory
}

#[test]
fn a_patch_that_could_not_be_tried_is_not_rejected() {
    let fixture = Fixture::new(1);
    // Its last line of context is nowhere: only the program `patch` can put it on.
    let near = GOOD.replace("@@ -1 +1 @@", "@@ -1,2 +1,2 @@") + " elsewhere\n";
    let all = json!([prediction(&fixture, 0, &json!(near))]);
    fixture.place.write("preds.json", all.to_string());
    let with_programs = |out: &str, path: &std::ffi::OsStr| {
        let arguments = [
            "grade",
            "preds.json",
            "--dataset",
            "rows.jsonl",
            "--scratch",
            "scratch",
            "--sandbox",
            "local",
            "--out",
            out,
        ];
        let mut command = fixture.place.command(&arguments);
        let output = command.env("PATH", path).output().unwrap();
        let report = fixture.place.path().join(out).join("report.json");
        let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
        (report["instances"][0].clone(), output)
    };
    let path = std::env::var_os("PATH").unwrap();
    assert_eq!(with_programs("with", &path).0["bucket"], "resolved");
    let without = programs_without(&fixture, "patch");
    let (instance, output) = with_programs("without", without.as_os_str());
    assert_eq!(instance["bucket"], "infra_failure", "{output:?}");
    let reason = instance["reason"].as_str().unwrap();
    assert!(reason.contains("the program `patch`"), "{reason}");
}

#[test]
fn several_predictions_for_one_instance() {
    let fixture = Fixture::new(1);
    let all = vec![
        prediction(&fixture, 0, &json!("")),
        prediction(&fixture, 0, &json!(GOOD)),
    ];
    fixture
        .place
        .write("preds.json", Value::from(all).to_string());
    let said = grade(&fixture, &[]);
    insta::assert_snapshot!(said.all());
    let said = grade(&fixture, &["--duplicates", "last"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.err.contains("several predictions"), "{}", said.err);
    assert_eq!(buckets(&fixture), [Some("resolved".to_owned())]);
}

#[test]
fn files_that_hold_no_predictions_say_what_they_hold() {
    let fixture = Fixture::new(1);
    for (content, expected) in [
        (
            r#"{"total_instances": 1, "resolved_ids": []}"#,
            "it is a summary of a run",
        ),
        (
            r#"{"instance_id": "a", "patch": "x", "problem_statement": "y"}"#,
            "it is a row of a dataset",
        ),
        (
            r#"[{"instance_id": "a", "model_patch": 3}]"#,
            "`model_patch` is a number",
        ),
        ("[]", "there are no predictions"),
        ("[{\"instance_id\": \"a\",\n", "line 2: EOF"),
        (
            "{\"instance_id\": \"a\", \"model_patch\": \"\\ud800\"}",
            "line 1: ",
        ),
        (
            "{\"instance_id\": \"a\", \"model_patch\": \"\"}\n{\"instance_id\": \"b\"}\n",
            "line 2: it has no `model_patch`",
        ),
    ] {
        fixture.place.write("preds.json", content);
        let said = grade(&fixture, &[]);
        assert_eq!(said.code, 2, "{content}");
        assert!(said.err.contains(expected), "{content}: {}", said.err);
        assert!(said.err.contains("hint:"), "{}", said.err);
    }
}

#[test]
fn the_known_patches_are_graded_by_their_own_name() {
    let mut fixture = Fixture::new(1);
    fixture.change(0, "patch", json!(GOOD));
    let said = fixture.place.run(&[
        "grade",
        "gold",
        "--dataset",
        "rows.jsonl",
        "--scratch",
        "scratch",
        "--sandbox",
        "local",
        "--out",
        "run",
    ]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(read(&fixture, "gold.run.json")["resolved_instances"], 1);
}

#[test]
fn a_verdict_is_known_by_what_it_depends_on_not_by_its_run() {
    let Some(image) = testkit::docker_image("base") else {
        return;
    };
    let mut fixture = Fixture::new(1);
    fixture.change(0, "image", json!(image));
    fixture.change(0, "workdir", json!("/home/tiny"));
    let grade_as = |fixture: &Fixture, out: &str, patch: &str, more: &[&str]| {
        let all = json!([prediction(fixture, 0, &json!(patch))]);
        fixture.place.write("preds.json", all.to_string());
        let always = [
            "grade",
            "preds.json",
            "--dataset",
            "rows.jsonl",
            "--sandbox",
            "docker",
            "--format",
            "json",
            "--out",
            out,
        ];
        let said = fixture.place.run(&[&always, more].concat());
        assert_eq!(said.code, 0, "{}", said.all());
        let mut grading = serde_json::from_str::<Value>(&said.out).unwrap()["grading"].take();
        (
            grading["buckets"]["resolved"].take(),
            grading["cached"].take(),
        )
    };
    let other = GOOD.replace("+good", "+very good");
    assert_eq!(grade_as(&fixture, "one", GOOD, &[]), (json!(1), json!(0)));
    assert_eq!(grade_as(&fixture, "two", GOOD, &[]), (json!(1), json!(1)));
    assert_eq!(
        grade_as(&fixture, "three", &other, &[]),
        (json!(1), json!(0))
    );
    assert_eq!(
        grade_as(&fixture, "four", GOOD, &["--harness", "4"]),
        (json!(1), json!(0))
    );
    assert_eq!(
        grade_as(&fixture, "five", GOOD, &["--no-grade-cache"]),
        (json!(1), json!(0))
    );
    let script = "grep -q good value.txt && echo 'ok 1 value'\necho 'ok 2 keep'\n";
    fixture.change(0, "eval_script", json!(script));
    assert_eq!(grade_as(&fixture, "six", GOOD, &[]), (json!(1), json!(0)));
    fixture.change(0, "PASS_TO_PASS", json!(["keep", "absent"]));
    assert_eq!(grade_as(&fixture, "seven", GOOD, &[]), (json!(0), json!(0)));
    // What a hit leaves is whole: the log and both reports.
    let graded = fixture
        .place
        .path()
        .join(format!("two/instances/{}/s1-a1/grade-1", fixture.id(0)));
    let log = fs::read_to_string(graded.join("test_output.txt")).unwrap();
    assert!(log.contains("ok 1 value"), "{log}");
    let verdict: Value =
        serde_json::from_slice(&fs::read(graded.join("verdict.json")).unwrap()).unwrap();
    assert_eq!(verdict["cached"], true);
    assert!(graded.join("report.json").exists());
}
