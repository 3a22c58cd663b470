//! Datasets, repositories and scripts that cannot be used.

use crate::command::Place;

const ROW: &str = r#"{"instance_id": "a", "problem_statement": "b", "repo": "o/n"}"#;

/// What `runner run` says about a dataset with this text.
fn said(text: impl AsRef<[u8]>) -> String {
    let place = Place::new();
    place.write("d.jsonl", text);
    let said = place.run(&["run", "--dataset", "d.jsonl", "--model", "script:s"]);
    assert!(!place.path().join("runs").exists(), "something was started");
    said.all()
}

#[test]
fn a_dataset_that_is_not_there() {
    let place = Place::new();
    let said = place.run(&["run", "--dataset", "none.jsonl", "--model", "script:s"]);
    insta::assert_snapshot!(said.all());
}

#[test]
fn no_dataset_at_all() {
    insta::assert_snapshot!(Place::new().run(&["run", "--model", "script:s"]).all());
}

#[test]
fn an_empty_dataset() {
    insta::assert_snapshot!(said(""));
}

#[test]
fn a_malformed_row_is_named_by_its_line() {
    insta::assert_snapshot!(said(format!("{ROW}\n{{\"instance_id\": \"b\",\n")));
}

#[test]
fn a_row_without_a_statement() {
    insta::assert_snapshot!(said(
        "{\"instance_id\": \"a\", \"problem_statment\": \"b\"}\n"
    ));
}

#[test]
fn two_rows_with_one_id() {
    insta::assert_snapshot!(said(format!("{ROW}\n{ROW}\n")));
}

#[test]
fn a_hostile_row_cannot_reach_the_terminal() {
    let row = r#"{"instance_id": "a\u001b]0;owned\u0007\u202e", "problem_statement": 3}"#;
    insta::assert_snapshot!(said(row));
}

#[test]
fn bytes_that_are_not_utf8() {
    insta::assert_snapshot!(said(b"{\"instance_id\": \"\xff\"}\n"));
}

#[test]
fn a_huge_row() {
    let row = format!(
        "{ROW}\n{{\"instance_id\": \"b\", \"x\": \"{}\"}}\n",
        "x".repeat(65 << 20)
    );
    insta::assert_snapshot!(said(row));
}

#[test]
fn a_selection_that_leaves_nothing() {
    let place = Place::new();
    place.write("d.jsonl", format!("{ROW}\n"));
    let select = |arguments: &[&str]| {
        let mut all = vec!["run", "--dataset", "d.jsonl", "--model", "script:s"];
        all.extend(arguments);
        place.run(&all).all()
    };
    insta::assert_snapshot!("selection_by_filter", select(&["--filter", "django.*"]));
    insta::assert_snapshot!("selection_by_id", select(&["--ids", "aa"]));
    insta::assert_snapshot!("selection_by_bad_filter", select(&["--filter", "("]));
    insta::assert_snapshot!("selection_by_bad_shard", select(&["--shard", "3/2"]));
    insta::assert_snapshot!("selection_by_bad_slice", select(&["--slice", "1:x"]));
}

