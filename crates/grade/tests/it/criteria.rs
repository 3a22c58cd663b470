//! What resolves an issue, dataset by dataset: which results count for its own harness, and for us.

use grade::{Evidence, Rules, log, resolve, verdict};
use pretty_assertions::assert_eq;
use schema::grading::{
    Criterion, Earlier, EvalType, GradingSpec, Harness, PatchApplication, TestStatus, Verdict,
};
use schema::instance::{AnswerKey, Instance, InstanceId};
use serde_json::{Value, json};

use crate::specs::{answer_with, instance};

/// The verdict of a dataset's rules on a log that says this of `a`, which had to turn, of `b`, which had to stay, and of others.
fn judge(spec: &GradingSpec, log: &str) -> Verdict {
    let log = match spec.criterion {
        Criterion::SweBench | Criterion::SweSmith => {
            format!("+ : '>>>>> Start Test Output'\n{log}+ : '>>>>> End Test Output'\n")
        }
        Criterion::SweBenchLive
        | Criterion::SweBenchPro
        | Criterion::MultiSweBench
        | Criterion::R2eGym => log.to_owned(),
    };
    let parts = log::read_foreign(log.as_bytes(), spec.criterion);
    let evidence = Evidence {
        application: PatchApplication::Applied,
        log: Some(&parts),
        timed_out: false,
        exit_code: None,
    };
    verdict(spec, &evidence).unwrap()
}

fn spec(criterion: Criterion, log_parser: &str) -> GradingSpec {
    GradingSpec {
        criterion,
        log_parser: log_parser.to_owned(),
        fail_to_pass: vec!["a".to_owned()],
        pass_to_pass: vec!["b".to_owned()],
        ..GradingSpec::default()
    }
}

