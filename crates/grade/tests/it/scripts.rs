//! Scripts made for rows that carry none, really run by bash in a real repository.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use grade::{Rules, log, resolve, wrap};
use pretty_assertions::assert_eq;
use schema::grading::GradingSpec;
use schema::instance::{AnswerKey, Instance};
use serde_json::json;

use crate::specs::{answer_with, instance};

const NONCE: &str = "n0nce";

/// Changes a file whose lines end in carriage returns, and adds one.
const TEST_PATCH: &str = "\
diff --git a/old.txt b/old.txt
--- a/old.txt
+++ b/old.txt
@@ -1,2 +1,2 @@
 first\r
-second\r
+changed\r
diff --git a/new file.txt b/new file.txt
new file mode 100644
--- /dev/null
+++ b/new file.txt
@@ -0,0 +1 @@
+added
";

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(directory)
        .args([
            "-c",
            "user.name=Tester",
            "-c",
            "user.email=tester@example.org",
        ])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository with `old.txt`, and an instance that starts from its commit.
fn repository() -> (tempfile::TempDir, Instance) {
    let directory = tempfile::tempdir().unwrap();
    git(directory.path(), &["init", "--quiet"]);
    fs::write(directory.path().join("old.txt"), "first\r\nsecond\r\n").unwrap();
    git(directory.path(), &["add", "."]);
    git(
        directory.path(),
        &["commit", "--quiet", "--message", "Begin"],
    );
    let base = git(directory.path(), &["rev-parse", "HEAD"]);
    let mut instance = instance("o/r", None);
    instance.base_commit = Some(base);
    (directory, instance)
}

fn rules(more: &str) -> Rules {
    let mut rules = Rules::default();
    let text = format!("repository = 'o/r'\nlog_parser = 'tap'\ntests = 'files'\n{more}");
    rules.add("mine.toml", &text).unwrap();
    rules
}

