//! How rows are graded: where script, parser and the way to count come from, and what is said when something is missing.

use grade::{Resolved, Rules, SpecError, resolve, test_paths};
use pretty_assertions::assert_eq;
use schema::grading::{EvalType, Origin};
use schema::instance::{AnswerKey, Instance, InstanceId};
use serde_json::{Value, json};

pub(crate) const TEST_PATCH: &str = "\
diff --git a/tests/old.py b/tests/old.py
--- a/tests/old.py
+++ b/tests/old.py
@@ -1 +1 @@
-a
+b
diff --git a/tests/new.py b/tests/new.py
new file mode 100644
--- /dev/null
+++ b/tests/new.py
@@ -0,0 +1 @@
+a
diff --git a/tests/from.py b/tests/to.py
similarity index 100%
rename from tests/from.py
rename to tests/to.py
diff --git a/tests/gone.py b/tests/gone.py
deleted file mode 100644
--- a/tests/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-a
diff --git a/tests/data.json b/tests/data.json
--- a/tests/data.json
+++ b/tests/data.json
@@ -1 +1 @@
-a
+b
";

pub(crate) fn instance(repo: &str, version: Option<&str>) -> Instance {
    Instance {
        id: InstanceId::new("o__r-1"),
        repo: repo.to_owned(),
        base_commit: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
        statement: "It breaks.".to_owned(),
        repo_path: None,
        workdir: None,
        image: None,
        version: version.map(str::to_owned),
        statement_images: Vec::new(),
    }
}

/// A row that says all by itself.
pub(crate) fn answer() -> AnswerKey {
    AnswerKey {
        test_patch: Some(TEST_PATCH.to_owned()),
        fail_to_pass: vec!["t.py::a".to_owned()],
        eval_script: Some("pytest -rA".to_owned()),
        log_parser: Some("pytest".to_owned()),
        eval_timeout: Some(60),
        ..AnswerKey::default()
    }
}

/// A row that says nothing, but for these fields.
pub(crate) fn answer_with(extra: &Value) -> AnswerKey {
    AnswerKey {
        eval_script: None,
        log_parser: None,
        eval_timeout: None,
        extra: extra.as_object().unwrap().clone(),
        ..answer()
    }
}

fn resolved(answer: &AnswerKey) -> Resolved {
    resolve(&instance("o/r", None), answer, &Rules::default()).unwrap()
}

fn error(instance: &Instance, answer: &AnswerKey) -> SpecError {
    resolve(instance, answer, &Rules::default()).unwrap_err()
}

fn row(field: &str) -> Origin {
    Origin::Row(field.to_owned())
}

/// The lines of a script that are none of a test patch.
fn lines(script: &str) -> Vec<&str> {
    let (before, rest) = script.split_once("cat <<'").unwrap();
    let (_, after) = rest.split_once("\n}\n").unwrap();
    before.lines().chain(after.lines()).collect()
}

#[test]
fn a_row_with_all_fields() {
    let Resolved {
        spec, provenance, ..
    } = resolved(&answer());
    assert_eq!(spec.instance_id, "o__r-1");
    assert_eq!(spec.eval_script, "pytest -rA");
    assert_eq!(spec.log_parser, "pytest");
    assert_eq!(spec.timeout_seconds, Some(60));
    assert_eq!(spec.eval_type, EvalType::PassAndFail);
    assert_eq!(spec.test_patch.as_deref(), Some(TEST_PATCH));
    assert_eq!(provenance.eval_script, row("eval_script"));
    assert_eq!(provenance.log_parser, row("log_parser"));
    assert_eq!(provenance.eval_type, Origin::Default);
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
        assert_eq!(resolved(&answer).spec.test_patch, None);
    }
}

#[test]
fn the_built_in_rules_are_for_rows_that_say_nothing() {
    let answer = answer_with(&json!({}));
    let flask = instance("pallets/flask", Some("2.3"));
    let Resolved {
        spec, provenance, ..
    } = resolve(&flask, &answer, &Rules::default()).unwrap();
    let rules = Origin::Rules {
        file: "built-in:flask.toml".to_owned(),
        version: Some("2.3".to_owned()),
    };
    assert_eq!(spec.log_parser, "pytest");
    assert_eq!(spec.version, "2.3");
    assert_eq!(spec.test_patch, None, "the script applies it");
    assert_eq!(
        (&provenance.eval_script, &provenance.log_parser),
        (&rules, &rules)
    );
    assert_eq!(rules.to_string(), "by built-in:flask.toml for version 2.3");
    // What the row says goes before what the rules say.
    let own = AnswerKey {
        log_parser: Some("tap".to_owned()),
        ..answer
    };
    let Resolved {
        spec, provenance, ..
    } = resolve(&flask, &own, &Rules::default()).unwrap();
    assert_eq!(spec.log_parser, "tap");
    assert_eq!(provenance.log_parser, row("log_parser"));
    assert_eq!(provenance.eval_script, rules);
}

