//! Patches that put something in the place of the tests: the row's own are what runs.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::command::Place;
use crate::fixture::Fixture;

const OLD: &str = "test -f keep.txt && echo 'ok 2 keep' || echo 'not ok 2 keep'\n";
const TESTS: &str = "diff --git a/tests/old.sh b/tests/old.sh
--- a/tests/old.sh
+++ b/tests/old.sh
@@ -1 +1,2 @@
+# as the row has it
 test -f keep.txt && echo 'ok 2 keep' || echo 'not ok 2 keep'
diff --git a/tests/new.sh b/tests/new.sh
new file mode 100644
--- /dev/null
+++ b/tests/new.sh
@@ -0,0 +1 @@
+grep -q good value.txt && echo 'ok 1 value' || echo 'not ok 1 value'
";
/// What a forged test prints.
const FORGED: &str = "echo \"echo 'ok 1 value'; echo 'ok 2 keep'\"";

/// What a solver does to the work tree: the first mends the issue, the others bring tests of their own.
const DEEDS: [&str; 10] = [
    "echo good > value.txt",
    "@F > tests/new.sh",
    "mkdir tests/new.sh; @F > tests/new.sh/x; @F > tests/new.sh/tests",
    "@F > forged.sh; ln -s ../forged.sh tests/new.sh",
    "rm -r tests; mkdir evil; @F > evil/new.sh; @F > evil/old.sh; ln -s evil tests",
    "rm -r tests; @F > tests",
    "echo 'tests/' > .gitignore; @F > tests/new.sh; @F > tests/old.sh",
    "rm tests/old.sh",
    "@F >> tests/old.sh; git mv tests/old.sh tests/new.sh; chmod +x tests/new.sh",
    "rm tests/old.sh; @F > forged.sh; ln -s ../forged.sh tests/old.sh; ln -s old.sh tests/new.sh",
];

fn git(directory: &Path, command: &str) -> String {
    let output = Command::new("bash")
        .args(["-ec", command])
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// An instance for each deed, with the prediction that comes of it.
fn fixture(row: impl Fn(&str) -> Value) -> Fixture {
    let mut fixture = Fixture::at(Place::new(), DEEDS.len());
    let mut predictions = Vec::new();
    for (index, deed) in DEEDS.iter().enumerate() {
        let id = fixture.id(index);
        let path = fixture.place.path().join("repos").join(&id);
        git(&path, "git reset -q --hard HEAD~1; mkdir tests");
        fs::write(path.join("tests/old.sh"), OLD).unwrap();
        let commit = "git add -A; git -c user.name=a -c user.email=a@a commit -qm tests";
        let base = git(&path, &format!("{commit}; git rev-parse HEAD"));
        let base = base.trim();
        let patch = git(
            &path,
            &format!(
                "{}; git add -A -f; git diff --cached --binary -M; git reset -q --hard",
                deed.replace("@F", FORGED)
            ),
        );
        fixture.change(index, "base_commit", json!(base));
        fixture.change(index, "test_patch", json!(TESTS));
        for (field, value) in row(base).as_object().unwrap() {
            fixture.change(index, field, value.clone());
        }
        predictions.push(json!({
            "instance_id": id, "model_name_or_path": "m", "model_patch": patch
        }));
    }
    fixture
        .place
        .write("preds.json", Value::from(predictions).to_string());
    fixture
}

/// Grades all; the real tests must have run on each, and only the one that mends the issue resolves it.
fn judge(fixture: &Fixture, flags: &[&str]) {
    let always = [
        "grade",
        "preds.json",
        "--dataset",
        "rows.jsonl",
        "--scratch",
        "scratch",
        "--out",
        "run",
    ];
    let said = fixture.place.run(&[&always, flags].concat());
    assert_eq!(said.code, 0, "{}", said.all());
    for (index, deed) in DEEDS.iter().enumerate() {
        let id = fixture.id(index);
        let log = fixture.file(&format!("instances/{id}/s1-a1/grade-1/test_output.txt"));
        let log = fs::read_to_string(&log).unwrap_or_else(|_| panic!("{deed}: {}", said.all()));
        let lines: Vec<&str> = log.lines().filter(|line| line.contains("ok ")).collect();
        let value = ["not ok 1 value", "ok 1 value"][usize::from(index == 0)];
        let mut expected = vec![value, "ok 2 keep"];
        let mut lines = lines;
        lines.sort_unstable();
        expected.sort_unstable();
        assert_eq!(lines, expected, "{deed}: {log}");
    }
    let report: Value =
        serde_json::from_slice(&fs::read(fixture.file("report.json")).unwrap()).unwrap();
    assert_eq!(report["grading"]["resolved_of_all"]["count"], 1);
    fixture.assert_swept();
}

/// A row whose script puts the tests in their place itself, as the official ones do.
fn with_a_script(base: &str) -> Value {
    let script = format!(
        "git checkout -q {base} -- tests/old.sh\ngit apply - <<'EOF_OF_TESTS'\n{TESTS}EOF_OF_TESTS\nbash tests/new.sh\nbash tests/old.sh\n"
    );
    json!({ "eval_script": script })
}

const RULES: &str = "repository = 'tiny/tiny'\nlog_parser = 'tap'\ntests = 'files'\ntest_command = 'run() { for file; do bash \"$file\"; done; }; run'\n";

#[test]
fn rows_with_a_script_of_their_own_run_their_own_tests() {
    let fixture = fixture(with_a_script);
    judge(&fixture, &["--sandbox", "local"]);
}

#[test]
fn rows_without_a_script_run_their_own_tests() {
    let fixture = fixture(|_| json!({ "eval_script": null, "log_parser": null }));
    fixture.place.write("rules.toml", RULES);
    judge(
        &fixture,
        &["--sandbox", "local", "--repository-rules", "rules.toml"],
    );
}

#[test]
fn rows_run_their_own_tests_in_containers() {
    let Some(image) = testkit::docker_image("base") else {
        return;
    };
    let fixture = fixture(|base| {
        let mut row = with_a_script(base);
        row["image"] = json!(image);
        row
    });
    judge(&fixture, &["--sandbox", "docker"]);
}
