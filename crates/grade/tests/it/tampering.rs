//! What a second look proves, on logs and files of results that are made up.

use std::fmt::Write;
use std::fs;

use grade::tamper::{
    CanaryTest, Contradiction, Look, Rerun, contradiction, restoration, second_look, suspicions,
    unsound,
};
use grade::{Evidence, log, verdict};
use patch::PathClasses;
use schema::grading::{EvalType, GradingSpec, PatchApplication, TestStatus, TestTally, Verdict};

const TURNS: &str = "tests/test_a.py::test_turns";
const STAYS: &str = "tests/test_a.py::test_stays";

fn spec() -> GradingSpec {
    GradingSpec {
        eval_script: "pytest -rA tests/test_a.py\n".to_owned(),
        log_parser: "pytest".to_owned(),
        fail_to_pass: vec![TURNS.to_owned()],
        pass_to_pass: vec![STAYS.to_owned()],
        ..GradingSpec::default()
    }
}

fn rerun() -> Rerun {
    second_look(&spec(), "", "/results", 1).unwrap()
}

fn marked(results: &str, code: i32, late: &str) -> Vec<u8> {
    format!(
        ">>>>> Start Test Output n\n{results}\n>>>>> End Test Output n\n>>>>> Test Exit Code n: {code}\n>>>>> Script Exit Code n: {code}\n{late}"
    )
    .into_bytes()
}

fn judged(results: &str, code: i32, late: &str) -> Verdict {
    let parts = log::read(&marked(results, code, late), "n");
    let evidence = Evidence {
        application: PatchApplication::Applied,
        log: Some(&parts),
        timed_out: false,
        exit_code: Some(code),
    };
    verdict(&spec(), &evidence).unwrap()
}