#[test]
fn the_order_is_that_of_the_official_scripts() {
    let flask = instance("pallets/flask", Some("2.3"));
    let resolved = resolve(&flask, &answer_with(&json!({})), &Rules::default()).unwrap();
    let base = "0123456789abcdef0123456789abcdef01234567";
    let files = "tests/data.json tests/from.py tests/gone.py tests/old.py";
    assert_eq!(
        lines(&resolved.spec.eval_script),
        [
            "#!/bin/bash",
            "set -uxo pipefail",
            "export TZ=UTC PYTHONHASHSEED=0",
            "python -m pip install -e .",
            "git config --global --add safe.directory \"$PWD\"",
            &format!("git checkout {base} -- {files} || git checkout HEAD -- {files}"),
            "rm -rf -- tests/new.py tests/to.py",
            "patchmill_test_patch() {",
            "patchmill_test_patch | git apply --verbose - \\",
            "    || patchmill_test_patch | patch --batch --forward -p1 \\",
            "    || { echo 'the test patch does not apply'; exit 1; }",
            ": '>>>>> Start Test Output'",
            "pytest -rA tests/old.py tests/new.py tests/to.py",
            "patchmill_tests=$?",
            ": '>>>>> End Test Output'",
            "{ set +x; } 2>/dev/null",
            "printf '\\n>>>>> Test Exit Code: %s\\n' \"$patchmill_tests\"",
            "exit \"$patchmill_tests\"",
        ]
    );
    assert!(resolved.spec.eval_script.contains(TEST_PATCH));
}

#[test]
fn the_rows_of_swe_rebench_bring_their_installation() {
    let config = json!({
        "python": "3.9", "install": "pip install -e .[dev]", "pre_install": null, "env_vars": null,
        "test_cmd": "pytest --no-header -rA", "log_parser": "parse_log_pytest",
    });
    let Resolved {
        spec, provenance, ..
    } = resolved(&answer_with(&json!({"install_config": config})));
    let lines = lines(&spec.eval_script);
    assert_eq!(
        &lines[..5],
        [
            "#!/bin/bash",
            "set -uxo pipefail",
            "export TZ=UTC PYTHONHASHSEED=0",
            "export LANG=C.UTF-8 LC_ALL=C.UTF-8",
            "pip install -e .[dev]"
        ]
    );
    assert!(lines.contains(&"pytest --no-header -rA tests/old.py tests/new.py tests/to.py"));
    assert_eq!(spec.log_parser, "parse_log_pytest");
    assert_eq!(provenance.eval_script, row("install_config"));
    assert_eq!(provenance.log_parser, row("install_config.log_parser"));
    // A list of commands is complete.
    let config = json!({"test_cmd": ["cd tests", "pytest -rA x.py"], "log_parser": "pytest"});
    let spec = resolved(&answer_with(&json!({"install_config": config}))).spec;
    assert!(
        spec.eval_script
            .contains("\ncd tests\npytest -rA x.py\npatchmill_tests=$?\n")
    );
}

#[test]
fn the_rows_of_swe_bench_live_bring_their_commands() {
    let fields =
        json!({"test_cmds": ["pytest -rA a.py"], "log_parser": "pytest", "rebuild_cmds": []});
    let mut answer = answer_with(&fields);
    answer.log_parser = Some("pytest".to_owned());
    let Resolved {
        spec, provenance, ..
    } = resolved(&answer);
    assert!(
        spec.eval_script
            .contains(": '>>>>> Start Test Output'\npytest -rA a.py\n")
    );
    assert_eq!(provenance.eval_script, row("test_cmds"));
    // Where what was printed is printed again later, only that is read.
    answer.extra["rebuild_cmds"] = json!(["make"]);
    answer
        .extra
        .insert("print_cmds".to_owned(), json!(["cat log"]));
    let script = resolved(&answer).spec.eval_script;
    assert!(script.contains("\nmake\npytest -rA a.py\n: '>>>>> Start Test Output'\ncat log\n"));
}

