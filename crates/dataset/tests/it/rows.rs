//! From a row to an instance and its answer key.

use dataset::Row;
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};

use crate::{Fixture, plain, plain_with};

fn read(row: &Value) -> Row {
    Fixture::of_rows(std::slice::from_ref(row))
        .load()
        .unwrap()
        .rows
        .remove(0)
}

#[test]
fn known_fields_are_typed_and_the_others_kept() {
    let row = read(&json!({
        "repo": "octo/demo", "instance_id": "octo__demo-7", "base_commit": "abc", "version": "1.10",
        "problem_statement": "Broken.\r\n", "hints_text": "look there", "created_at": "2024-01-01",
        "patch": "P", "test_patch": "T", "FAIL_TO_PASS": "[\"t::a\"]", "PASS_TO_PASS": ["t::b"],
        "repo_path": "repos/demo", "workdir": "/testbed", "image": "octo/demo:7",
        "eval_script": "make test", "log_parser": "pytest", "eval_timeout": 60,
        "eval_type": "pass_and_fail", "meta": {"b": [1, 2.5, null], "a": "x"}, "difficulty": null,
    }));
    let instance = &row.instance;
    assert_eq!(instance.id.as_str(), "octo__demo-7");
    assert_eq!(instance.repo, "octo/demo");
    assert_eq!(instance.base_commit.as_deref(), Some("abc"));
    assert_eq!(instance.statement, "Broken.\r\n");
    assert_eq!(instance.repo_path.as_deref(), Some("repos/demo"));
    assert_eq!(instance.workdir.as_deref(), Some("/testbed"));
    assert_eq!(instance.image.as_deref(), Some("octo/demo:7"));
    assert_eq!(instance.version.as_deref(), Some("1.10"));
    let answer = &row.answer;
    assert_eq!(
        (
            answer.patch.as_deref(),
            answer.test_patch.as_deref(),
            answer.hints.as_deref()
        ),
        (Some("P"), Some("T"), Some("look there"))
    );
    assert_eq!(
        (
            answer.fail_to_pass.as_slice(),
            answer.pass_to_pass.as_slice()
        ),
        (
            ["t::a".to_owned()].as_slice(),
            ["t::b".to_owned()].as_slice()
        )
    );
    assert_eq!(
        (
            answer.eval_script.as_deref(),
            answer.log_parser.as_deref(),
            answer.eval_timeout
        ),
        (Some("make test"), Some("pytest"), Some(60))
    );
    let extra = json!({"created_at": "2024-01-01", "eval_type": "pass_and_fail", "meta": {"b": [1, 2.5, null], "a": "x"}, "difficulty": null});
    assert_eq!(Value::Object(answer.extra.clone()), extra);
}

#[test]
fn a_bare_row_has_no_answer() {
    let row = read(&json!({"instance_id": "a", "problem_statement": ""}));
    assert_eq!(row.instance.repo, "");
    assert_eq!(row.instance.base_commit, None);
    assert_eq!(row.answer, schema::AnswerKey::default());
}

#[test]
fn the_version_stays_text() {
    let version = |raw: &str| {
        let content =
            format!("{{\"instance_id\": \"a\", \"problem_statement\": \"x\", \"version\": {raw}}}");
        Fixture::new("x.json", content).load().unwrap().rows[0]
            .instance
            .version
            .clone()
    };
    assert_eq!(version("\"4.10\"").as_deref(), Some("4.10"));
    assert_eq!(version("4.10").as_deref(), Some("4.10"));
    assert_eq!(version("1").as_deref(), Some("1"));
    assert_eq!(version("\"\"").as_deref(), Some(""));
    assert_eq!(version("null"), None);
}

#[test]
fn the_second_of_two_spellings_is_kept_as_it_came() {
    let row = read(&plain_with(
        "a",
        json!({"image": "one", "docker_image": "two", "FAIL_TO_PASS": ["x"], "fail_to_pass": ["y"]}),
    ));
    assert_eq!(row.instance.image.as_deref(), Some("one"));
    assert_eq!(row.answer.fail_to_pass, ["x"]);
    assert_eq!(
        Value::Object(row.answer.extra),
        json!({"docker_image": "two", "fail_to_pass": ["y"]})
    );
    let row = read(&plain_with(
        "a",
        json!({"image": null, "image_name": " ", "docker_image": "two"}),
    ));
    assert_eq!(
        row.instance.image, None,
        "the first that is not null counts, even when it is blank"
    );
}

