//! Patches graded as they appear.

use std::fs;

use rustix::process::Signal;
use schema::grading::{PatchApplication, Verdict};
use schema::journal::GradeSummary;
use schema::{Bucket, RunEvent};
use serde_json::{Value, json};

use crate::fixture::{Fixture, signal};

fn grades(fixture: &Fixture) -> Vec<(String, GradeSummary)> {
    let mut grades: Vec<_> = fixture
        .events()
        .into_iter()
        .filter_map(|event| match event {
            RunEvent::GradeFinished { key, grade, .. } => {
                Some((key.instance_id.to_string(), grade))
            }
            _ => None,
        })
        .collect();
    grades.sort_by(|a, b| a.0.cmp(&b.0));
    grades
}

fn verdict(fixture: &Fixture, index: usize, grading: u32) -> Verdict {
    let path = format!(
        "instances/{}/s1-a1/grade-{grading}/verdict.json",
        fixture.id(index)
    );
    serde_json::from_slice(&fs::read(fixture.file(&path)).unwrap()).unwrap()
}

#[test]
fn patches_are_judged_by_the_rows_own_tests_in_a_fresh_sandbox() {
    let mut fixture = Fixture::new(5);
    fixture.script_of(0, &["echo good > value.txt"]);
    // The agent's file is in the place of one of the grader's, which has the last word.
    fixture.script_of(1, &["echo good > value.txt; echo forged > check.txt"]);
    fixture.script_of(2, &["echo good > value.txt; rm keep.txt"]);
    // What the agent leaves outside of its patch is not there when the patch is graded.
    fixture.script_of(
        3,
        &["echo x > new.txt; echo good > $HOME/value.txt; echo 'value.txt' > .git/info/exclude"],
    );
    fixture.script_of(4, &["true", "ls", "pwd"]);
    let check = "diff --git a/check.txt b/check.txt\nnew file mode 100644\n--- /dev/null\n+++ b/check.txt\n@@ -0,0 +1 @@\n+real\n";
    fixture.change(1, "test_patch", json!(check));
    fixture.change(
        1,
        "eval_script",
        json!("grep -q good value.txt && echo 'ok 1 value'\ngrep -q real check.txt && echo 'ok 2 keep'\n"),
    );
    let said = fixture.run(&["--model", "script:scripts", "--grade", "--max-steps", "3"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let resolved: Vec<bool> = grades(&fixture)
        .iter()
        .map(|(_, grade)| grade.resolved)
        .collect();
    assert_eq!(resolved, [true, true, false, false, false]);

    let first = verdict(&fixture, 0, 1);
    assert_eq!(first.application, PatchApplication::Applied);
    assert_eq!(first.exit_code, Some(0));
    assert_eq!(first.fail_to_pass.success, ["value"]);
    assert_eq!(verdict(&fixture, 2, 1).pass_to_pass.failure, ["keep"]);
    assert_eq!(verdict(&fixture, 4, 1).application, PatchApplication::Empty);
    let report = fixture.file(&format!(
        "instances/{}/s1-a1/grade-1/report.json",
        fixture.id(0)
    ));
    let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    assert_eq!(report[fixture.id(0)]["resolved"], true);
    fixture.assert_clean();
}

#[test]
fn rows_without_a_script_are_graded_by_the_users_rules() {
    let mut fixture = Fixture::new(3);
    for index in 0..3 {
        fixture.change(index, "eval_script", Value::Null);
        fixture.change(index, "log_parser", Value::Null);
        fixture.change(
            index,
            "test_patch",
            json!("diff --git a/check.sh b/check.sh\nnew file mode 100644\n--- /dev/null\n+++ b/check.sh\n@@ -0,0 +1,2 @@\n+test -f built && grep -q good value.txt && echo 'ok 1 value' || echo 'not ok 1 value'\n+test -f keep.txt && echo 'ok 2 keep' || echo 'not ok 2 keep'\n"),
        );
    }
    fixture.script_of(0, &["echo good > value.txt"]);
    fixture.script_of(1, &["echo other > value.txt"]);
    // Neither a file in the place of one of the tests nor an installation that makes one counts.
    fixture.script_of(
        2,
        &["echo other > value.txt; echo \"echo 'ok 1 value'; echo 'ok 2 keep'\" > check.sh; cp check.sh install.sh"],
    );
    let flags = ["--model", "script:scripts", "--grade"];
    let said = fixture.run(&flags);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(
        said.err
            .contains("there are no rules for the repository `tiny/tiny`")
            && said.err.contains("--repository-rules FILE"),
        "{}",
        said.err
    );
    fixture.place.write(
        "rules/tiny.toml",
        "repository = 'tiny/tiny'\nlog_parser = 'tap'\ntests = 'files'\ninstall = \"touch built; [ ! -f install.sh ] || cp install.sh check.sh\"\ntest_command = 'bash'\n",
    );
    let said = fixture.run(&[&flags[..], &["--repository-rules", "rules"]].concat());
    assert_eq!(said.code, 0, "{}", said.all());
    let resolved: Vec<bool> = grades(&fixture)
        .iter()
        .map(|(_, grade)| grade.resolved)
        .collect();
    assert_eq!(resolved, [true, false, false]);
    assert_eq!(verdict(&fixture, 2, 1).fail_to_pass.failure, ["value"]);
    fixture.place.write(
        "rules/tiny.toml",
        "repository = 'tiny/tiny'\ntest_comand = 'bash'\n",
    );
    let said = fixture.grade(&["--only", "all", "--repository-rules", "rules/tiny.toml"]);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(
        said.err.contains("unknown key `test_comand`")
            && said.err.contains("is test_command meant?"),
        "{}",
        said.err
    );
    fixture.assert_clean();
}

#[test]
fn a_script_that_takes_too_long_is_judged_by_what_it_printed() {
    let mut fixture = Fixture::new(1);
    fixture.script(&["echo good > value.txt"]);
    fixture.change(0, "FAIL_TO_PASS", json!(["value", "late"]));
    fixture.change(
        0,
        "eval_script",
        json!(
            "echo 'ok 1 value'\necho 'ok 2 keep'\nsetsid sleep 600 &\nsleep 600\necho 'ok 3 late'\n"
        ),
    );
    let said = fixture.run(&[]);
    assert_eq!(said.code, 0, "{}", said.all());
    // As users of the official harness call it.
    let said = fixture.grade(&["--timeout", "1"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let judged = verdict(&fixture, 0, 1);
    assert!(judged.timed_out);
    assert!(!judged.resolved && !judged.official_resolved);
    assert_eq!(
        judged.statuses.keys().collect::<Vec<_>>(),
        ["keep", "value"]
    );
    let (_, grade) = &grades(&fixture)[0];
    assert_eq!(
        (grade.bucket, grade.partial),
        (Some(Bucket::Timeout), Some(0.5))
    );
    let log = fixture.file(&format!(
        "instances/{}/s1-a1/grade-1/test_output.txt",
        fixture.id(0)
    ));
    let log = fs::read_to_string(log).unwrap();
    assert!(
        log.contains("ok 2 keep") && log.ends_with("\n\nTimeout error: 1 seconds exceeded."),
        "{log}"
    );
    fixture.assert_clean();
}

#[test]
fn a_long_log_is_judged_whole() {
    let mut fixture = Fixture::new(1);
    fixture.script(&["echo good > value.txt"]);
    // 35 MB of noise on each side: what counts is in the middle.
    fixture.change(
        0,
        "eval_script",
        json!("noise() { head -c 35000000 /dev/zero | tr '\\0' '.'; echo; }\nnoise\necho 'ok 1 value'\nnoise\necho 'ok 2 keep'\n"),
    );
    let said = fixture.run(&["--grade"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let verdict = verdict(&fixture, 0, 1);
    assert!(verdict.resolved, "{:?}", verdict.note);
    let log = fixture.file(&format!(
        "instances/{}/s1-a1/grade-1/test_output.txt",
        fixture.id(0)
    ));
    assert!(fs::metadata(log).unwrap().len() > 70_000_000);
}

#[test]
fn patches_without_a_verdict_are_graded_when_the_run_is_taken_up_again() {
    let fixture = Fixture::new(3);
    fixture.script(&["echo good > value.txt"]);
    assert_eq!(fixture.run(&[]).code, 0);
    assert!(grades(&fixture).is_empty());
    let said = fixture.run(&["--resume", "--grade", "--fail-under", "1"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(grades(&fixture).len(), 3);
    let said = fixture.run(&["--resume", "--grade"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(grades(&fixture).len(), 3);
}

#[test]
fn rows_that_cannot_be_graded_are_an_error_before_anything_starts() {
    let mut fixture = Fixture::new(1);
    fixture.script(&["echo good > value.txt"]);
    fixture.change(0, "log_parser", json!("no_such_parser"));
    let said = fixture.run(&["--grade"]);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(said.err.contains("no_such_parser"), "{}", said.err);
    assert!(!fixture.file("run.json").exists());
}

#[test]
fn a_run_is_graded_with_its_own_settings_unless_they_are_given_anew() {
    let mut fixture = Fixture::new(1);
    fixture.script(&["echo good > value.txt"]);
    // What a timeout of a second cuts off, a longer one does not.
    fixture.change(
        0,
        "eval_script",
        json!("echo 'ok 1 value'\necho 'ok 2 keep'\nsleep 3\n"),
    );
    assert_eq!(fixture.run(&["--grade-timeout", "1"]).code, 0);
    let said = fixture.grade(&[]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(verdict(&fixture, 0, 1).timed_out);
    let said = fixture.grade(&["--only", "all", "--grade-timeout", "60"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(!verdict(&fixture, 0, 2).timed_out);

    let said = fixture.grade(&["--sandbox", "bubblewrap"]);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(
        said.err
            .contains("--sandbox is not what the run was made with"),
        "{}",
        said.err
    );
    let said = fixture.grade(&["--sandbox", "local"]);
    assert_eq!(said.code, 0, "{}", said.all());
}

#[test]
fn a_grading_that_failed_counts_until_there_is_a_verdict() {
    let mut fixture = Fixture::new(2);
    fixture.script(&["echo good > value.txt"]);
    let no_fit = "diff --git a/value.txt b/value.txt\n--- a/value.txt\n+++ b/value.txt\n@@ -1 +1 @@\n-other\n+real\n";
    fixture.change(0, "test_patch", json!(no_fit));
    let said = fixture.run(&["--grade"]);
    assert_eq!(said.code, 3, "{}", said.all());
    // Whoever takes the run up without grading has not mended it.
    let retried = fixture.id(1);
    let said = fixture.run(&["--resume", "--retry", &retried]);
    assert_eq!(said.code, 3, "{}", said.all());
    assert!(
        said.out.contains("the row's test patch does not apply"),
        "{}",
        said.out
    );
    let said = fixture.run(&["--resume", "--max-infra-failures", "1"]);
    assert_eq!(said.code, 0, "{}", said.all());
}

#[test]
fn a_runner_that_dies_while_it_grades_is_followed_by_one_that_grades_again() {
    let mut fixture = Fixture::new(1);
    fixture.script(&["echo good > value.txt"]);
    let mark = fixture.place.path().join("mark");
    let script = format!(
        "until test -e {}; do sleep 0.02; done\necho 'ok 1 value'\necho 'ok 2 keep'\n",
        mark.display()
    );
    fixture.change(0, "eval_script", json!(script));
    let mut child = fixture.start(&["--grade"]);
    fixture.wait_for("the grading began", |event| {
        matches!(event, RunEvent::GradeStarted { .. })
    });
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    fs::write(&mark, "").unwrap();

    let said = fixture.run(&["--resume", "--grade", "--fail-under", "1"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(fixture.outcomes().len(), 1, "nothing was solved again");
    assert_eq!(grades(&fixture).len(), 1);
    assert!(verdict(&fixture, 0, 2).resolved);
    assert_eq!(fixture.predictions().len(), 1);
    fixture.assert_clean();
}
