//! Files of rules: what they may say, and what is said about broken ones.

use grade::{Rules, RulesError, SpecError, resolve};
use pretty_assertions::assert_eq;
use schema::grading::{EvalType, Origin};

use crate::specs::{answer_with, instance};
use serde_json::json;

const MINE: &str = r#"
repository = ["me/mine", "me/other"]
log_parser = "tap"
eval_type = "fail_only"
timeout_seconds = 90
setup = "export A=1"
test_command = "make check TESTS='{tests}'"
tests = "files"

[[version]]
names = ["1.10"]
build = ["make clean", "make"]
log_parser = "pytest"
"#;

fn rules(text: &str) -> Rules {
    let mut rules = Rules::default();
    rules.add("mine.toml", text).unwrap();
    rules
}

fn refused(text: &str) -> (String, Vec<String>) {
    let error: RulesError = Rules::default().add("mine.toml", text).unwrap_err();
    let source = std::error::Error::source(&error).map(ToString::to_string);
    let text = source.map_or(error.to_string(), |source| format!("{error}: {source}"));
    (text, error.hints())
}

#[test]
fn rules_may_name_processors_and_capabilities() {
    let answer = answer_with(&json!({}));
    let spec = |repository: &str, version: &str| {
        let instance = instance(repository, Some(version));
        resolve(&instance, &answer, &Rules::default()).unwrap().spec
    };
    // As the official tables have it: for these versions alone.
    assert_eq!(spec("pylint-dev/pylint", "2.14").cpus, Some(2));
    assert_eq!(spec("pylint-dev/pylint", "2.13").cpus, None);
    let browser = spec("chartjs/Chart.js", "3.0");
    assert_eq!(browser.capabilities, ["SYS_ADMIN"]);
    assert_eq!(browser.cpus, None);
}

#[test]
fn a_small_file_makes_a_repository_known() {
    let answer = answer_with(&json!({}));
    let rules = rules(MINE);
    let resolved = resolve(&instance("Me/Mine", Some("1.10")), &answer, &rules).unwrap();
    let spec = resolved.spec;
    assert_eq!(
        spec.log_parser, "pytest",
        "a version's word goes before the file's"
    );
    assert_eq!(spec.eval_type, EvalType::FailOnly);
    assert_eq!(spec.timeout_seconds, Some(90));
    assert_eq!(
        resolved.provenance.eval_type,
        Origin::Rules {
            file: "mine.toml".to_owned(),
            version: Some("1.10".to_owned())
        }
    );
    assert!(spec.eval_script.contains("\nexport A=1\n"));
    assert!(spec.eval_script.contains(
        "\nmake clean\nmake\n: '>>>>> Start Test Output'\nmake check TESTS='tests/old.py tests/new.py tests/to.py'\n"
    ));
    // Versions are texts: 1.1 is another one.
    let other = resolve(&instance("me/other", Some("1.1")), &answer, &rules);
    assert!(
        matches!(other, Err(SpecError::NoVersion { .. })),
        "{other:?}"
    );
}

#[test]
fn without_versions_or_with_any_the_file_is_for_all() {
    let answer = answer_with(&json!({}));
    let (all, _) = MINE.split_once("[[version]]").unwrap();
    for rules in [rules(all), rules(&format!("any_version = true\n{MINE}"))] {
        for version in [None, Some("7")] {
            let resolved = resolve(&instance("me/mine", version), &answer, &rules).unwrap();
            assert_eq!(resolved.spec.log_parser, "tap");
        }
    }
}

#[test]
fn the_users_rules_go_before_the_built_in_ones_and_later_files_before_earlier_ones() {
    let answer = answer_with(&json!({}));
    let mut rules =
        rules("repository = 'pallets/flask'\nlog_parser = 'tap'\ntest_command = 'one'\n");
    let flask = instance("pallets/flask", Some("2.3"));
    let script = |rules: &Rules| resolve(&flask, &answer, rules).unwrap().spec.eval_script;
    assert!(script(&rules).contains("\none\n"));
    rules
        .add(
            "later.toml",
            "repository = 'pallets/*'\nlog_parser = 'tap'\ntest_command = 'two'\n",
        )
        .unwrap();
    assert!(script(&rules).contains("\ntwo\n"));
}

#[test]
fn rules_that_lack_what_is_asked_are_named() {
    let answer = answer_with(&json!({}));
    let lacking = rules("repository = 'o/r'\nlog_parser = 'tap'\n");
    let error = resolve(&instance("o/r", None), &answer, &lacking).unwrap_err();
    assert_eq!(
        error.to_string(),
        "read grading data: neither the row nor mine.toml has a test_command"
    );
    let lacking = rules("repository = 'o/r'\ntest_command = 'x'\n");
    let error = resolve(&instance("o/r", None), &answer, &lacking).unwrap_err();
    assert_eq!(
        error,
        SpecError::Missing {
            field: "log_parser"
        }
    );
}

#[test]
fn broken_files_are_refused_with_a_hint() {
    let (text, hints) = refused("repository = 'o/r'\ntest_comand = 'x'\n");
    assert_eq!(
        text,
        "read the repository rules mine.toml: unknown key `test_comand`"
    );
    assert_eq!(hints, ["is test_command meant?"]);
    let (text, hints) = refused("repository = 'o/r'\n[[version]]\nname = ['1']\n");
    assert_eq!(
        text,
        "read the repository rules mine.toml: unknown key `version.name`"
    );
    assert_eq!(hints, ["is names meant?"]);
    let (text, hints) = refused("[[repository]]\nname = 'o/r'\n");
    assert_eq!(
        text,
        "read the repository rules mine.toml: unknown key `repository.name`"
    );
    assert_eq!(hints, ["is names meant?"]);
    let (text, hints) = refused("repository = 'o/r'\nlog_parser = 'pytst'\n");
    assert!(text.contains("`pytst`"), "{text}");
    assert_eq!(hints, ["is pytest meant?"]);
    for (text, problem) in [
        ("log_parser = 'tap'\n", "`repository` names no repository"),
        ("repository = []\n", "`repository` names no repository"),
        (
            "repository = 'o/r'\n[[version]]\nbuild = 'x'\n",
            "a `[[version]]` has no `names`",
        ),
        (
            "repository = 'o/r'\ntests = 'some'\n",
            "unknown variant `some`",
        ),
        (
            "repository = 'o/r'\neval_type = 'all'\n",
            "unknown variant `all`",
        ),
        (
            "repository = 'o/r'\ntest_command = 3\n",
            "must be a command or a list of commands",
        ),
        (
            "repository = 3\n",
            "must be a name, a list of names, or tables `[[repository]]`",
        ),
        (
            "[[repository]]\nlog_parser = 'tap'\n",
            "`repository` names no repository",
        ),
        (
            "[[repository]]\nnames = 'o/r'\ntest_command = 3\n",
            "must be a command or a list of commands",
        ),
        (
            "repository = 'o/r'\ntimeout_seconds = -1\n",
            "invalid value",
        ),
        ("repository =", "TOML parse error at line 1"),
    ] {
        let (told, hints) = refused(text);
        assert!(told.contains(problem), "{told}");
        assert_eq!(hints.len(), 1, "{told}");
    }
}