#[test]
fn images_of_the_statement_come_from_the_list_and_the_text() {
    let statement = "![a](https://x.test/1.png) <img src=\"https://x.test/2.png\">";
    for assets in [
        json!({"problem_statement": ["https://x.test/2.png", {"path": "p", "url": "https://x.test/0.png"}], "patch": ["https://x.test/secret.png"]}),
        json!(
            "{\"problem_statement\": [\"https://x.test/2.png\", {\"url\": \"https://x.test/0.png\"}], \"test_patch\": null}"
        ),
    ] {
        let row = read(&plain_with(
            "a",
            json!({"problem_statement": statement, "image_assets": assets}),
        ));
        assert_eq!(
            row.instance.statement_images,
            [
                "https://x.test/2.png",
                "https://x.test/0.png",
                "https://x.test/1.png"
            ]
        );
        assert_eq!(row.answer.extra["image_assets"], assets);
    }
    assert!(read(&plain("a")).instance.statement_images.is_empty());
}

#[test]
fn multi_swe_bench_rows() {
    let tests = |name: &str| json!({name: {"run": "NONE", "test": "FAIL", "fix": "PASS"}});
    let raw = json!({
        "org": "octo", "repo": "jam", "number": 12, "title": "Fix the lid", "body": "By turning it.",
        "base": {"label": "octo:main", "ref": "main", "sha": "abc"},
        "resolved_issues": [{"number": 3, "title": "Lid stuck", "body": "It does not open.\n"}, {"number": 4, "title": "Jar", "body": null}],
        "fix_patch": "P", "test_patch": "T", "f2p_tests": tests("f"), "s2p_tests": {}, "n2p_tests": tests("n"), "p2p_tests": tests("p"),
        "fixed_tests": tests("f"),
    });
    let row = read(&raw);
    assert_eq!(row.instance.id.as_str(), "octo__jam-12");
    assert_eq!(row.instance.repo, "octo/jam");
    assert_eq!(row.instance.base_commit.as_deref(), Some("abc"));
    assert_eq!(
        row.instance.statement,
        "Lid stuck\n\nIt does not open.\n\nJar"
    );
    assert_eq!(row.answer.patch.as_deref(), Some("P"));
    assert_eq!(row.answer.fail_to_pass, ["f", "n"]);
    assert_eq!(row.answer.pass_to_pass, ["p"]);
    assert_rest_kept(&raw, &row, &["org", "repo", "fix_patch", "test_patch"]);
}

#[test]
fn r2e_gym_rows() {
    let mut raw = json!({
        "repo_name": "octo", "docker_image": "x/octo_final:abc", "commit_hash": "abc", "prompt": "write an issue", "problem_statement": "[ISSUE]\nBroken.\n[/ISSUE]",
        "expected_output_json": "{\"T.a\": \"PASSED\", \"\\u001b[1mT.b\\u001b[0m - why\": \"PASSED\", \"T.c\": \"FAILED\"}",
    });
    let row = read(&raw);
    assert_eq!(row.instance.id.as_str(), "octo-abc");
    assert_eq!(
        row.instance.base_commit, None,
        "the commit is the fix, not the start"
    );
    assert_eq!(row.instance.image.as_deref(), Some("x/octo_final:abc"));
    assert_eq!(row.instance.statement, "Broken.");
    assert_eq!(row.answer.fail_to_pass, ["T.a", "T.b"]);
    assert!(row.answer.pass_to_pass.is_empty());
    raw["expected_output_json"] =
        serde_json::from_str(raw["expected_output_json"].as_str().unwrap()).unwrap();
    assert_rest_kept(
        &raw,
        &row,
        &["repo_name", "docker_image", "problem_statement"],
    );
}

#[test]
fn swe_smith_rows_keep_the_bug_apart_from_a_fix() {
    let raw = json!({"instance_id": "o__r.12345678.x__1", "repo": "swesmith/o__r.12345678", "patch": "BUG", "problem_statement": "", "image_name": "o", "FAIL_TO_PASS": ["t"]});
    let row = read(&raw);
    assert_eq!(row.answer.patch, None);
    assert_eq!(row.answer.start_patch.as_deref(), Some("BUG"));
    assert_eq!(row.answer.extra.get("patch"), None);
    let own = read(
        &json!({"instance_id": "a", "problem_statement": "It breaks.", "patch": "FIX", "start_patch": "BUG"}),
    );
    assert_eq!(own.answer.patch.as_deref(), Some("FIX"));
    assert_eq!(own.answer.start_patch.as_deref(), Some("BUG"));
    assert_eq!(row.instance.image.as_deref(), Some("o"));
}