/// What a run tells of each test, in the log and in the framework's file.
struct Run {
    canaries: Option<(&'static str, &'static str)>,
    log: [&'static str; 2],
    file: Option<[&'static str; 2]>,
    code: i32,
}

/// As honest tests run: what must fail fails.
const HONEST: Run = Run {
    canaries: Some(("FAILED", "<failure message='assert'/>")),
    log: ["PASSED", "PASSED"],
    file: Some(["", ""]),
    code: 1,
};

impl Run {
    fn look(&self) -> Look {
        let rerun = rerun();
        let shown = |canary: &CanaryTest| match self.canaries {
            Some(words) if canary.must_fail => Some(words),
            Some(_) => Some(("PASSED", "")),
            None => None,
        };
        let mut text = format!("{} {TURNS}\n{} {STAYS}\n", self.log[0], self.log[1]);
        let mut cases = String::new();
        for canary in &rerun.canaries {
            if let Some((word, element)) = shown(canary) {
                let name = &canary.name;
                let _ = writeln!(text, "{word} tests/test_c.py::{name}");
                let _ = write!(
                    cases,
                    "<testcase classname='tests.test_c' name='{name}'>{element}</testcase>"
                );
            }
        }
        let file = self.file.map(|[turns, stays]| {
            let case = |name, element| match element {
                "absent" => String::new(),
                element => {
                    format!("<testcase classname='tests.test_a' name='{name}'>{element}</testcase>")
                }
            };
            format!(
                "<testsuite>{}{}{cases}</testsuite>",
                case("test_turns", turns),
                case("test_stays", stays)
            )
            .into_bytes()
        });
        Look::new(&rerun, judged(&text, self.code, ""), &[file])
    }
}

fn first() -> Verdict {
    let verdict = judged(&format!("PASSED {TURNS}\nPASSED {STAYS}\n"), 0, "");
    assert!(verdict.resolved);
    verdict
}

fn proof(run: &Run, restored: &[&str]) -> Option<Contradiction> {
    let restored: Vec<String> = restored.iter().map(|&file| file.to_owned()).collect();
    let control = HONEST.look();
    assert_eq!(unsound(&control), None);
    contradiction(&first(), &run.look(), Some(&control), &restored)
}

#[test]
fn honest_runs_prove_nothing() {
    assert_eq!(proof(&HONEST, &[]), None);
    assert_eq!(proof(&HONEST, &["conftest.py"]), None);
    // A run that was killed, as by a machine without memory, says nothing.
    let killed = Run {
        canaries: None,
        file: None,
        code: 137,
        ..HONEST
    };
    assert_eq!(proof(&killed, &[]), None);
    // Nor does one in which the instance's tests were not seen either.
    let unseen = Run {
        canaries: None,
        log: ["FAILED", "ERROR"],
        file: None,
        ..HONEST
    };
    assert_eq!(proof(&unseen, &[]), None);
}

#[test]
fn each_contradiction_is_a_proof_of_its_own() {
    let spared = |status, only_in_file| {
        Some(Contradiction::Spared {
            status,
            only_in_file,
        })
    };
    let run = |word, element| Run {
        canaries: Some((word, element)),
        ..HONEST
    };
    assert_eq!(
        proof(&run("PASSED", ""), &[]),
        spared(TestStatus::Passed, false)
    );
    assert_eq!(
        proof(&run("FAILED", ""), &[]),
        spared(TestStatus::Passed, true)
    );
    assert_eq!(
        proof(&run("XFAIL", "<failure/>"), &[]),
        spared(TestStatus::Xfail, false)
    );
    assert_eq!(
        proof(&run("SKIPPED", "<skipped/>"), &[]),
        spared(TestStatus::Skipped, false)
    );
    let absent = Run {
        canaries: None,
        ..HONEST
    };
    assert_eq!(proof(&absent, &[]), Some(Contradiction::Absent));
    let unwritten = Run {
        file: None,
        code: 0,
        ..HONEST
    };
    let told = proof(
        &Run {
            canaries: None,
            ..unwritten
        },
        &[],
    );
    assert_eq!(told, Some(Contradiction::Unwritten));
    let differs = Run {
        file: Some(["<failure message='assert 1'/>", ""]),
        ..HONEST
    };
    let test = TURNS.to_owned();
    assert_eq!(
        proof(&differs, &[]),
        Some(Contradiction::Differs { test: test.clone() })
    );
    let torn_down = Run {
        file: Some(["<error message='teardown'/>", ""]),
        ..HONEST
    };
    assert_eq!(proof(&torn_down, &[]), None);
    let lacks = Run {
        file: Some(["absent", ""]),
        ..HONEST
    };
    assert_eq!(proof(&lacks, &[]), Some(Contradiction::Lacks { test }));
}

#[test]
fn only_failures_of_a_tests_own_count_without_the_patchs_configuration() {
    let failing = |message| Run {
        log: ["FAILED", "PASSED"],
        file: Some([message, ""]),
        ..HONEST
    };
    let restored = proof(
        &failing("<failure message='assert 1 == 2'/>"),
        &["conftest.py"],
    );
    let told = restored.unwrap().to_string();
    assert_eq!(
        told,
        format!(
            "`{TURNS}` fails when conftest.py is as before the patch: it configures the test runner"
        )
    );
    assert_eq!(
        proof(&failing("<failure message='assert 1 == 2'/>"), &[]),
        None
    );
    for message in [
        "<error message='fixture'/>",
        "<failure message='NameError: pair'/>",
        "<skipped/>",
    ] {
        assert_eq!(
            proof(&failing(message), &["conftest.py"]),
            None,
            "{message}"
        );
    }
}

#[test]
fn what_the_known_fix_shows_too_is_no_proof() {
    let odd = [
        Run {
            canaries: Some(("PASSED", "")),
            ..HONEST
        },
        Run {
            canaries: None,
            ..HONEST
        },
        Run {
            canaries: None,
            file: None,
            ..HONEST
        },
    ];
    for run in odd {
        assert!(contradiction(&first(), &run.look(), None, &[]).is_some());
        assert_eq!(
            contradiction(&first(), &run.look(), Some(&run.look()), &[]),
            None
        );
        assert!(unsound(&run.look()).is_some());
    }
}

#[test]
fn results_behind_the_end_of_the_script_are_proof_and_noise_is_not() {
    let passed = format!("PASSED {TURNS}\nPASSED {STAYS}\n");
    let late = judged(&passed, 0, &format!("PASSED {TURNS}\n"));
    let reason = late.tamper_reason.unwrap();
    assert!(
        !late.resolved && reason.contains("after the script had ended"),
        "{reason}"
    );
    for noise in ["server shut down\n", "PASSED tests/other.py::test_x\n"] {
        let verdict = judged(&passed, 0, noise);
        assert!(verdict.resolved, "{noise}");
    }
}

/// Logs of known patches and of others, as if one of our scripts had printed them.
#[test]
fn real_logs_are_never_taken_for_tampered_ones() {
    let Some(directory) = testkit::conformance() else {
        return;
    };
    let pairs = testkit::pairs(&directory);
    assert!(!pairs.is_empty());
    for pair in pairs {
        let text = String::from_utf8_lossy(&fs::read(&pair.log).unwrap()).into_owned();
        let status: grade::official::TestsStatus =
            serde_json::from_value(pair.report["tests_status"].clone()).unwrap();
        let expected = |tally: &TestTally| [tally.success.clone(), tally.failure.clone()].concat();
        let spec = GradingSpec {
            log_parser: pair.parser.clone(),
            fail_to_pass: expected(&status.fail_to_pass),
            pass_to_pass: expected(&status.pass_to_pass),
            eval_type: EvalType::PassAndFail,
            ..GradingSpec::default()
        };
        let parts = log::read(&marked(&text, 0, ""), "n");
        let evidence = Evidence {
            application: PatchApplication::Applied,
            log: Some(&parts),
            timed_out: false,
            exit_code: Some(0),
        };
        let verdict = verdict(&spec, &evidence).unwrap();
        assert_eq!(verdict.tamper_reason, None, "{}", pair.name);
        assert_eq!(
            Some(verdict.resolved),
            pair.report["resolved"].as_bool(),
            "{}",
            pair.name
        );
    }
}

/// The known patches of real rows: what they configure is never taken back, and their tests can be looked at twice where we write their language.
#[test]
fn known_patches_of_real_rows_keep_what_they_configure() {
    let Some(directory) = testkit::conformance() else {
        return;
    };
    let (mut rows, mut suspicious, mut looked_at) = (0, 0, 0);
    for name in ["swe-bench-lite-sample.jsonl", "swe-agent-fixtures.jsonl"] {
        let text = fs::read_to_string(directory.join("instances").join(name)).unwrap();
        for line in text.lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let known = row["patch"].as_str().unwrap();
            let parsed = patch::parse(known.as_bytes()).unwrap();
            let paths = parsed
                .files
                .iter()
                .flat_map(|file| [file.old_path(), file.new_path()]);
            let spared = paths.flatten().cloned().collect();
            let classes = PathClasses::default();
            let restored = restoration(known.as_bytes(), &parsed, &classes, &spared);
            assert_eq!(restored.files, [""; 0], "{}", row["instance_id"]);
            let spec = GradingSpec {
                eval_script: "pytest -rA\n".to_owned(),
                ..GradingSpec::default()
            };
            rows += 1;
            suspicious += usize::from(!suspicions(known.as_bytes(), &parsed, &classes).is_empty());
            looked_at += usize::from(
                second_look(&spec, row["test_patch"].as_str().unwrap(), "/r", 1).is_ok(),
            );
        }
    }
    println!(
        "{suspicious} of {rows} known patches are suspicious, {looked_at} can be looked at twice"
    );
    assert!(rows > 0 && suspicious < rows / 2);
    assert_eq!(looked_at, rows);
}
