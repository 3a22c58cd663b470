//! A script is wrapped, really run by bash, and judged.

use std::process::{Command, Stdio};

use grade::{Evidence, bucket, log, verdict, wrap};
use schema::grading::{EvalType, GradingSpec, PatchApplication, Verdict};

const NONCE: &str = "n0nce";

fn spec(script: &str) -> GradingSpec {
    GradingSpec {
        eval_script: script.to_owned(),
        log_parser: "parse_log_pytest".to_owned(),
        test_patch: None,
        fail_to_pass: vec!["t.py::turns".to_owned()],
        pass_to_pass: vec!["t.py::stays".to_owned()],
        eval_type: EvalType::PassAndFail,
        timeout_seconds: None,
        ..GradingSpec::default()
    }
}

/// Runs a script as the runner does: from a pipe, its exit code seen from outside.
fn run(script: &str) -> (Vec<u8>, Option<i32>) {
    use std::io::Write;
    let mut child = Command::new("bash")
        .arg("-s")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(script.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    (output.stdout, output.status.code())
}

fn judge(spec: &GradingSpec) -> Verdict {
    let (output, exit_code) = run(&wrap(spec, NONCE));
    let parts = log::read(&output, NONCE);
    let evidence = Evidence {
        application: PatchApplication::Applied,
        log: Some(&parts),
        timed_out: false,
        exit_code,
    };
    verdict(spec, &evidence).unwrap()
}

#[test]
fn a_script_of_ones_own_is_marked_as_a_whole() {
    let verdict = judge(&spec(
        "echo 'PASSED t.py::turns'\necho 'PASSED t.py::stays' >&2\nexit 0",
    ));
    assert!(verdict.resolved, "{verdict:?}");
    assert!(verdict.log_readable);
    assert_eq!(verdict.exit_code, Some(0));
}

#[test]
fn a_failed_test_leaves_the_issue_unresolved() {
    let verdict = judge(&spec(
        "echo 'PASSED t.py::turns'; echo 'FAILED t.py::stays - assert 1 == 2'; exit 1",
    ));
    assert!(!verdict.resolved && verdict.log_readable);
    assert_eq!(verdict.pass_to_pass.failure, ["t.py::stays"]);
    assert_eq!(verdict.fail_to_pass.success, ["t.py::turns"]);
}

#[test]
fn marks_of_the_official_harness_stay_where_they_are() {
    let verdict = judge(&spec(
        "set -uxo pipefail\necho 'FAILED t.py::turns'\n: '>>>>> Start Test Output'\n\
         echo 'PASSED t.py::turns'; echo 'PASSED t.py::stays'\ntest_code=$?\n: '>>>>> End Test Output'\n\
         echo \">>>>> Test Exit Code: $test_code\"\nfalse",
    ));
    assert!(verdict.resolved, "{verdict:?}");
    assert_eq!(verdict.exit_code, Some(0));
}

#[test]
fn a_script_that_ends_before_its_tests_is_not_readable() {
    let verdict = judge(&spec(
        "echo 'PASSED t.py::turns'; echo 'PASSED t.py::stays'; exit 3\n: '>>>>> Start Test Output'\n: '>>>>> End Test Output'",
    ));
    assert!(!verdict.resolved && !verdict.log_readable);
    assert!(verdict.note.is_some());
}

#[test]
fn forged_marks_do_not_help() {
    for forged in [
        ">>>>> End Test Output",
        ">>>>> End Test Output other",
        ">>>>> Script Exit Code other: 0",
    ] {
        let script = format!(
            "echo 'PASSED t.py::turns'; echo 'PASSED t.py::stays'; echo '{forged}'; echo 'FAILED t.py::turns'; exit 1"
        );
        let verdict = judge(&spec(&script));
        assert!(!verdict.resolved, "{forged}: {verdict:?}");
    }
}

#[test]
fn a_nonce_that_leaks_does_not_help_either() {
    let verdict = judge(&spec(&format!(
        "echo 'PASSED t.py::turns'; echo 'PASSED t.py::stays'; echo '>>>>> End Test Output {NONCE}'; echo 'FAILED t.py::turns'"
    )));
    assert!(!verdict.resolved, "{verdict:?}");
    assert!(verdict.tamper_reason.is_some());
}

#[test]
fn passes_without_any_failure_and_a_bad_exit_code_are_not_believed() {
    let verdict = judge(&spec(
        "echo 'PASSED t.py::turns'; echo 'PASSED t.py::stays'; exit 1",
    ));
    assert!(!verdict.resolved && !verdict.official_resolved);
    assert!(verdict.note.unwrap().contains("exit code 1"));
}

#[test]
fn a_pass_printed_after_a_failure_is_not_believed() {
    let verdict = judge(&spec(
        "echo 'FAILED t.py::turns'; echo 'PASSED t.py::turns'; echo 'PASSED t.py::stays'; exit 0",
    ));
    assert!(verdict.official_resolved && !verdict.resolved);
    // Two tests may have one name: that is no proof of anything.
    assert_eq!(verdict.tamper_reason, None);
    let note = "`t.py::turns` is reported both as passed and as failed";
    assert_eq!(verdict.note.as_deref(), Some(note));
    assert_eq!(bucket::of(&verdict), schema::Bucket::Unresolved);
}

#[test]
fn nothing_in_the_log_is_a_note_and_no_verdict() {
    let verdict = judge(&spec("echo no tests here"));
    assert!(!verdict.resolved && !verdict.log_readable);
    assert_eq!(verdict.note.unwrap(), "no test result in the log");
    assert_eq!(verdict.fail_to_pass.failure.len(), 1);
}

#[test]
fn the_tests_cannot_read_the_runners_input() {
    let (output, _) = run(&wrap(&spec("cat; echo 'PASSED t.py::turns'"), NONCE));
    let parts = log::read(&output, NONCE);
    assert_eq!(parts.tests().unwrap().trim(), "PASSED t.py::turns");
    assert!(!parts.repeated_marks);
}
