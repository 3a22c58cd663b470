//! Logs of datasets whose harnesses put no marks into them, each judged by its own dataset's rules.

use serde_json::{Value, json};

use crate::command::Place;

/// Prints the verdict on a log for a row: whether it is resolved, and what people are told.
fn judge(row: &Value, log: &str, more: &[&str]) -> (bool, String) {
    let place = Place::new();
    place.write("log.txt", log);
    place.write("row.json", row.to_string());
    let always = [
        "grade",
        "--test-output",
        "log.txt",
        "--instance",
        "row.json",
    ];
    let human = place.run(&[&always, more].concat());
    assert_eq!(human.code, 0, "{}", human.all());
    let machine = place.run(&[&always, more, &["--format", "json"]].concat());
    let report: Value = serde_json::from_str(&machine.out).unwrap();
    let report = report.as_object().unwrap().values().next().unwrap();
    let resolved = report["resolved"].as_bool().unwrap();
    let told = if resolved { ": resolved" } else { ": " };
    assert!(human.out.contains(told), "{}", human.out);
    (resolved, human.out)
}

#[test]
fn r2e_gym() {
    let row = json!({
        "repo_name": "tiny", "docker_image": "tiny:1", "commit_hash": "0123456789",
        "parsed_commit_content": "{}",
        "expected_output_json": r#"{"T.a": "PASSED", "T.b": "FAILED"}"#,
    });
    let log = "noise\n=== short test summary info ===\nPASSED t.py::T::a\n";
    let (resolved, told) = judge(&row, &format!("{log}FAILED t.py::T::b - E\n"), &[]);
    assert!(resolved, "{told}");
    assert!(
        told.contains("by the rules of R2E-Gym, parser r2e_gym"),
        "{told}"
    );
    assert!(told.contains("whole: "), "{told}");
    let (resolved, told) = judge(&row, log, &[]);
    assert!(!resolved);
    assert!(
        told.contains("`T.b` must be FAILED, and is not in the log"),
        "{told}"
    );
}

#[test]
fn swe_bench_live() {
    let row = json!({
        "instance_id": "tiny__tiny-1", "repo": "tiny/tiny", "test_cmds": ["pytest -rA"],
        "log_parser": "pytest", "FAIL_TO_PASS": ["t.py::a"], "PASS_TO_PASS": ["t.py::b"],
    });
    let log = "PASSED t.py::a\n";
    assert!(judge(&row, log, &[]).0, "what is missing did not fail");
    assert!(!judge(&row, &format!("{log}FAILED t.py::b - E\n"), &[]).0);
    assert!(!judge(&row, "PASSED t.py::b\n", &[]).0);
}

#[test]
fn multi_swe_bench() {
    let row = json!({
        "org": "tokio-rs", "repo": "bytes", "number": 1, "resolved_issues": [{"title": "x"}],
        "f2p_tests": {"a": {"run": "PASS", "test": "FAIL", "fix": "PASS"}},
        "p2p_tests": {"b": {"run": "PASS", "test": "PASS", "fix": "PASS"}},
        "n2p_tests": {}, "s2p_tests": {},
        "run_result": {"passed_tests": ["a", "b", "c"], "failed_tests": [], "skipped_tests": []},
        "test_patch_result": {"passed_tests": ["b", "c"], "failed_tests": ["a"], "skipped_tests": []},
    });
    let log = "test a ... ok\ntest b ... ok\n";
    assert!(judge(&row, log, &[]).0);
    let (resolved, told) = judge(&row, &format!("{log}test c ... FAILED\n"), &[]);
    assert!(!resolved);
    assert!(
        told.contains("`c` passed without the patch, and fails with it"),
        "{told}"
    );
}

fn pro(fail_to_pass: &[&str]) -> Value {
    json!({
        "instance_id": "instance_tiny__tiny-0123456789abcdef0123456789abcdef01234567-vnan",
        "repo": "tiny/tiny", "requirements": "", "interface": "", "problem_statement": "x",
        // As its dataset has it: a list in Python's spelling.
        "fail_to_pass": format!("['{}']", fail_to_pass.join("', '")), "pass_to_pass": "[]",
    })
}

#[test]
fn swe_bench_pro() {
    let told =
        r#"{"tests": [{"name": "a", "status": "PASSED"}, {"name": "b", "status": "SKIPPED"}]}"#;
    assert!(
        judge(&pro(&["a"]), told, &[]).0,
        "its scripts are not needed"
    );
    assert!(!judge(&pro(&["a", "b"]), told, &[]).0);
    assert!(
        !judge(&pro(&["a "]), told, &[]).0,
        "names count to the byte"
    );
    let printed = "=== RUN   a\n--- PASS: a (0.00s)\n";
    let go = ["--log-parser", "swe_bench_pro_go"];
    assert!(judge(&pro(&["a"]), printed, &go).0);
}

/// Parsers that do not depend on a version need none.
#[test]
fn rows_of_versions_that_no_rules_know() {
    let log = ">>>>> Start Test Output\ntest_a (t.T) ... ok\n>>>>> End Test Output\n";
    for version in [Value::Null, json!("99.0")] {
        let row = json!({
            "instance_id": "django__django-1", "repo": "django/django", "version": version,
            "FAIL_TO_PASS": ["test_a (t.T)"], "PASS_TO_PASS": [],
        });
        let (resolved, told) = judge(&row, log, &[]);
        assert!(resolved && told.contains("parser django"), "{told}");
    }
}

/// A real log of Go's tests, and what Pro's own parser made of it, come to one verdict.
#[test]
fn a_real_log_of_pro_and_its_parsers_output() {
    let Some(directory) = testkit::conformance() else {
        return;
    };
    let read =
        |name: &str| std::fs::read_to_string(directory.join("eval-logs/pro").join(name)).unwrap();
    let (log, output) = (
        read("teleport-gotest-stdout.log"),
        read("teleport-gotest-output.json"),
    );
    let tests: Value = serde_json::from_str(&output).unwrap();
    let tests = tests["tests"].as_array().unwrap();
    let names: Vec<&str> = tests
        .iter()
        .map(|test| test["name"].as_str().unwrap())
        .collect();
    assert!(!names.is_empty());
    let absent = [&names[..], &["TestThatIsNotThere"]].concat();
    let go = ["--log-parser", "swe_bench_pro_go_json"];
    for (names, resolved) in [(&names[..], true), (&absent[..], false)] {
        assert_eq!(judge(&pro(names), &output, &[]).0, resolved);
        assert_eq!(judge(&pro(names), &log, &go).0, resolved);
    }
}