#[test]
fn a_parser_that_is_a_program_needs_the_rows_own_commands() {
    let program = "def parse(log):\n    return {}\n";
    let fields = json!({"test_cmd": "make check", "parser": program});
    let error = error(&instance("o/r", None), &answer_with(&fields));
    assert_eq!(error, SpecError::ParserProgram { field: "parser" });
    let fields = json!({"test_cmds": ["make check"], "parser": program});
    // Rules may name one of ours instead.
    let mut rules = Rules::default();
    rules
        .add("mine.toml", "repository = 'o/r'\nlog_parser = 'tap'\n")
        .unwrap();
    let resolved = resolve(&instance("o/r", None), &answer_with(&fields), &rules).unwrap();
    assert_eq!(resolved.spec.log_parser, "tap");
    assert_eq!(resolved.provenance.log_parser.to_string(), "by mine.toml");
    assert_eq!(resolved.provenance.eval_script, row("test_cmds"));
}

#[test]
fn a_row_with_a_command_of_its_own() {
    let mut answer = answer_with(&json!({"test_cmd": "make check", "install": "make"}));
    answer.log_parser = Some("tap".to_owned());
    let Resolved {
        spec, provenance, ..
    } = resolved(&answer);
    assert!(
        spec.eval_script
            .contains("set -x\nexport TZ=UTC PYTHONHASHSEED=0\nmake\n")
    );
    assert!(
        spec.eval_script
            .contains("Start Test Output'\nmake check\n")
    );
    assert_eq!(provenance.eval_script, row("test_cmd"));
    // Published rows have these fields empty.
    let blank = answer_with(&json!({"test_cmd": "", "install": "", "install_config": null}));
    assert!(matches!(
        error(&instance("o/r", None), &blank),
        SpecError::NoRules { .. }
    ));
}

#[test]
fn what_is_missing_is_named() {
    let none = || answer_with(&json!({}));
    let no_rules = error(&instance("django/djang", Some("3.2")), &none());
    assert_eq!(
        no_rules.to_string(),
        "read grading data: the row has no eval_script, and there are no rules for the repository `django/djang`"
    );
    assert_eq!(
        no_rules.hints(),
        [
            "say how its tests are run with --repository-rules FILE",
            "there are rules for django/django: is one of them meant?"
        ]
    );
    let no_version = error(&instance("pallets/flask", Some("1.0")), &none());
    assert_eq!(
        no_version.to_string(),
        "read grading data: the row has no eval_script, and built-in:flask.toml has no version `1.0`"
    );
    assert!(no_version.hints()[1].starts_with("it knows 2.0, 2.1"));
    let no_version = error(&instance("pallets/flask", None), &none());
    assert!(
        no_version
            .to_string()
            .ends_with("has no version for a row without one")
    );
    assert_eq!(error(&instance("", None), &none()), SpecError::NoRepository);

    let mut no_tests = answer();
    no_tests.fail_to_pass.clear();
    let missing = |field| SpecError::Missing { field };
    assert_eq!(
        error(&instance("o/r", None), &no_tests),
        missing("FAIL_TO_PASS")
    );
    let no_parser = AnswerKey {
        log_parser: None,
        ..answer()
    };
    assert_eq!(
        error(&instance("o/r", None), &no_parser),
        missing("log_parser")
    );
    let no_script = AnswerKey {
        eval_script: Some(" \n".to_owned()),
        ..answer()
    };
    assert!(matches!(
        error(&instance("o/r", None), &no_script),
        SpecError::NoRules { .. }
    ));
}

