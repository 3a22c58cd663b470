//! Bad input: each gives one clear error with its subject and a hint, the right exit code, and starts nothing.

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
    assert!(
        said.err.contains("no Docker engine can be used"),
        "{}",
        said.err
    );
    assert!(
        said.err.contains("DOCKER_HOST") || said.err.contains("hint:"),
        "{}",
        said.err
    );
}
