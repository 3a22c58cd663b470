//! Bad input: each gives one clear error with its subject and a hint, the right exit code, and starts nothing.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use testkit::{Answer, FakeServer};

use crate::command::Place;

#[test]
fn unknown_keys_are_named_with_their_line_and_the_nearest_key() {
    let place = Place::new();
    place.write("patchmill.toml", "workers = 2\nmax_step = 3\n");
    insta::assert_snapshot!(place.run(&["run"]).all());
}

#[test]
fn a_hostile_configuration_cannot_reach_the_terminal() {
    let place = Place::new();
    place.write("patchmill.toml", "\"a\\u001b[2Jb\" = 3\n");
    insta::assert_snapshot!(place.run(&["run"]).all());
}

#[test]
fn a_configuration_file_that_is_not_there_is_named() {
    insta::assert_snapshot!(Place::new().run(&["run", "--config", "./none.toml"]).all());
}

#[test]
fn a_preset_that_does_not_exist_is_named() {
    insta::assert_snapshot!(Place::new().run(&["run", "--config", "fast"]).all());
}

#[test]
fn a_server_that_a_project_names_is_warned_about() {
    let place = Place::new().variable("OPENAI_API_KEY", "sk-secret");
    let base = place.repository("repo");
    place.write(
        "patchmill.toml",
        "base_url = \"https://elsewhere.invalid/v1\"\n",
    );
    let row = serde_json::json!({
        "instance_id": "a", "problem_statement": "b", "repo": "o/n", "repo_path": "repo",
        "base_commit": base,
    });
    place.write("d.jsonl", row.to_string());
    let said = place.run(&[
        "run",
        "--dataset",
        "d.jsonl",
        "--model",
        "openai:m",
        "--out",
        "out",
        "--dry-run",
    ]);
    insta::assert_snapshot!(said.all());
}

#[test]
fn rows_with_images_are_worked_on_here_where_no_engine_answers_and_that_is_said() {
    let place = Place::new().variable("DOCKER_HOST", "unix:///nonexistent/docker.sock");
    let base = place.repository("repo");
    let row = serde_json::json!({
        "instance_id": "a", "problem_statement": "b", "repo": "o/n", "repo_path": "repo",
        "base_commit": base, "image": "registry.invalid/a:1",
    });
    place.write("d.jsonl", row.to_string());
    place.write(
        "s.jsonl",
        "{\"text\": \"I have nothing to do.\"}\n".repeat(9),
    );
    let arguments = [
        "run",
        "--dataset",
        "d.jsonl",
        "--model",
        "script:s.jsonl",
        "--out",
        "out",
    ];
    let said = place.run(&arguments);
    assert_eq!(said.code, 0, "{}", said.all());
    let warning = "1 instance names an image, but containers cannot be had here";
    assert!(said.err.contains(warning), "{}", said.err);

    let said = place.run(&[&arguments[..6], &["other", "--sandbox", "docker"]].concat());
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(said.err.contains("the Docker engine at"), "{}", said.err);
    assert!(
        said.err.contains("DOCKER_HOST") || said.err.contains("hint:"),
        "{}",
        said.err
    );
}

#[test]
fn a_negative_number_is_a_bad_value_and_no_flag() {
    for argument in [&["--max-steps", "-1"][..], &["--max-steps=-1"]] {
        let said = Place::new().run(&[&["run"], argument].concat());
        assert_eq!(said.code, 2);
        assert!(
            said.err.contains("`-1` is not a count such as `100`"),
            "{}",
            said.err
        );
    }
}

#[test]
fn a_sandbox_that_was_not_taken_is_named_with_its_reason() {
    let place = Place::new();
    let program = place.write(
        "bin/bwrap",
        "#!/bin/sh\necho 'no namespaces today' >&2\nexit 1\n",
    );
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let place = place.variable("PATH", &path);
    let base = place.repository("repo");
    place.dataset(&base);
    place.script(&["sed -i s/helo/hello/ greet.sh"]);
    let run = [
        "run",
        "--dataset",
        "dataset.jsonl",
        "--model",
        "script:script.jsonl",
        "--out",
        "out",
    ];
    let said = place.run(&run);
    assert_eq!(said.code, 0, "{}", said.all());
    let warning = said
        .err
        .lines()
        .find(|line| line.contains("unconfined"))
        .unwrap();
    assert!(warning.contains("no namespaces today"), "{warning}");
}

#[test]
fn a_refused_key_is_followed_by_what_to_do() {
    let server = FakeServer::start(|_| Answer::json_with(401, &json!({})));
    let place = Place::new();
    let base = place.repository("repo");
    place.dataset(&base);
    let url = server.base_url();
    let said = place.run(&[
        "run",
        "--dataset",
        "dataset.jsonl",
        "--out",
        "out",
        "--sandbox",
        "local",
        "--model",
        "openai:m",
        "--base-url",
        &url,
    ]);
    assert_eq!(said.code, 4, "{}", said.all());
    assert!(
        said.err.contains("hint: set PATCHMILL_API_KEY"),
        "{}",
        said.err
    );
}
