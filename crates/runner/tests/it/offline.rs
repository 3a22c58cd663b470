//! Logs that others' runs left, judged without a sandbox.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::command::Place;

const LOG: &str =
    ">>>>> Start Test Output\nok 1 value\nnot ok 2 keep\nok 3 caf\u{e9}\n>>>>> End Test Output\n";

fn row() -> Value {
    json!({
        "instance_id": "tiny__tiny-1", "repo": "tiny/tiny", "log_parser": "parse_log_tap",
        "FAIL_TO_PASS": "[\"value\", \"caf\u{e9}\"]", "PASS_TO_PASS": ["keep"], "eval_type": "pass_and_fail",
    })
}

fn place() -> Place {
    let place = Place::new();
    place.write("log.txt", LOG);
    place.write("row.json", row().to_string());
    place
}

const JUDGE: [&str; 5] = [
    "grade",
    "--test-output",
    "log.txt",
    "--instance",
    "row.json",
];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&JUDGE, more].concat()
}

#[test]
fn the_official_object_is_printed_to_the_byte() {
    let place = place();
    let five = place.run(&with(&["--format", "json"]));
    assert_eq!((five.code, five.err.as_str()), (0, ""));
    insta::assert_snapshot!(five.out);
    let four = place.run(&with(&["--format", "json", "--harness", "4"]));
    assert!(!four.out.contains("infra_failure"), "{}", four.out);
    let none = place.run(&with(&["--format", "json", "--patch", "none"]));
    let none: Value = serde_json::from_str(&none.out).unwrap();
    assert_eq!(none["tiny__tiny-1"]["patch_is_None"], true);
    assert_eq!(none["tiny__tiny-1"]["patch_successfully_applied"], false);
    let human = place.run(&JUDGE);
    insta::assert_snapshot!(human.all());
}

#[test]
fn the_row_is_found_in_every_kind_of_file() {
    let place = place();
    let other = json!({"instance_id": "tiny__tiny-2", "FAIL_TO_PASS": ["x"], "log_parser": "tap"});
    let by_id = json!({"tiny__tiny-1": row(), "tiny__tiny-2": other});
    place.write("list.json", json!([other, row()]).to_string());
    place.write("lines.jsonl", format!("{other}\n{}\n", row()));
    place.write("by_id.json", by_id.to_string());
    place.write(
        "task/task.yaml",
        "instance_id: tiny__tiny-1\nrepo: tiny/tiny\nversion: '1.10'\nlog_parser: parse_log_tap\neval_type: pass_and_fail\n",
    );
    place.write(
        "task/tests.json",
        json!({"FAIL_TO_PASS": ["value", "caf\u{e9}"], "PASS_TO_PASS": ["keep"]}).to_string(),
    );
    let expected = place.run(&with(&["--format", "json"])).out;
    for file in ["list.json", "lines.jsonl", "by_id.json", "task"] {
        let said = place.run(&[
            "grade",
            "--test-output",
            "log.txt",
            "--instance",
            file,
            "--instance-id",
            "tiny__tiny-1",
            "--format",
            "json",
        ]);
        assert_eq!(said.out, expected, "{file}: {}", said.err);
    }
}

#[test]
fn the_log_may_come_through_a_pipe() {
    let place = place();
    let mut command = place.command(&[
        "grade",
        "--test-output",
        "-",
        "--instance",
        "row.json",
        "--format",
        "json",
    ]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(LOG.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let expected = place.run(&with(&["--format", "json"])).out;
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

#[test]
fn what_is_wrong_is_named() {
    let place = place();
    let mut unknown = row();
    unknown["log_parser"] = json!("parse_log_tab");
    let mut without = row();
    without["FAIL_TO_PASS"] = json!([]);
    without["PASS_TO_PASS"] = json!([]);
    let mut broken = row();
    broken["FAIL_TO_PASS"] = json!("[\"value\"");
    let mut unruled = row();
    unruled.as_object_mut().unwrap().remove("log_parser");
    for (content, expected) in [
        (unknown.to_string(), "parse_log_tab"),
        (without.to_string(), "FAIL_TO_PASS"),
        (broken.to_string(), "FAIL_TO_PASS"),
        (unruled.to_string(), "log_parser"),
        ("[]".to_owned(), "there is no row"),
        (json!([row(), row()]).to_string(), "holds 2 rows"),
        ("{\"instance_id\": ".to_owned(), "line 1: EOF"),
        ("3".to_owned(), "it holds no row"),
    ] {
        place.write("row.json", &content);
        let said = place.run(&JUDGE);
        assert_eq!(said.code, 2, "{content}: {}", said.all());
        assert!(said.err.contains(expected), "{content}: {}", said.err);
    }
    place.write("row.json", row().to_string());
    let said = place.run(&with(&["--instance-id", "tiny__tiny-9"]));
    assert!(
        said.err.contains("nearest of its 1 rows is `tiny__tiny-1`"),
        "{}",
        said.err
    );
    let said = place.run(&[
        "grade",
        "--test-output",
        "none.txt",
        "--instance",
        "row.json",
    ]);
    assert!(
        said.err.contains("could not read the log `none.txt`"),
        "{}",
        said.err
    );
    let said = place.run(&["grade", "--test-output", "log.txt"]);
    assert!(said.err.contains("--instance"), "{}", said.err);
}

/// Real logs of the official harness, where they lie beside the checkout: what it made of them is printed.
#[test]
fn real_logs_get_their_official_reports() {
    let Some(directory) = testkit::conformance() else {
        return;
    };
    let pairs = testkit::pairs(&directory);
    assert!(!pairs.is_empty());
    for pair in pairs {
        let place = Place::new();
        let tests = &pair.report["tests_status"];
        let expected = |list: &str| {
            let names = |kind: &str| tests[list][kind].as_array().unwrap().clone();
            Value::from([names("success"), names("failure")].concat())
        };
        let row = json!({
            "instance_id": pair.name,
            "FAIL_TO_PASS": expected("FAIL_TO_PASS"),
            "PASS_TO_PASS": expected("PASS_TO_PASS"),
        });
        place.write("row.json", row.to_string());
        for harness in ["4", "5"] {
            let said = place.run(&[
                "grade",
                "--test-output",
                pair.log.to_str().unwrap(),
                "--instance",
                "row.json",
                "--log-parser",
                &pair.parser,
                "--harness",
                harness,
                "--format",
                "json",
            ]);
            assert_eq!(said.code, 0, "{}: {}", pair.name, said.all());
            let report: Value = serde_json::from_str(&said.out).unwrap();
            let report = &report[&pair.name];
            for list in ["FAIL_TO_PASS", "PASS_TO_PASS"] {
                let ours = &report["tests_status"][list];
                assert_eq!(*ours, tests[list], "{} {harness}", pair.name);
            }
            assert_eq!(report["resolved"], pair.report["resolved"], "{}", pair.name);
        }
    }
}