/// A log with these words, and whether it is resolved: officially, for us.
type Case = (&'static str, bool, bool);

/// Lines of a short summary of pytest.
fn summary(words: &str) -> String {
    let lines = words.split_whitespace().zip(["a", "b", "c"]);
    lines
        .filter(|(word, _)| *word != "-")
        .map(|(word, name)| format!("{word} {name}\n"))
        .collect::<Vec<_>>()
        .concat()
}

fn assert_cases(spec: &GradingSpec, cases: &[Case], log: impl Fn(&str) -> String) {
    for (words, official, ours) in cases {
        let verdict = judge(spec, &log(words));
        let found = (verdict.official_resolved, verdict.resolved);
        assert_eq!(found, (*official, *ours), "{words}: {verdict:?}");
        assert_eq!(verdict.tamper_reason, None, "{words}");
    }
}

#[test]
fn swe_bench() {
    let five = spec(Criterion::SweBench, "pytest");
    let cases = [
        ("PASSED PASSED", true, true),
        ("XFAIL XFAIL", true, true),
        ("PASSED SKIPPED", true, true),
        ("SKIPPED PASSED", false, false),
        ("PASSED -", false, false),
        ("- PASSED", false, false),
        ("PASSED ERROR", false, false),
    ];
    assert_cases(&five, &cases, summary);
    let four = GradingSpec {
        harness: Harness::V4,
        ..five.clone()
    };
    assert_cases(&four, &[("SKIPPED PASSED", true, false)], summary);
    let failures = GradingSpec {
        eval_type: EvalType::FailOnly,
        ..five
    };
    let cases = [("- - FAILED", true, true), ("FAILED -", false, false)];
    assert_cases(&failures, &cases, summary);
}

#[test]
fn swe_bench_live() {
    let cases = [
        ("PASSED PASSED", true, true),
        ("PASSED -", true, true),
        ("PASSED SKIPPED", true, true),
        ("PASSED FAILED", false, false),
        ("PASSED ERROR", false, false),
        ("PASSED XFAIL", false, false),
        ("- PASSED", false, false),
        ("SKIPPED PASSED", false, false),
        ("XFAIL PASSED", false, false),
        ("FAILED PASSED", false, false),
    ];
    assert_cases(&spec(Criterion::SweBenchLive, "pytest"), &cases, summary);
}

#[test]
fn swe_bench_pro() {
    let report = |words: &str| {
        let tests = words.split_whitespace().zip(["a", "b", "a"]);
        let tests = tests
            .filter(|(word, _)| *word != "-")
            .map(|(word, name)| json!({"name": name, "status": word}));
        json!({"tests": tests.collect::<Vec<_>>()}).to_string()
    };
    let spec = spec(Criterion::SweBenchPro, "swe_bench_pro");
    let cases = [
        ("PASSED PASSED", true, true),
        ("PASSED SKIPPED", false, false),
        ("SKIPPED PASSED", false, false),
        ("XFAIL PASSED", false, false),
        ("PASSED -", false, false),
        // A name that passed once is among those that passed, and for us the worst counts.
        ("PASSED PASSED FAILED", true, false),
    ];
    assert_cases(&spec, &cases, report);
    // Names count to the byte there. Here they are also found with other white space.
    let spaced = GradingSpec {
        fail_to_pass: vec!["a ".to_owned()],
        ..spec.clone()
    };
    assert_cases(&spaced, &[("PASSED PASSED", false, true)], report);
    let cut = judge(&spec, "Traceback (most recent call last)\n");
    assert_eq!((cut.official_resolved, cut.log_readable), (false, false));
}

#[test]
fn multi_swe_bench() {
    use TestStatus::{Failed, Passed, Skipped};
    let tests = |words: &str| {
        let lines = words.split_whitespace().zip(["a", "b", "c"]);
        lines
            .filter(|(word, _)| *word != "-")
            .map(|(word, name)| format!("--- {word}: {name} (0.00s)\n"))
            .collect::<Vec<_>>()
            .concat()
    };
    let earlier = |run, test| Earlier { run, test };
    let with = |third: Earlier| GradingSpec {
        earlier: [
            ("a".to_owned(), earlier(None, Some(Failed))),
            ("b".to_owned(), earlier(Some(Passed), Some(Passed))),
            ("c".to_owned(), third),
        ]
        .into(),
        ..spec(Criterion::MultiSweBench, "gotest")
    };
    let broken = with(earlier(Some(Failed), Some(Failed)));
    let cases = [
        ("PASS PASS FAIL", true, true),
        ("PASS PASS", true, true),
        ("PASS SKIP", false, false),
        ("PASS -", false, false),
        ("SKIP PASS", false, false),
        ("- -", false, false),
    ];
    assert_cases(&broken, &cases, tests);
    for (third, log, why) in [
        (
            earlier(Some(Passed), Some(Passed)),
            "PASS PASS FAIL",
            "`c` passed without the patch, and fails with it",
        ),
        (
            earlier(Some(Passed), Some(Skipped)),
            "PASS PASS FAIL",
            "`c` passed before, did not run with the new tests, and fails with the patch",
        ),
        (
            earlier(Some(Passed), None),
            "PASS PASS FAIL",
            "`c` passed before, did not run with the new tests, and fails with the patch",
        ),
        (
            earlier(None, None),
            "FAIL PASS",
            "no test passes with the patch that did not pass without it",
        ),
    ] {
        let verdict = judge(&with(third), &tests(log));
        assert!(!verdict.official_resolved && !verdict.resolved, "{why}");
        assert_eq!(verdict.note.as_deref(), Some(why));
    }
    // What never ran before may fail.
    let new = with(earlier(None, None));
    assert_cases(&new, &[("PASS PASS FAIL", true, true)], tests);
}

#[test]
fn swe_smith() {
    let lines = |words: &str| {
        let lines = words.split_whitespace().zip(["a", "b", "c"]);
        lines
            .filter(|(word, _)| *word != "-")
            .map(|(word, name)| format!("{name} {word} [ 50%]\n"))
            .collect::<Vec<_>>()
            .concat()
    };
    let cases = [
        ("PASSED PASSED", true, true),
        ("PASSED -", true, true),
        ("XFAIL PASSED", true, true),
        ("PASSED SKIPPED", true, true),
        ("FAILED PASSED", false, false),
        ("PASSED ERROR", false, false),
        // What is skipped counts for nothing there, and for us it is no fix.
        ("SKIPPED PASSED", true, false),
        // What is missing passed there. For us a log without any test that had to turn is no fix.
        ("- PASSED", true, false),
        ("- -", true, false),
    ];
    let spec = spec(Criterion::SweSmith, "swe_smith");
    assert_cases(&spec, &cases, lines);
    let two = GradingSpec {
        fail_to_pass: vec!["a".to_owned(), "elsewhere".to_owned()],
        ..spec
    };
    assert_cases(&two, &[("PASSED PASSED", true, true)], lines);
}

#[test]
fn r2e_gym() {
    let summary = |words: &str| {
        let lines = words.split_whitespace().zip(["a", "b", "c"]);
        let lines = lines
            .filter(|(word, _)| *word != "-")
            .map(|(word, name)| format!("{word} t.py::{name}\n"));
        format!(
            "short test summary info\n{}",
            lines.collect::<Vec<_>>().concat()
        )
    };
    let spec = GradingSpec {
        pass_to_pass: Vec::new(),
        whole_map: Some(
            [
                ("a".to_owned(), TestStatus::Passed),
                ("b".to_owned(), TestStatus::Failed),
            ]
            .into(),
        ),
        ..spec(Criterion::R2eGym, "r2e_gym")
    };
    let cases = [
        ("PASSED FAILED", true, true),
        ("PASSED PASSED", false, false),
        ("PASSED -", false, false),
        ("PASSED FAILED PASSED", false, false),
        ("FAILED FAILED", false, false),
    ];
    assert_cases(&spec, &cases, summary);
    // Two files have a test of this name; the last one counts, as where the expectation was made.
    let twice = format!("{}PASSED u.py::a\n", summary("FAILED FAILED"));
    assert_cases(&spec, &[("", true, true)], |_| twice.clone());
}

/// What Cargo prints of the tests in one of Multi-SWE-bench's results.
fn printed(result: &Value) -> String {
    let lines = |list: &str, word: &str| {
        let names = result[list].as_array().unwrap().iter();
        let lines = names.map(|name| format!("test {} ... {word}\n", name.as_str().unwrap()));
        lines.collect::<Vec<_>>().concat()
    };
    lines("passed_tests", "ok") + &lines("failed_tests", "FAILED")
}

/// Rows of Multi-SWE-bench hold the results of the known fix: it is resolved, and neither the unchanged project nor its new tests alone are.
#[test]
fn real_rows_of_multi_swe_bench() {
    let Some(directory) = testkit::conformance() else {
        return;
    };
    let directory = directory.join("instances/multi-swe-bench");
    for name in ["tokio-rs__bytes-732.json", "BurntSushi__ripgrep-2626.json"] {
        let row = dataset::load(&directory.join(name), &dataset::LoadOptions::default()).unwrap();
        let row = &row.rows[0];
        let rules = Rules::default();
        let spec = grade::spec::of_log(&row.instance, &row.answer, &rules, Some("cargo")).unwrap();
        assert_eq!(spec.criterion, Criterion::MultiSweBench);
        for (result, resolved) in [
            ("fix_patch_result", true),
            ("test_patch_result", false),
            ("run_result", false),
        ] {
            let verdict = judge(&spec, &printed(&row.answer.extra[result]));
            assert_eq!(
                (verdict.official_resolved, verdict.resolved),
                (resolved, resolved),
                "{name} {result}: {:?}",
                verdict.note
            );
        }
    }
}

/// Only SWE-bench's generation 5 doubts a bad exit code without a failure.
#[test]
fn exit_codes() {
    let code = ">>>>> Test Exit Code: 2\n";
    for criterion in Criterion::ALL {
        let (parser, log) = match criterion {
            Criterion::SweBench | Criterion::SweBenchLive => ("pytest", "PASSED a\nPASSED b\n"),
            Criterion::SweBenchPro => (
                "swe_bench_pro",
                r#"{"tests": [{"name": "a", "status": "PASSED"}, {"name": "b", "status": "PASSED"}]}"#,
            ),
            Criterion::MultiSweBench => ("gotest", "--- PASS: a (1s)\n--- PASS: b (1s)\n"),
            Criterion::SweSmith => ("swe_smith", "a PASSED\nb PASSED\n"),
            Criterion::R2eGym => (
                "r2e_gym",
                "short test summary info\nPASSED ::a\nPASSED ::b\n",
            ),
        };
        let both = ["a", "b"].map(|name| (name.to_owned(), TestStatus::Passed));
        let spec = GradingSpec {
            whole_map: (criterion == Criterion::R2eGym).then(|| both.into()),
            ..spec(criterion, parser)
        };
        let verdict = judge(&spec, &format!("{log}\n{code}"));
        let believed = criterion != Criterion::SweBench;
        assert_eq!(
            (verdict.official_resolved, verdict.resolved),
            (believed, believed),
            "{criterion:?}"
        );
        assert!(verdict.note.unwrap().contains("exit code 2"));
    }
}

fn row_of(instance: &Instance, answer: &AnswerKey) -> GradingSpec {
    resolve(instance, answer, &Rules::default()).unwrap().spec
}

#[test]
fn the_criterion_follows_from_the_row_and_is_part_of_its_specification() {
    let multi = json!({
        "number": 1, "resolved_issues": [],
        "f2p_tests": {"a": {"run": "NONE", "test": "FAIL", "fix": "PASS"}},
        "run_result": {"passed_tests": ["b"], "failed_tests": [], "skipped_tests": ["c"]},
        "test_patch_result": {"passed_tests": ["b"], "failed_tests": ["a"], "skipped_tests": []},
    });
    for (repo, extra, criterion) in [
        ("o/r", json!({"test_cmd": "pytest"}), Criterion::SweBench),
        (
            "o/r",
            json!({"install_config": {"test_cmd": "pytest"}, "test_cmds": ["pytest"]}),
            Criterion::SweBench,
        ),
        (
            "o/r",
            json!({"test_cmds": ["pytest"]}),
            Criterion::SweBenchLive,
        ),
        (
            "o/r",
            json!({"run_script": "x", "parser_script": "y"}),
            Criterion::SweBenchPro,
        ),
        ("cli/cli", multi.clone(), Criterion::MultiSweBench),
        (
            "swesmith/gin-gonic__gin.01234567",
            json!({}),
            Criterion::SweSmith,
        ),
        (
            "",
            json!({"expected_output_json": {"a": "PASSED"}}),
            Criterion::R2eGym,
        ),
        // Who says how results count has SWE-bench's rules: only those have a choice.
        (
            "o/r",
            json!({"test_cmds": ["pytest"], "eval_type": "pass_and_fail"}),
            Criterion::SweBench,
        ),
    ] {
        let answer = AnswerKey {
            log_parser: Some("pytest".to_owned()),
            ..answer_with(&extra)
        };
        let spec = row_of(&instance(repo, None), &answer);
        assert_eq!(spec.criterion, criterion, "{extra}");
        let kept: GradingSpec =
            serde_json::from_value(serde_json::to_value(&spec).unwrap()).unwrap();
        assert_eq!(kept, spec);
        assert_eq!(
            spec.earlier.is_empty(),
            criterion != Criterion::MultiSweBench
        );
    }
    // Some copies have the results as text.
    let mut text = multi.clone();
    text["run_result"] = json!(multi["run_result"].to_string());
    let answer = AnswerKey {
        log_parser: Some("gotest".to_owned()),
        ..answer_with(&text)
    };
    let earlier = row_of(&instance("cli/cli", None), &answer).earlier;
    let of = |name: &str| earlier[name];
    let told = |run, test| Earlier { run, test };
    assert_eq!(of("a"), told(None, Some(TestStatus::Failed)));
    assert_eq!(
        of("b"),
        told(Some(TestStatus::Passed), Some(TestStatus::Passed))
    );
    assert_eq!(of("c"), told(Some(TestStatus::Skipped), None));
}

/// What a log needs is known without the commands that made it.
#[test]
fn logs_are_judged_where_the_tests_could_not_be_run() {
    let mut rules = Rules::default();
    let file = "repository = 'o/failures'\nlog_parser = 'tap'\neval_type = 'fail_only'\n[[version]]\nnames = ['1']\n";
    rules.add("failures.toml", file).unwrap();
    let of_log = |instance: &Instance, extra: Value| {
        let answer = answer_with(&extra);
        grade::spec::of_log(instance, &answer, &rules, None).unwrap()
    };
    for version in [None, Some("99.9")] {
        let spec = of_log(&instance("django/django", version), json!({}));
        assert_eq!(spec.log_parser, "django", "{version:?}");
        let spec = of_log(&instance("o/failures", version), json!({}));
        assert_eq!(spec.eval_type, EvalType::FailOnly, "{version:?}");
    }
    let pro = Instance {
        id: InstanceId::new("instance_o__r-1"),
        ..instance("o/r", None)
    };
    let spec = of_log(&pro, json!({"interface": "", "requirements": ""}));
    assert_eq!(
        (&*spec.log_parser, spec.criterion),
        ("swe_bench_pro", Criterion::SweBenchPro)
    );
    let expected = json!({"expected_output_json": {"T.a": "FAILED"}});
    let spec = of_log(&instance("", None), expected);
    assert_eq!(spec.whole_map.unwrap()["T.a"], TestStatus::Failed);
}
