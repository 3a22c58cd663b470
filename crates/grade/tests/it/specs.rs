//! Grading data out of answer keys.

use grade::{SpecError, spec, test_paths};
use schema::grading::EvalType;
use schema::instance::AnswerKey;

fn answer() -> AnswerKey {
    AnswerKey {
        test_patch: Some(
            "diff --git a/tests/old.py b/tests/old.py\n--- a/tests/old.py\n+++ b/tests/old.py\n@@ -1 +1 @@\n-a\n+b\n\
             diff --git a/tests/new.py b/tests/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/tests/new.py\n@@ -0,0 +1 @@\n+a\n\
             diff --git a/tests/from.py b/tests/to.py\nsimilarity index 100%\nrename from tests/from.py\nrename to tests/to.py\n"
                .to_owned(),
        ),
        fail_to_pass: vec!["t.py::a".to_owned()],
        eval_script: Some("pytest -rA".to_owned()),
        log_parser: Some("pytest".to_owned()),
        eval_timeout: Some(60),
        ..AnswerKey::default()
    }
}

#[test]
fn a_row_with_all_fields() {
    let spec = spec(&answer()).unwrap();
    assert_eq!(spec.log_parser, "pytest");
    assert_eq!(spec.timeout_seconds, Some(60));
    assert_eq!(spec.eval_type, EvalType::PassAndFail);
    assert!(spec.test_patch.is_some());
}

#[test]
fn a_script_that_applies_the_test_patch_itself() {
    for script in [
        "git apply -v - <<'EOF'\nEOF\npytest -rA",
        ": '>>>>> Start Test Output'\npytest",
    ] {
        let answer = AnswerKey {
            eval_script: Some(script.to_owned()),
            ..answer()
        };
        assert_eq!(spec(&answer).unwrap().test_patch, None);
    }
}

#[test]
fn what_is_missing_is_named() {
    let without = |change: fn(&mut AnswerKey)| {
        let mut answer = answer();
        change(&mut answer);
        spec(&answer).unwrap_err()
    };
    let missing = |field| SpecError::Missing { field };
    assert_eq!(
        without(|answer| answer.eval_script = None),
        missing("eval_script")
    );
    assert_eq!(
        without(|answer| answer.eval_script = Some(" ".to_owned())),
        missing("eval_script")
    );
    assert_eq!(
        without(|answer| answer.log_parser = None),
        missing("log_parser")
    );
    assert_eq!(
        without(|answer| answer.fail_to_pass.clear()),
        missing("FAIL_TO_PASS")
    );
    let unknown = without(|answer| answer.log_parser = Some("parse_log_cobol".to_owned()));
    let source = std::error::Error::source(&unknown).unwrap().to_string();
    assert!(
        source.contains("`parse_log_cobol`") && source.contains("tap"),
        "{source}"
    );
    let unknown =
        without(|answer| drop(answer.extra.insert("eval_type".to_owned(), "both".into())));
    assert_eq!(unknown, SpecError::EvalType("both".to_owned()));
}

#[test]
fn files_of_the_test_patch() {
    let paths = test_paths(&answer()).unwrap();
    let names = |paths: &std::collections::BTreeSet<patch::PatchPath>| -> Vec<String> {
        paths.iter().map(ToString::to_string).collect()
    };
    assert_eq!(names(&paths.restore), ["tests/from.py", "tests/old.py"]);
    assert_eq!(names(&paths.remove), ["tests/new.py", "tests/to.py"]);
    assert!(
        test_paths(&AnswerKey::default())
            .unwrap()
            .restore
            .is_empty()
    );
}

#[test]
fn parsers_have_the_names_that_datasets_use() {
    for name in [
        "pytest",
        "parse_log_pytest",
        "parse_log_xarray",
        "tap",
        "parse_log_tap",
    ] {
        assert!(grade::parser(name).is_ok(), "{name}");
    }
    assert!(grade::parser("parse_log_").is_err());
    assert!(grade::parser("").is_err());
}
