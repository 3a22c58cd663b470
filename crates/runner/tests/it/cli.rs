//! Help, versions, flags, layers.

use crate::command::Place;
use crate::fixture::Fixture;

#[test]
fn the_help_of_every_command_is_pinned() {
    let place = Place::new();
    for command in [
        vec!["--help"],
        vec!["-h"],
        vec!["run", "--help"],
        vec!["run", "-h"],
        vec!["grade", "--help"],
        vec!["report", "--help"],
        vec!["validate", "--help"],
        vec!["export", "leaderboard", "--help"],
        vec!["replay", "--help"],
        vec!["clean", "--help"],
        vec!["doctor", "--help"],
    ] {
        let said = place.run(&command);
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{command:?}");
        let name = command.join("_").replace('-', "");
        insta::assert_snapshot!(format!("help_{name}"), said.out);
    }
}

#[test]
fn version_goes_to_stdout() {
    let said = Place::new().run(&["--version"]);
    assert_eq!(
        said.out,
        concat!("runner ", env!("CARGO_PKG_VERSION"), "\n")
    );
    assert_eq!((said.code, said.err.as_str()), (0, ""));
}

#[test]
fn an_unknown_flag_is_met_with_the_nearest_one() {
    let said = Place::new().run(&["run", "--max-step", "3"]);
    insta::assert_snapshot!(said.all());
}

#[test]
fn an_unknown_command_is_met_with_the_nearest_one() {
    let said = Place::new().run(&["rum"]);
    insta::assert_snapshot!(said.all());
}

#[test]
fn nothing_at_all_shows_the_help() {
    let said = Place::new().run(&[]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("Usage: runner"), "{}", said.err);
}

#[test]
fn print_config_shows_each_value_and_where_it_came_from() {
    let place = Place::new()
        .variable("PATCHMILL_SAMPLES", "3")
        .variable("PATCHMILL_WORKER", "3");
    place.write("patchmill.toml", "max_steps = 40\n[env]\nA = \"x\"\n");
    place.write("home/.config/patchmill/config.toml", "grade = true\n");
    let said = place.run(&[
        "run",
        "--workers",
        "2",
        "--no-stream",
        "--set",
        "env.B=y",
        "--print-config",
    ]);
    insta::assert_snapshot!(said.all());
}

#[test]
fn print_config_can_be_json() {
    let said = Place::new().run(&[
        "run",
        "--workers",
        "2",
        "--print-config",
        "--format",
        "json",
    ]);
    let json: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let expected = serde_json::json!({"value": 2, "origin": "flag --workers"});
    assert_eq!(json["workers"], expected);
    assert_eq!(said.err, "");
}

#[test]
fn a_switch_can_be_turned_off_and_the_last_word_counts() {
    let place = Place::new();
    let value = |arguments: &[&str]| {
        let mut all = vec!["run", "--print-config", "--format", "json"];
        all.extend(arguments);
        let said = place.run(&all);
        let json: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        json["must_patch"]["value"].as_bool().unwrap()
    };
    assert!(value(&[]));
    assert!(!value(&["--no-must-patch"]));
    assert!(!value(&["--must-patch=false"]));
    assert!(value(&["--no-must-patch", "--must-patch"]));
    assert!(!value(&["--must-patch", "--no-must-patch"]));
}

#[test]
fn a_closed_pipe_is_no_crash() {
    let place = Place::new();
    let mut child = place.command(&["run", "--help"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn colour_is_only_where_it_is_asked_for() {
    let place = Place::new();
    let bad = ["run", "--set", "nonsense=1"];
    assert!(!place.run(&bad).err.contains('\x1b'));
    let mut colored = bad.to_vec();
    colored.extend(["--color", "always"]);
    assert!(place.run(&colored).err.contains("\x1b[31merror:"));
}

#[test]
fn a_path_with_the_short_name_of_a_dataset_is_told() {
    let fixture = Fixture::new(1);
    fixture.script(&["true"]);
    let rows = std::fs::read(fixture.place.path().join("rows.jsonl")).unwrap();
    std::fs::write(fixture.place.path().join("verified"), rows).unwrap();
    let said = |dataset: &str| {
        let said = fixture.place.run(&[
            "run",
            "--dry-run",
            "--dataset",
            dataset,
            "--sandbox",
            "local",
            "--model",
            "script:script.jsonl",
        ]);
        assert_eq!(said.code, 0, "{}", said.all());
        said.err
    };
    let note = "the dataset of the hub is hf://datasets/SWE-bench/SWE-bench_Verified";
    assert!(said("verified").contains(note));
    assert!(
        !said("./verified").contains("hf://"),
        "that is a path and nothing else"
    );
}
