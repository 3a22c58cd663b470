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
    let table = "instance_id,log_parser,FAIL_TO_PASS,PASS_TO_PASS\ntiny__tiny-2,tap,\"[\"\"x\"\"]\",[]\ntiny__tiny-1,tap,\"[\"\"value\"\", \"\"caf\u{e9}\"\"]\",\"['keep']\"\n";
    place.write("table.csv", table);
    let packed = zstd::encode_all(table.as_bytes(), 0).unwrap();
    place.write("table.csv.zst", packed);
    place.write("parts/data/test-00000-of-00002.jsonl", other.to_string());
    place.write("parts/data/test-00001-of-00002.jsonl", row().to_string());
    let expected = place.run(&with(&["--format", "json"])).out;
    for file in [
        "list.json",
        "lines.jsonl",
        "by_id.json",
        "table.csv",
        "table.csv.zst",
        "parts",
        "task",
    ] {
        for flag in ["--instance-id", "--ids"] {
            let judge = ["grade", "--test-output", "log.txt", "--instance", file];
            let chosen = [flag, "tiny__tiny-1", "--format", "json"];
            let said = place.run(&[&judge[..], &chosen].concat());
            assert_eq!(said.out, expected, "{file}: {}", said.err);
        }
    }
}

#[test]
fn the_logs_path_chooses_among_rows() {
    let place = place();
    let other = json!({"instance_id": "tiny__tiny-2", "FAIL_TO_PASS": ["x"], "log_parser": "tap"});
    place.write("rows.jsonl", format!("{other}\n{}\n", row()));
    place.write("logs/m/tiny__tiny-1/test_output.txt", LOG);
    place.write("tiny__tiny-1.gold.eval.log", LOG);
    let judge = |log| place.run(&["grade", "--test-output", log, "--instance", "rows.jsonl"]);
    for log in [
        "logs/m/tiny__tiny-1/test_output.txt",
        "tiny__tiny-1.gold.eval.log",
    ] {
        let said = judge(log);
        assert_eq!(said.code, 0, "{log}: {}", said.all());
        assert!(
            said.out.starts_with("tiny__tiny-1: "),
            "{log}: {}",
            said.out
        );
        assert!(said.err.contains("names the instance `tiny__tiny-1`"));
    }
    let said = judge("log.txt");
    assert_eq!(said.code, 2);
    let told = "`rows.jsonl` holds 2 rows, and the log's path names none of them";
    assert!(said.err.contains(told), "{}", said.err);
    assert!(said.err.contains("--instance-id"), "{}", said.err);
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
        ("[]".to_owned(), "row.json"),
        (json!([row(), row()]).to_string(), "tiny__tiny-1"),
        ("{\"instance_id\": ".to_owned(), "row.json"),
        ("3".to_owned(), "expected a JSON object or array"),
    ] {
        place.write("row.json", &content);
        let said = place.run(&JUDGE);
        assert_eq!(said.code, 2, "{content}: {}", said.all());
        assert!(said.err.contains(expected), "{content}: {}", said.err);
    }
    place.write("row.json", row().to_string());
    let said = place.run(&with(&["--instance-id", "tiny__tiny-9"]));
    assert!(said.err.contains("tiny__tiny-1"), "{}", said.err);
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
