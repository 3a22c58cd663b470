//! Rows of each shape of dataset: what runs their tests, what reads the log, and what is told of what is missing.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use grade::{Context, Resolved, Rules, SpecError, parser, resolve};
use pretty_assertions::assert_eq;
use schema::grading::EvalType;
use schema::instance::AnswerKey;
use serde_json::{Value, json};

use crate::specs::{answer_with, instance};

fn resolved(repository: &str, version: Option<&str>, extra: &Value) -> Resolved {
    let row = instance(repository, version);
    let resolved = resolve(&row, &answer_with(extra), &Rules::default());
    resolved.unwrap_or_else(|error| panic!("{repository} {version:?}: {error:?}"))
}

/// A row whose tests are there already.
fn without_tests(extra: &Value) -> Resolved {
    let row = instance("o/r", None);
    resolve(&row, &answer_without_tests(extra), &Rules::default()).unwrap()
}

/// What the script of a row prints between its marks, really run.
fn printed(spec: &schema::grading::GradingSpec) -> (String, String) {
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new("bash")
        .arg("-s")
        .current_dir(directory.path())
        .env("HOME", directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let script = grade::wrap(spec, "n0nce");
    let mut input = child.stdin.take().unwrap();
    input.write_all(script.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let log = String::from_utf8(output.stdout).unwrap();
    let between = log
        .split_once("Start Test Output n0nce")
        .and_then(|(_, rest)| rest.split_once("End Test Output n0nce"));
    let between = between.map_or_else(String::new, |(between, _)| between.to_owned());
    (log, between)
}

/// The tests that the row's parser finds.
fn tests(spec: &schema::grading::GradingSpec, log: &str) -> Vec<String> {
    let parsed = parser(&spec.log_parser).unwrap()(log, &Context::default());
    let tests = parsed.official.iter();
    tests
        .map(|test| format!("{} {}", test.name, test.word))
        .collect()
}

const PROGRAM: &str = "import re\n\ndef helper(word):\n    return {'ok': 'pass', 'no': 'fail'}.get(word, 'skip')\n\ndef parser(log: str) -> dict[str, str]:\n    found = re.findall(r'^(ok|no|--) (\\w+)$', log, re.M)\n    return {name: helper(word) for word, name in found}\n";

#[test]
fn a_program_reads_what_the_tests_of_its_row_print() {
    for more in [
        json!({"test_cmds": ["echo 'ok one'; echo 'no two' >&2", "echo '-- three'"]}),
        json!({"test_cmds": ["(echo 'ok one'; echo 'no two'; echo '-- three') > out; echo 'no four'"], "print_cmds": ["cat out"]}),
    ] {
        let mut fields = more.clone();
        fields["parser"] = json!(PROGRAM);
        let spec = without_tests(&fields).spec;
        let (log, between) = printed(&spec);
        assert_eq!(
            tests(&spec, &between),
            ["one PASSED", "two FAILED", "three SKIPPED"],
            "{log}"
        );
        // What tests print is in nothing that is read: they cannot forge results.
        assert!(!log.contains("ok one\n"), "{log}");
    }
}

#[test]
fn a_program_that_breaks_off_gives_no_results() {
    let fields = json!({"test_cmds": ["echo 'ok one'"], "parser": "def parser(log):\n    raise ValueError(log)\n"});
    let spec = without_tests(&fields).spec;
    let (log, between) = printed(&spec);
    assert_eq!(tests(&spec, &between), [""; 0], "{log}");
    assert!(log.contains("Test Exit Code n0nce: 1"), "{log}");
}

#[test]
fn rows_for_windows_are_named() {
    let mut row = instance("o/r", None);
    row.image = Some("starryzhang/sweb.eval.win.o_1776_r-1".to_owned());
    let fields = json!({"test_cmds": ["dotnet test"], "parser": PROGRAM});
    let error = resolve(&row, &answer_with(&fields), &Rules::default()).unwrap_err();
    assert_eq!(error, SpecError::Windows);
}

#[test]
fn rows_of_multilingual_are_run_by_their_pull_request() {
    let script = |repository: &str, version: &str| {
        let spec = resolved(repository, Some(version), &json!({})).spec;
        (spec.log_parser, spec.eval_script)
    };
    let (parser, text) = script("redis/redis", "13115");
    assert_eq!(parser, "redis");
    let (build, tests) = (
        text.find("\nmake distclean\nmake\n"),
        text.find("TERM=dumb ./runtest --durable --single unit/scripting\n"),
    );
    assert!(build.unwrap() > text.find("git apply").unwrap(), "{text}");
    assert!(tests.unwrap() > build.unwrap(), "{text}");
    for (repository, version, parser) in [
        ("caddyserver/caddy", "6411", "gotest"),
        ("google/gson", "2158", "maven"),
        ("babel/babel", "15445", "jest"),
        ("laravel/framework", "53914", "phpunit"),
        ("jekyll/jekyll", "9141", "jekyll"),
        ("burntsushi/ripgrep", "2576", "cargo"),
    ] {
        assert_eq!(script(repository, version).0, parser, "{repository}");
    }
    let unknown = resolve(
        &instance("redis/redis", Some("1")),
        &answer_with(&json!({})),
        &Rules::default(),
    );
    assert!(
        matches!(unknown, Err(SpecError::NoVersion { .. })),
        "{unknown:?}"
    );
}

#[test]
fn rows_of_multimodal_are_run_by_their_version() {
    let chart = resolved("chartjs/Chart.js", Some("2.0"), &json!({})).spec;
    assert_eq!(
        (chart.log_parser.as_str(), chart.eval_type),
        ("chart_js", EvalType::FailOnly)
    );
    let files = |names: &[&str]| {
        let section = |name: &&str| format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-a\n+b\n");
        names.iter().map(section).collect::<String>()
    };
    let answer = AnswerKey {
        test_patch: Some(files(&[
            "client/lib/test/a.js",
            "client/b/test/__snapshots__/c.js.snap",
            "test/e2e/specs/d.js",
            "docs/e.md",
        ])),
        ..answer_with(&json!({}))
    };
    let calypso = |version: &str| {
        let row = instance("Automattic/wp-calypso", Some(version));
        resolve(&row, &answer, &Rules::default())
            .unwrap()
            .spec
            .eval_script
    };
    let expected = "Start Test Output'\n./node_modules/.bin/jest --verbose -c=test/client/jest.config.json 'client/lib/test/a.js'\n\
        ./node_modules/.bin/jest --verbose -c=test/client/jest.config.json 'client/b/test'\n\
        cd test/e2e\nNODE_CONFIG_ENV=test npm run test test/e2e/specs/d.js\ncd ../..\npatchmill_tests";
    assert!(calypso("8.9.1").contains(expected), "{}", calypso("8.9.1"));
    assert!(calypso("4.2.3").contains("\nnpm run test-client --verbose 'client/lib/test/a.js'\n"));
}

#[test]
fn files_of_the_tests_that_a_row_names_by_address_are_fetched_where_it_is_graded() {
    let directory = tempfile::tempdir().unwrap();
    let there = directory.path().join("there.png");
    fs::write(&there, "picture").unwrap();
    let asset = |path: &str, file: &std::path::Path| json!({"path": path, "url": format!("file://{}", file.display())});
    let row = |assets: &Value| {
        let mut rules = Rules::default();
        let text = "repository = 'o/r'\nlog_parser = 'tap'\ntest_command = 'cat \"test pictures/a.png\" && echo; echo ok 1 - ran'\n";
        rules.add("mine.toml", text).unwrap();
        let extra = json!({"image_assets": {"test_patch": assets, "problem_statement": ["https://example.org/x.png"]}});
        resolve(
            &instance("o/r", None),
            &answer_without_tests(&extra),
            &rules,
        )
        .unwrap()
    };
    let resolved = row(&json!([asset("test pictures/a.png", &there)]));
    assert_eq!(
        resolved.notes,
        ["1 files of the tests are fetched when it is graded: that needs a network and curl"]
    );
    let (log, between) = printed(&resolved.spec);
    assert!(between.contains("picture"), "{log}");
    // Without it there is no verdict.
    let resolved = row(&json!([asset(
        "test pictures/a.png",
        &directory.path().join("absent.png")
    )]));
    let (log, between) = printed(&resolved.spec);
    assert!(
        between.is_empty() && log.contains("could not be fetched"),
        "{log}"
    );
    // The oldest rows say no path.
    assert_eq!(row(&json!(["https://example.org/y.png"])).notes, [""; 0]);
}

fn answer_without_tests(extra: &Value) -> AnswerKey {
    AnswerKey {
        test_patch: None,
        ..answer_with(extra)
    }
}

#[test]
fn what_install_config_asks_for_is_done_or_told() {
    let config = json!({"test_cmd": "pytest -rA", "log_parser": "pytest", "env_vars": {"MODE": "a b", "N": 1}, "python": "3.9", "pip_packages": ["x"], "packages": "", "pre_install": null, "no_use_env": false});
    let fields = json!({"install_config": config});
    let Resolved { spec, notes, .. } = resolved("o/r", None, &fields);
    assert!(
        spec.eval_script
            .contains("\nexport MODE='a b'\nexport N=1\n"),
        "{}",
        spec.eval_script
    );
    assert_eq!(
        notes,
        [
            "install_config: `python`, `pip_packages` are not done: the row names no image, and no environment is made"
        ]
    );
    let mut row = instance("o/r", None);
    row.image = Some("mine".to_owned());
    let of_image = resolve(&row, &answer_with(&fields), &Rules::default()).unwrap();
    assert_eq!(
        of_image.notes,
        ["install_config: `python`, `pip_packages` are taken to be done in the image"]
    );
    let mut wrong = fields;
    wrong["install_config"]["env_vars"] = json!({"A B": "c"});
    let error = resolve(&row, &answer_with(&wrong), &Rules::default()).unwrap_err();
    assert!(error.to_string().contains("`env_vars`"), "{error}");
}

#[test]
fn multi_swe_benchs_later_rows_name_the_class_that_is_missing() {
    let row = |more: &Value| {
        let mut fields = json!({"number": 3600, "resolved_issues": []});
        for (name, value) in more.as_object().unwrap() {
            fields[name] = value.clone();
        }
        let row = instance("fasterxml/jackson-databind", None);
        resolve(&row, &answer_with(&fields), &Rules::default())
    };
    let known = row(&json!({"number_interval": "", "tag": ""}))
        .unwrap()
        .spec;
    assert_eq!(known.log_parser, "multi_swe_surefire_plain");
    assert!(known.eval_script.contains("\nbash /home/run.sh\n"));
    let error = row(&json!({"number_interval": "jackson-databind_3622_to_3570"})).unwrap_err();
    assert_eq!(
        error,
        SpecError::NoParser {
            repository: "fasterxml/jackson-databind_3622_to_3570".to_owned(),
        }
    );
}