#[test]
fn what_is_wrong_is_named() {
    let mut unknown = answer();
    unknown.log_parser = Some("parse_log_pytst".to_owned());
    let unknown = error(&instance("o/r", None), &unknown);
    let source = std::error::Error::source(&unknown).unwrap().to_string();
    assert!(source.contains("`parse_log_pytst`"), "{source}");
    assert!(
        unknown.hints()[0].contains("pytest"),
        "{:?}",
        unknown.hints()
    );

    let mut both = answer();
    both.extra.insert("eval_type".to_owned(), json!("both"));
    assert_eq!(
        error(&instance("o/r", None), &both),
        SpecError::EvalType("both".to_owned())
    );
    let told = |extra: Value| error(&instance("o/r", None), &answer_with(&extra)).to_string();
    assert_eq!(
        told(json!({"install_config": "x"})),
        "read grading data: the row's `install_config` must be an object"
    );
    assert_eq!(
        told(json!({"install_config": {"test_cmd": 3}})),
        "read grading data: the row's `install_config` must be commands"
    );
    assert_eq!(
        told(json!({"test_cmds": ["a", null]})),
        "read grading data: the row's `test_cmds` must be commands"
    );
    assert_eq!(
        told(json!({"run_script": "x"})),
        "read grading data: the row has no parser_script"
    );
    let broken = AnswerKey {
        test_patch: Some("no patch".to_owned()),
        ..answer_with(&json!({}))
    };
    let flask = instance("pallets/flask", Some("2.3"));
    assert!(matches!(error(&flask, &broken), SpecError::TestPatch(_)));
}