/// The log of a specification's script, and its exit code.
fn run(directory: &Path, spec: &GradingSpec) -> (log::LogParts, Option<i32>) {
    use std::io::Write;
    let mut child = Command::new("bash")
        .arg("-s")
        .current_dir(directory)
        .env("HOME", directory.join(".git"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let script = wrap(spec, NONCE);
    child
        .stdin
        .take()
        .unwrap()
        .write_all(script.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    (log::read(&output.stdout, NONCE), output.status.code())
}

fn answer(test_patch: &str) -> AnswerKey {
    AnswerKey {
        test_patch: Some(test_patch.to_owned()),
        ..answer_with(&json!({}))
    }
}

#[test]
fn the_tests_are_put_in_their_places_whatever_happened_to_them() {
    let (directory, instance) = repository();
    let install = "install = \"echo forged > old.txt; mkdir 'new file.txt'; echo forged > 'new file.txt/x'\"\n";
    let rules = rules(&format!("{install}test_command = 'tail -n1'\n"));
    // A name with a space is one word.
    let spec = resolve(&instance, &answer(TEST_PATCH), &rules)
        .unwrap()
        .spec;
    assert!(spec.eval_script.contains("rm -rf -- 'new file.txt'\n"));
    let (parts, code) = run(directory.path(), &spec);
    assert_eq!(code, Some(0), "{}", parts.whole());
    assert_eq!(
        fs::read_to_string(directory.path().join("old.txt")).unwrap(),
        "first\r\nchanged\r\n"
    );
    assert_eq!(
        fs::read_to_string(directory.path().join("new file.txt")).unwrap(),
        "added\n"
    );
    assert_eq!(parts.test_exit, Some(0));
}

#[test]
fn a_commit_that_is_not_there_is_no_obstacle() {
    let (directory, mut instance) = repository();
    instance.base_commit = Some("0123456789abcdef0123456789abcdef01234567".to_owned());
    let rules = rules("install = 'rm old.txt'\ntest_command = 'true'\n");
    let spec = resolve(&instance, &answer(TEST_PATCH), &rules)
        .unwrap()
        .spec;
    let (parts, code) = run(directory.path(), &spec);
    assert_eq!(code, Some(0), "{}", parts.whole());
    assert!(directory.path().join("new file.txt").exists());
}

#[test]
fn tests_that_cannot_be_placed_are_not_run() {
    let (directory, instance) = repository();
    let other = TEST_PATCH.replace("-second", "-unknown");
    let rules = rules("test_command = 'echo ok 1 - ran'\n");
    let spec = resolve(&instance, &answer(&other), &rules).unwrap().spec;
    let (parts, code) = run(directory.path(), &spec);
    assert_eq!(code, Some(1));
    assert_eq!(parts.tests(), None);
    assert!(parts.whole().contains("the test patch does not apply"));
    assert!(!parts.whole().contains("ok 1 - ran"));
}

#[test]
fn a_test_patch_without_its_last_newline_is_whole() {
    let (directory, instance) = repository();
    let rules = rules("test_command = 'true'\n");
    let spec = resolve(&instance, &answer(TEST_PATCH.trim_end()), &rules)
        .unwrap()
        .spec;
    let (parts, code) = run(directory.path(), &spec);
    assert_eq!(code, Some(0), "{}", parts.whole());
    assert!(directory.path().join("new file.txt").exists());
}

#[test]
fn the_exit_code_of_the_tests_is_told() {
    let (directory, instance) = repository();
    let rules = rules("test_command = ['echo ok 1 - a', '(exit 3)']\n");
    let spec = resolve(&instance, &answer(""), &rules).unwrap().spec;
    let (parts, code) = run(directory.path(), &spec);
    assert_eq!((parts.test_exit, code), (Some(3), Some(3)));
    assert!(parts.tests().unwrap().contains("\nok 1 - a\n"));
    assert!(!parts.repeated_marks);
}

#[test]
fn what_differs_from_machine_to_machine_is_fixed() {
    let (directory, instance) = repository();
    let printed = |setup: &str| {
        let rules = rules(&format!(
            "{setup}test_command = 'echo is $TZ $PYTHONHASHSEED'\n"
        ));
        let spec = resolve(&instance, &answer(""), &rules).unwrap().spec;
        let (parts, _) = run(directory.path(), &spec);
        let mut lines = parts.tests().unwrap().lines();
        let told = lines.find_map(|line| line.strip_prefix("is "));
        told.unwrap().to_owned()
    };
    assert_eq!(printed(""), "UTC 0");
    assert_eq!(printed("setup = 'export TZ=Asia/Tokyo'\n"), "Asia/Tokyo 0");
    // A row's own script is the row's alone.
    let own = GradingSpec {
        eval_script: "echo is ${PYTHONHASHSEED-free}".to_owned(),
        ..GradingSpec::default()
    };
    assert!(!wrap(&own, NONCE).contains("PYTHONHASHSEED="));
}

#[test]
fn the_scripts_of_swe_bench_pro_are_run_and_their_result_printed() {
    let (directory, mut instance) = repository();
    instance.id = schema::InstanceId::new("instance_o__r-1");
    let fields = json!({
        "interface": "i",
        "run_script": "echo \"ran $1\"; echo 'to stderr' >&2; exit 1",
        "parser_script": "import json, sys\nout, err, result = sys.argv[1:]\nnames = [open(out).read().strip(), open(err).read().strip()]\n\
                          json.dump({'tests': [{'name': name, 'status': 'PASSED'} for name in names]}, open(result, 'w'))\n",
        "selected_test_files_to_run": ["a.py", "b c.py"],
    });
    let answer = AnswerKey {
        log_parser: Some("tap".to_owned()),
        test_patch: Some(TEST_PATCH.to_owned()),
        ..answer_with(&fields)
    };
    let spec = resolve(&instance, &answer, &Rules::default()).unwrap().spec;
    let (parts, code) = run(directory.path(), &spec);
    assert_eq!(code, Some(0), "{}", parts.whole());
    let printed = parts.tests().unwrap();
    let json = printed.lines().find(|line| line.starts_with('{')).unwrap();
    let result: serde_json::Value = serde_json::from_str(json.split("+ ").next().unwrap()).unwrap();
    assert_eq!(result["tests"][0]["name"], "ran a.py,b c.py");
    assert_eq!(result["tests"][1]["name"], "to stderr");
}

#[test]
fn carriage_returns_of_an_editor_go_and_those_of_a_patch_stay() {
    let spec = |script: &str| GradingSpec {
        eval_script: script.to_owned(),
        ..GradingSpec::default()
    };
    assert!(!wrap(&spec("echo a\r\necho b\r\n"), NONCE).contains('\r'));
    let some = "cat <<'E'\n+changed\r\nE\n";
    assert!(wrap(&spec(some), NONCE).contains("+changed\r\n"));
}
