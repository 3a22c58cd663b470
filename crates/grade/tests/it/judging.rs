//! What results mean, and how the official harness says it.

use grade::{Evidence, LogParts, log, verdict};
use schema::grading::{EvalType, GradingSpec, PatchApplication, Verdict};

fn spec(fail_to_pass: &[&str], pass_to_pass: &[&str]) -> GradingSpec {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    GradingSpec {
        eval_script: String::new(),
        log_parser: "pytest".to_owned(),
        test_patch: None,
        fail_to_pass: owned(fail_to_pass),
        pass_to_pass: owned(pass_to_pass),
        eval_type: EvalType::PassAndFail,
        timeout_seconds: None,
        ..GradingSpec::default()
    }
}

fn evidence(log: Option<&LogParts>) -> Evidence<'_> {
    Evidence {
        application: PatchApplication::Applied,
        log,
        timed_out: false,
        exit_code: None,
    }
}

fn judge(spec: &GradingSpec, log: &str) -> Verdict {
    verdict(
        spec,
        &evidence(Some(&log::read_official(
            format!("Applied patch\n{log}").as_bytes(),
        ))),
    )
    .unwrap()
}

#[test]
fn every_status_counts_as_it_does_officially() {
    for (word, turned, stayed) in [
        ("PASSED", true, true),
        ("XFAIL", true, true),
        ("SKIPPED", false, true),
        ("FAILED", false, false),
        ("ERROR", false, false),
        ("XPASS", false, false),
    ] {
        let log = format!("{word} t.py::a\nPASSED t.py::b\n");
        assert_eq!(
            judge(&spec(&["t.py::a"], &[]), &log).resolved,
            turned,
            "{word}"
        );
        assert_eq!(
            judge(&spec(&["t.py::b"], &["t.py::a"]), &log).resolved,
            stayed,
            "{word}"
        );
    }
    let verdict = judge(
        &spec(&["t.py::b", "t.py::missing"], &[]),
        "PASSED t.py::b\n",
    );
    assert!(!verdict.resolved);
    assert_eq!(verdict.fail_to_pass.failure, ["t.py::missing"]);
}

#[test]
fn names_are_found_whole_cut_and_with_other_spaces() {
    let log = "PASSED t.py::a[x  y]\nPASSED t.py::b[m n]\nFAILED t.py::b[m o] - E\nPASSED t.py::c[1 2]\nPASSED t.py::c[1 3]\n";
    for (name, resolved) in [
        ("t.py::a[x  y]", true),
        ("t.py::a[x y]", true),
        ("t.py::a[x", true),
        ("t.py::b[m n]", true),
        // Cut names stand for all that begin so, and here those disagree.
        ("t.py::b[", false),
        ("t.py::c[", true),
        ("t.py::c", false),
    ] {
        assert_eq!(judge(&spec(&[name], &[]), log).resolved, resolved, "{name}");
    }
}

#[test]
fn a_patch_that_does_not_apply_and_tests_that_did_not_run() {
    let spec = spec(&["t.py::a"], &["t.py::b"]);
    let parts = log::read_official(b"Applied patch\nPASSED t.py::a\nPASSED t.py::b\n");
    let rejected = Evidence {
        application: PatchApplication::Rejected,
        ..evidence(Some(&parts))
    };
    let verdict_of = |evidence: &Evidence<'_>| verdict(&spec, evidence).unwrap();
    let rejected = verdict_of(&rejected);
    assert!(!rejected.resolved && rejected.statuses.is_empty());
    assert_eq!(rejected.note.as_deref(), Some("the patch does not apply"));
    assert_eq!(
        verdict_of(&evidence(None)).note.as_deref(),
        Some("the tests were not run")
    );
    let late = Evidence {
        timed_out: true,
        ..evidence(Some(&parts))
    };
    let late = verdict_of(&late);
    assert!(!late.resolved && !late.official_resolved && late.timed_out);
    assert_eq!(late.fail_to_pass.success, ["t.py::a"], "what ran is told");
}

#[test]
fn an_exit_code_other_than_the_logged_one_is_not_believed() {
    let parts = log::read(
        b">>>>> Start Test Output n\nPASSED t.py::a\n>>>>> End Test Output n\n>>>>> Test Exit Code n: 0\n>>>>> Script Exit Code n: 0\n",
        "n",
    );
    let seen = |exit_code| Evidence {
        exit_code,
        ..evidence(Some(&parts))
    };
    let spec = spec(&["t.py::a"], &[]);
    assert!(verdict(&spec, &seen(Some(0))).unwrap().resolved);
    let killed = verdict(&spec, &seen(Some(137))).unwrap();
    assert!(!killed.resolved && killed.tamper_reason.is_some());
}

#[test]
fn tests_that_only_tell_failures() {
    let mut spec = spec(&["t.py::a"], &["t.py::b"]);
    spec.eval_type = EvalType::FailOnly;
    assert!(judge(&spec, "PASSED t.py::other\n").resolved);
    assert!(!judge(&spec, "FAILED t.py::a - E\n").resolved);
    assert!(!judge(&spec, "nothing ran\n").resolved);
}

#[test]
fn failed_and_missing_tests_are_told_apart_by_how_they_are_found() {
    let expected = ["t.py::a", "t.py::b[x  y]", "t.py::c[1", "t.py::d"];
    let log = "PASSED t.py::ab\nFAILED t.py::b[x y] - E\nFAILED t.py::c[1 2]\nFAILED t.py::d\n";
    let verdict = judge(&spec(&expected, &[]), log);
    let (failed, missing) = grade::bucket::failures(&verdict);
    assert_eq!(failed, ["t.py::b[x  y]", "t.py::c[1", "t.py::d"]);
    // `t.py::ab` is another test.
    assert_eq!(missing, ["t.py::a"]);
    assert_eq!(verdict.matches.missing, 1);
}

#[test]
fn results_outside_the_marks_count_where_there_are_none_inside() {
    let inside = ">>>>> Start Test Output\nnothing\n>>>>> End Test Output\nPASSED t.py::a\n";
    assert!(judge(&spec(&["t.py::a"], &[]), inside).official_resolved);
}
