//! Which patches of a run are graded again, and logs that are judged again without a sandbox.

use std::collections::BTreeMap;
use std::fs;

use schema::RunEvent;
use schema::report::GradingReport;
use serde_json::{Value, json};

use crate::fixture::Fixture;

const RULES: &str = "repository = 'tiny/tiny'\nlog_parser = 'PARSER'\ntests = 'files'\ninstall = 'true'\ntest_command = 'bash'\n";

/// A change to the tests for rows that have no script of their own.
const CHECK: &str = "diff --git a/check.sh b/check.sh\nnew file mode 100644\n--- /dev/null\n+++ b/check.sh\n@@ -0,0 +1,2 @@\n\
    +grep -q good value.txt && echo 'ok 1 value' || echo 'not ok 1 value'\n+echo 'ok 2 keep'\n";

fn without_script(fixture: &mut Fixture, index: usize) {
    fixture.change(index, "eval_script", Value::Null);
    fixture.change(index, "log_parser", Value::Null);
    fixture.change(index, "test_patch", json!(CHECK));
}

/// How often the patch of each instance was graded, with a verdict or without.
fn gradings(fixture: &Fixture) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for event in fixture.events() {
        if let RunEvent::GradeFinished { key, .. } | RunEvent::GradeFailed { key, .. } = event {
            *counts.entry(key.instance_id.to_string()).or_default() += 1;
        }
    }
    counts
}

fn report(fixture: &Fixture, index: usize, grading: u32) -> GradingReport {
    let path = format!(
        "instances/{}/s1-a1/grade-{grading}/verdict.json",
        fixture.id(index)
    );
    serde_json::from_slice(&fs::read(fixture.file(&path)).unwrap()).unwrap()
}

#[test]
fn only_the_patches_that_are_asked_for_are_graded_again() {
    let mut fixture = Fixture::new(3);
    without_script(&mut fixture, 1);
    fixture.script(&["echo good > value.txt"]);
    assert_eq!(fixture.run(&[]).code, 0);
    let two = format!("{},{}", fixture.id(0), fixture.id(1));
    let counts = |expected: [usize; 3]| {
        let found = gradings(&fixture);
        let count = |index| found.get(&fixture.id(index)).copied().unwrap_or_default();
        assert_eq!([0, 1, 2].map(count), expected);
    };

    // Nobody has said how the second one is tested.
    let said = fixture.grade(&["--ids", &two]);
    assert_eq!(said.code, 3, "{}", said.all());
    counts([1, 1, 0]);
    // It was concluded, though without a verdict.
    let said = fixture.grade(&["--ids", &two]);
    assert_eq!(said.code, 3, "{}", said.all());
    counts([1, 1, 0]);
    fixture
        .place
        .write("rules/tiny.toml", RULES.replace("PARSER", "tap"));
    let said = fixture.grade(&["--only", "infra", "--repository-rules", "rules"]);
    assert_eq!(said.code, 0, "{}", said.all());
    counts([1, 2, 0]);
    let said = fixture.grade(&["--only", "unscored"]);
    assert_eq!(said.code, 0, "{}", said.all());
    counts([1, 2, 1]);
    let said = fixture.grade(&["--only", "unscored"]);
    assert_eq!(
        (said.code, said.out.contains("3 resolved")),
        (0, true),
        "{}",
        said.all()
    );
    counts([1, 2, 1]);
    fixture.assert_clean();
}

#[test]
fn logs_of_a_run_are_judged_again_by_other_rules_without_a_sandbox() {
    let mut fixture = Fixture::new(3);
    without_script(&mut fixture, 0);
    fixture.script_of(0, &["echo good > value.txt"]);
    fixture.script_of(1, &["echo good > value.txt"]);
    fixture.script_of(2, &["true"]);
    fixture
        .place
        .write("rules/tiny.toml", RULES.replace("PARSER", "pytest"));
    let flags = [
        "--model",
        "script:scripts",
        "--max-steps",
        "1",
        "--grade",
        "--repository-rules",
        "rules",
    ];
    let said = fixture.run(&flags);
    assert_eq!(said.code, 0, "{}", said.all());
    let first = report(&fixture, 0, 1);
    assert!(!first.verdict.resolved, "the wrong parser finds no test");

    fixture
        .place
        .write("rules/tiny.toml", RULES.replace("PARSER", "tap"));
    // There is nothing left that a test could be run on.
    fs::rename(
        fixture.place.path().join("repos"),
        fixture.place.path().join("elsewhere"),
    )
    .unwrap();
    let said = fixture.grade(&["--from-logs"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(
        said.err
            .contains("2 logs judged again, 1 with another verdict; 1 patch without a log"),
        "{}",
        said.all()
    );
    let again = report(&fixture, 0, 2);
    assert_eq!(
        (again.verdict.resolved, again.judged_again),
        (true, Some(1))
    );
    let (one, other) = (report(&fixture, 1, 1), report(&fixture, 1, 2));
    assert_eq!(other.verdict, one.verdict);
    // The earlier gradings stay, and the counts are those of now.
    assert_eq!(report(&fixture, 0, 1), first);
    let summary: Value =
        serde_json::from_slice(&fs::read(fixture.file("report.json")).unwrap()).unwrap();
    assert_eq!(summary["grading"]["buckets"]["resolved"], 2);
    assert_eq!(summary["grading"]["buckets"]["empty_patch"], 1);

    let said = fixture.grade(&["--from-logs", "--fail-under", "0.9"]);
    assert_eq!(said.code, 1, "{}", said.all());
    let said = fixture.place.run(&["grade", "rows.jsonl", "--from-logs"]);
    assert_eq!(said.code, 2, "{}", said.all());
}