#[test]
fn swe_bench_pro_rows_ask_for_the_interface_too() {
    let raw = plain_with(
        "instance_o__r-1-vnan",
        json!({
            "requirements": "- Be quick", "interface": "def f()", "fail_to_pass": "['t | a', \"t's\"]", "pass_to_pass": "[]", "gold_patch": "P", "repo_directory": "/app",
        }),
    );
    let row = read(&raw);
    assert_eq!(
        row.instance.statement,
        "It breaks.\n\nRequirements:\n- Be quick\n\nNew interfaces introduced:\ndef f()"
    );
    assert_eq!(row.instance.workdir.as_deref(), Some("/app"));
    assert_eq!(row.answer.fail_to_pass, ["t | a", "t's"]);
    assert_eq!(row.answer.patch.as_deref(), Some("P"));
    assert_eq!(row.answer.extra["requirements"], "- Be quick");
    // One of both may be missing.
    let row = read(&plain_with(
        "instance_o__r-2",
        json!({"requirements": "- Be quick", "interface": null}),
    ));
    assert_eq!(
        row.instance.statement,
        "It breaks.\n\nRequirements:\n- Be quick"
    );
    // A list of packages is no requirement on the work.
    let row = read(&plain_with("a", json!({"requirements": "numpy==1.0"})));
    assert_eq!(row.instance.statement, "It breaks.");
}

#[test]
fn the_scripts_of_swe_bench_pro_lie_beside_the_dataset() {
    let id = "instance_o__r-1-vnan";
    let fields = json!({"requirements": "r", "interface": "i", "selected_test_files_to_run": "['a.py', \"b.py\"]"});
    let fixture = Fixture::of_rows(&[
        plain_with(id, fields.clone()),
        plain_with("instance_o__r-2", fields.clone()),
        plain_with("instance_../x", fields),
    ]);
    let scripts = fixture.directory().join("run_scripts").join(id);
    std::fs::create_dir_all(&scripts).unwrap();
    std::fs::write(scripts.join("run_script.sh"), "run").unwrap();
    std::fs::write(scripts.join("parser.py"), "parse").unwrap();
    let rows = fixture.load().unwrap().rows;
    let extra = &rows[0].answer.extra;
    assert_eq!(extra["run_script"], "run");
    assert_eq!(extra["parser_script"], "parse");
    assert_eq!(extra["selected_test_files_to_run"], json!(["a.py", "b.py"]));
    assert_eq!(rows[1].answer.extra.get("run_script"), None);
    // A row's own scripts go before those.
    let own = plain_with(
        id,
        json!({"run_script.sh": "mine", "parsing_script": "mine too"}),
    );
    let row = read(&own);
    assert_eq!(row.answer.extra["run_script"], "mine");
    assert_eq!(row.answer.extra["parser_script"], "mine too");
    // What is no script is said to be none.
    std::fs::write(scripts.join("parser.py"), vec![b'x'; (1 << 20) + 1]).unwrap();
    let error = fixture.load().unwrap_err().to_string();
    assert!(
        error.contains(id) && error.contains("`run_script`"),
        "{error}"
    );
}

#[test]
fn lists_and_objects_that_came_as_text_are_decoded() {
    let row = read(&plain_with(
        "a",
        json!({
            "test_cmds": "['pytest -rA', \"x 'y'\"]", "rebuild_cmds": "[]", "print_cmds": "cat log",
            "install_config": "{\"test_cmd\": \"pytest\", \"python\": \"3.9\"}",
        }),
    ));
    let extra = json!({
        "test_cmds": ["pytest -rA", "x 'y'"], "rebuild_cmds": [], "print_cmds": "cat log",
        "install_config": {"test_cmd": "pytest", "python": "3.9"},
    });
    assert_eq!(Value::Object(row.answer.extra), extra);
    for (field, value) in [("test_cmds", "['a"), ("install_config", "{'a': 1}")] {
        let fixture = Fixture::of_rows(&[plain_with("a", json!({field: value}))]);
        let error = fixture.load().unwrap_err().to_string();
        assert!(
            error.contains("instance \"a\"") && error.contains(&format!("`{field}`")),
            "{error}"
        );
    }
}

/// Every field of `raw` other than `typed` is in `extra` as it came.
fn assert_rest_kept(raw: &Value, row: &Row, typed: &[&str]) {
    let rest: Map<String, Value> = raw
        .as_object()
        .unwrap()
        .clone()
        .into_iter()
        .filter(|(name, _)| !typed.contains(&name.as_str()))
        .collect();
    assert_eq!(row.answer.extra, rest);
}