#[test]
fn files_of_the_test_patch() {
    let paths = test_paths(&answer()).unwrap();
    let names = |paths: &std::collections::BTreeSet<patch::PatchPath>| -> Vec<String> {
        paths.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        names(&paths.restore),
        [
            "tests/data.json",
            "tests/from.py",
            "tests/gone.py",
            "tests/old.py"
        ]
    );
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

/// The name of the parser for a row.
fn parser_of(repo: &str, extra: &Value) -> String {
    let resolved = resolve(
        &instance(repo, None),
        &answer_with(extra),
        &Rules::default(),
    );
    resolved.unwrap().spec.log_parser
}

#[test]
fn rows_of_each_dataset_get_its_parser() {
    let smith = |repo: &str| parser_of(&format!("swesmith/{repo}.01234567"), &json!({}));
    assert_eq!(smith("mewwts__addict"), "swe_smith");
    assert_eq!(smith("HIPS__autograd"), "swe_smith_autograd");
    assert_eq!(smith("python__mypy"), "swe_smith_mypy");
    assert_eq!(smith("paramiko__paramiko"), "swe_smith_paramiko");
    assert_eq!(smith("un33k__python-slugify"), "swe_smith_slugify");
    assert_eq!(smith("tornadoweb__tornado"), "swe_smith_tornado");
    assert_eq!(smith("gin-gonic__gin"), "swe_smith_gotest");
    assert_eq!(smith("expressjs__express"), "swe_smith_mocha");
    assert_eq!(smith("trpc__trpc"), "swe_smith_vitest");
    assert_eq!(smith("google__gson"), "swe_smith_surefire");
    assert_eq!(smith("Netflix__eureka"), "swe_smith_junit");
    assert_eq!(smith("clap-rs__clap"), "swe_smith_cargo");
    assert_eq!(smith("google__draco"), "swe_smith_googletest");
    assert_eq!(smith("doctrine__dbal"), "swe_smith_phpunit");
    assert_eq!(smith("microsoft__VirtualClient"), "swe_smith_dotnet");
    let r2e = json!({"expected_output_json": {"T.a": "PASSED"}});
    assert_eq!(parser_of("", &r2e), "r2e_gym");
    let pro = json!({"run_script": "x", "parser_script": "y"});
    assert_eq!(parser_of("o/r", &pro), "swe_bench_pro");
    let live = json!({"test_cmds": ["pytest -rA"], "log_parser": "pytest"});
    let live = AnswerKey {
        log_parser: Some("pytest".to_owned()),
        ..answer_with(&live)
    };
    let live = resolve(&instance("o/r", None), &live, &Rules::default()).unwrap();
    assert_eq!(live.spec.log_parser, "pytest");
    assert_eq!(parser_of("python/mypy", &json!({})), "pytest", "SWE-Gym");
}

#[test]
fn repositories_of_swe_smith_without_a_profile_are_named_unless_their_tests_are_of_pytest() {
    let row = |repo: &str, test: &str| {
        let answer = AnswerKey {
            fail_to_pass: vec![test.to_owned()],
            ..answer_with(&json!({}))
        };
        let instance = instance(&format!("swesmith/{repo}.01234567"), None);
        resolve(&instance, &answer, &Rules::default())
    };
    let pytest = row("mine__project", "tests/test_a.py::T::b").unwrap().spec;
    assert_eq!(pytest.log_parser, "swe_smith");
    assert!(
        pytest.eval_script.contains("--verbose tests/test_a.py\n"),
        "{}",
        pytest.eval_script
    );
    // SWE-smith's own profile of jQuery names a parser that it does not have.
    for repo in ["mine__project", "jquery__jquery"] {
        let error = row(repo, "adds two numbers").unwrap_err();
        assert_eq!(
            error,
            SpecError::NoRules {
                repository: format!("swesmith/{repo}.01234567"),
                nearest: Vec::new(),
            }
        );
    }
}

#[test]
fn a_command_may_get_the_packages_that_the_bug_is_in() {
    let answer = AnswerKey {
        start_patch: Some(
            "--- a/packages/core/src/a.js\n+++ b/packages/core/src/a.js\n@@ -1 +1 @@\n-a\n+b\n--- a/Makefile\n+++ b/Makefile\n@@ -1 +1 @@\n-a\n+b\n"
                .to_owned(),
        ),
        ..answer_with(&json!({}))
    };
    let babel = instance("swesmith/babel__babel.2ea3fc8f", None);
    let script = resolve(&babel, &answer, &Rules::default()).unwrap().spec;
    assert!(
        script
            .eval_script
            .contains("yarn jest --verbose packages/core\n"),
        "{}",
        script.eval_script
    );
}

#[test]
fn undoing_what_makes_a_task_is_its_known_fix() {
    let bug = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-whole\n+broken\n";
    let mut answer = AnswerKey {
        start_patch: Some(bug.to_owned()),
        fail_to_pass: ["t.py::a", "mod::tests::b", "t.py::c", "d"]
            .map(str::to_owned)
            .into(),
        pass_to_pass: vec!["u.py::e".to_owned()],
        ..AnswerKey::default()
    };
    let fix = grade::known_fix(&answer).unwrap();
    assert!(fix.contains("-broken\n+whole\n"), "{fix}");
    assert_eq!(grade::withheld_tests(&answer), ["t.py"]);
    // Whatever a patch does to the files of the tests that are named does not count.
    let paths = test_paths(&answer).unwrap();
    let names: Vec<_> = paths
        .restore
        .iter()
        .map(|path| path.to_str_lossy().into_owned())
        .collect();
    assert_eq!(names, ["t.py", "u.py"]);
    answer.patch = Some("FIX".to_owned());
    assert_eq!(grade::known_fix(&answer).as_deref(), Some("FIX"));
    answer.start_patch = None;
    assert_eq!(grade::withheld_tests(&answer), [""; 0]);
}

#[test]
fn all_results_of_r2e_gym_must_be_those_expected() {
    let row = |expected: Value| {
        let answer = answer_with(&json!({"expected_output_json": expected}));
        resolve(&instance("", None), &answer, &Rules::default())
    };
    let spec = row(json!({
        "T.a": "PASSED", "T.\u{1b}[1mb\u{1b}[0m - AssertionError": "FAILED",
    }));
    let spec = spec.unwrap().spec;
    let judge = |summary: &str| {
        let log = format!("Applied patch\n=== short test summary info ===\n{summary}");
        let log = grade::log::read_official(log.as_bytes());
        let evidence = grade::Evidence {
            application: schema::grading::PatchApplication::Applied,
            log: Some(&log),
            timed_out: false,
            exit_code: None,
        };
        let spec = schema::grading::GradingSpec {
            fail_to_pass: vec!["T.a".to_owned()],
            ..spec.clone()
        };
        let verdict = grade::verdict(&spec, &evidence).unwrap();
        assert_eq!(verdict.resolved, verdict.official_resolved, "{summary}");
        (verdict.resolved, verdict.note.unwrap_or_default())
    };
    let passed = "PASSED t.py::T::a\n";
    let failed = "FAILED t.py::T::b - AssertionError\n";
    assert_eq!(judge(&format!("{passed}{failed}")), (true, String::new()));
    for (rest, why) in [
        ("PASSED t.py::T::b\n", "`T.b` must be FAILED, and is PASSED"),
        ("", "`T.b` must be FAILED, and is not in the log"),
        (
            "FAILED t.py::T::b\nPASSED t.py::T::c\n",
            "`T.c` is none of the tests that must be in the log",
        ),
    ] {
        assert_eq!(judge(&format!("{passed}{rest}")), (false, why.to_owned()));
    }
    let odd = row(json!({"T.a": "MAYBE"})).unwrap_err();
    assert_eq!(
        odd.to_string(),
        "read grading data: the row's `expected_output_json` has no known result for `T.a`"
    );
}