/// A place with a dataset whose row says this of its repository.
fn with_row(repository: &str) -> Place {
    let place = Place::new();
    place.script(&[]);
    let row =
        format!(r#"{{"instance_id": "a", "problem_statement": "b", "repo": "o/n", {repository}}}"#);
    place.write("dataset.jsonl", row);
    place
}

const RUN: [&str; 10] = [
    "run",
    "--dataset",
    "dataset.jsonl",
    "--model",
    "script:script.jsonl",
    "--out",
    "out",
    "--sandbox",
    "local",
    "--quiet",
];

#[test]
fn a_repository_that_is_not_there() {
    let place = with_row(r#""repo_path": "none""#);
    insta::assert_snapshot!(place.run(&RUN).all());
}

#[test]
fn a_directory_that_is_no_repository() {
    let place = with_row(r#""repo_path": "plain""#);
    place.write("plain/file", "x");
    insta::assert_snapshot!(place.run(&RUN).all());
}

#[test]
fn a_file_that_is_no_bundle() {
    let place = with_row(r#""repo_path": "o.bundle""#);
    place.write("o.bundle", "# v2 git bundle\nnonsense");
    insta::assert_snapshot!(place.run(&RUN).all());
}

#[test]
fn a_bundle_whose_pack_is_broken_is_refused_before_anything_starts() {
    let place = with_row(r#""repo_path": "o.bundle""#);
    let header = format!("# v2 git bundle\n{} refs/heads/main\n\n", "a".repeat(40));
    place.write("o.bundle", format!("{header}not a pack\n"));
    let said = place.run(&RUN);
    assert!(!place.path().join("out").exists(), "something was started");
    insta::assert_snapshot!(said.all());
}

#[test]
fn a_script_that_is_not_there() {
    let place = Place::new();
    let base = place.repository("repo");
    place.dataset(&base);
    insta::assert_snapshot!(place.run(&RUN).all());
}

#[test]
fn a_base_commit_that_does_not_exist() {
    let place = with_row(r#""base_commit": "0123456789012345678901234567890123456789""#);
    place.repository("repos/o__n");
    let mut arguments = RUN.to_vec();
    arguments.extend(["--repos", "repos"]);
    insta::assert_snapshot!(place.run(&arguments).all());
}

#[test]
fn a_base_commit_that_is_a_trap_is_not_put_into_a_command() {
    let place = with_row(r#""base_commit": "--upload-pack=touch trap""#);
    place.repository("repos/o__n");
    let mut arguments = RUN.to_vec();
    arguments.extend(["--repos", "repos"]);
    let said = place.run(&arguments);
    assert_eq!(said.code, 2);
    assert!(!said.err.contains("`git "), "{}", said.err);
}

#[test]
fn a_script_that_runs_out_of_replies() {
    let place = Place::new();
    let base = place.repository("repo");
    place.dataset(&base);
    place.write("script.jsonl", "{\"text\": \"Let me think.\"}\n");
    insta::assert_snapshot!(place.run(&RUN).all());
}

#[test]
fn a_script_that_is_none() {
    let place = Place::new();
    let base = place.repository("repo");
    place.dataset(&base);
    place.write("script.jsonl", "hello\n");
    insta::assert_snapshot!(place.run(&RUN).all());
}

#[test]
fn a_run_directory_that_cannot_be_made() {
    let place = Place::new();
    let base = place.repository("repo");
    place.dataset(&base);
    place.script(&[]);
    place.write("out", "a file");
    insta::assert_snapshot!(place.run(&RUN).all());
}

#[test]
fn a_run_directory_without_permission() {
    let place = Place::new();
    let base = place.repository("repo");
    place.dataset(&base);
    place.script(&[]);
    let mut arguments = RUN.to_vec();
    arguments[6] = "/proc/out";
    insta::assert_snapshot!(place.run(&arguments).all());
}

#[test]
fn a_run_directory_that_is_taken() {
    let place = Place::new();
    let base = place.repository("repo");
    place.dataset(&base);
    place.script(&["sed -i s/helo/hello/ greet.sh"]);
    assert_eq!(place.run(&RUN).code, 0);
    insta::assert_snapshot!("taken", place.run(&RUN).all());
    let mut other = RUN.to_vec();
    other.extend(["--resume", "--max-steps", "7"]);
    insta::assert_snapshot!("taken_by_other_settings", place.run(&other).all());
}

#[test]
fn a_model_that_is_none() {
    let place = with_row(r#""repo_path": "repo""#);
    place.repository("repo");
    let model = |name: &str| {
        let arguments = [
            "run",
            "--dataset",
            "dataset.jsonl",
            "--out",
            "out",
            "--model",
            name,
        ];
        place.run(&arguments).all()
    };
    insta::assert_snapshot!("model_without_provider", model("gpt-5"));
    insta::assert_snapshot!("model_of_unknown_provider", model("opneai:gpt-5"));
    insta::assert_snapshot!("model_without_key", model("openai:gpt-5"));
}

#[test]
fn a_cost_limit_needs_a_known_price() {
    let place = with_row(r#""repo_path": "repo""#);
    place.repository("repo");
    let said = place.run(&[
        "run",
        "--dataset",
        "dataset.jsonl",
        "--model",
        "openai:homemade",
        "--base-url",
        "http://127.0.0.1:9/v1",
        "--max-cost",
        "1",
        "--sandbox",
        "local",
        "--quiet",
    ]);
    insta::assert_snapshot!(said.all());
}

#[test]
fn settings_that_make_no_sense() {
    let place = with_row(r#""repo_path": "repo""#);
    place.repository("repo");
    let run = |arguments: &[&str]| {
        let mut all = RUN.to_vec();
        all.extend(arguments);
        place.run(&all).all()
    };
    let said = [
        run(&["--workers", "0"]),
        run(&["--fail-under", "80"]),
        run(&["--price", "input=3"]),
        run(&["--price", "inptu=3"]),
        run(&["--base-url", "localhost"]),
        run(&["--tools", "bash,serach"]),
        run(&["--prompt", "none.md"]),
        run(&["--memory", "1GiB"]),
        run(&["--network", "none"]),
        run(&["--network", "allow=pypi.org"]),
        run(&["--network", "allow=https://pypi.org/simple"]),
        run(&["--network", "some"]),
        run(&["--test-paths", "[a"]),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn a_prompt_template_that_is_wrong() {
    let place = with_row(r#""repo_path": "repo""#);
    place.repository("repo");
    place.write("prompt.md", "Fix it:\n{{ task.statment }}\n");
    let mut arguments = RUN.to_vec();
    arguments.extend(["--prompt", "prompt.md"]);
    insta::assert_snapshot!(place.run(&arguments).all());
}

#[test]
fn a_status_that_is_none_and_a_run_that_is_not_there() {
    let place = Place::new();
    place.write("d.jsonl", format!("{ROW}\n"));
    let select = |status: &str| {
        let said = place.run(&[
            "run",
            "--dataset",
            "d.jsonl",
            "--model",
            "script:s",
            "--where-status",
            status,
        ]);
        said.all()
    };
    assert!(select("unresolved").contains("names no run"));
    assert!(select("resolvd@runs/x").contains("\"resolvd\" is no status"));
    assert!(select("resolved@runs/x").contains("runs/x"));
}

#[test]
fn limits_that_are_none_or_too_small_to_live_with() {
    let place = with_row(r#""repo_path": "none""#);
    for (flag, value) in [
        ("--pids", "0"),
        ("--pids", "1"),
        ("--memory", "0"),
        ("--memory", "1MiB"),
        ("--cpus", "0"),
        ("--disk", "0"),
    ] {
        let said = place.run(&[&RUN[..], &[flag, value]].concat());
        assert_eq!(said.code, 2, "{}", said.all());
        let named = said.all().contains(&format!("`{flag} none`"));
        assert!(named, "{}", said.all());
    }
}
