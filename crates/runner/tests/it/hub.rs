//! A dataset of the hub, by the binary: found, solved, graded, selected from, with nobody there to ask the second time.

use std::fs;

use serde_json::Value;
use testkit::Answer;
use testkit::hub::{FakeHub, HubDataset, HubFile};

use crate::command::Said;
use crate::fixture::Fixture;

const NAME: &str = "octo/issues";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A hub with the rows of a fixture, for those who show a token.
fn hub(fixture: &Fixture) -> FakeHub {
    let rows = fs::read(fixture.place.path().join("rows.jsonl")).unwrap();
    let hub = FakeHub::start(HubDataset {
        name: NAME.to_owned(),
        commit: COMMIT.to_owned(),
        files: vec![HubFile {
            path: "data/test.jsonl".to_owned(),
            content: rows,
            large: true,
        }],
        token: Some("hf_right".to_owned()),
        gated: false,
    });
    fs::remove_file(fixture.place.path().join("rows.jsonl")).unwrap();
    hub
}

fn run(fixture: &Fixture, hub: &FakeHub, more: &[&str]) -> Said {
    let path = fixture.place.path();
    let always = [
        "run",
        "--dataset",
        NAME,
        "--scratch",
        "scratch",
        "--sandbox",
        "local",
        "--model",
        "script:scripts",
    ];
    let mut command = fixture.place.command(&[&always, more].concat());
    command
        .env("HF_ENDPOINT", hub.endpoint())
        .env("HF_TOKEN", "hf_right")
        .env("HF_HUB_CACHE", path.join("cache"));
    fixture.place.say(command)
}

/// Instances that a dry run names.
fn named(said: &Said) -> Vec<String> {
    assert_eq!(said.code, 0, "{}", said.all());
    let told: Value = serde_json::from_str(&said.out).unwrap();
    let attempts = told["attempts"].as_array().unwrap().iter();
    attempts
        .map(|attempt| attempt["instance_id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_dataset_of_the_hub_is_run_and_selected_from_again_without_it() {
    let fixture = Fixture::new(3);
    fixture.script_of(0, &["echo good > value.txt"]);
    fixture.script_of(1, &["echo other > value.txt"]);
    fixture.script_of(2, &["true"]);
    let hub = hub(&fixture);
    let dry = ["--dry-run", "--format", "json", "--out", "dry"];
    let nobody = run(&fixture, &hub, &[&["--offline"][..], &dry].concat());
    assert_eq!(nobody.code, 2, "{}", nobody.all());
    assert!(nobody.err.contains("--offline"), "{}", nobody.err);
    assert!(hub.requests().is_empty());

    let said = run(
        &fixture,
        &hub,
        &["--grade", "--no-must-patch", "--out", "run"],
    );
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.err.contains("split test"), "{}", said.err);
    let file: Value = serde_json::from_slice(&fs::read(fixture.file("run.json")).unwrap()).unwrap();
    assert_eq!(file["operation"]["dataset"], format!("{NAME}@{COMMIT}"));

    hub.break_hub(|_| Some(Answer::new(500, &[], "")));
    let asked = hub.requests().len();
    let offline = [
        "--offline",
        "--dry-run",
        "--format",
        "json",
        "--out",
        "again",
    ];
    let all = run(&fixture, &hub, &offline);
    assert_eq!(named(&all), [0, 1, 2].map(|index| fixture.id(index)));
    for (status, indexes) in [
        ("resolved@run", &[0][..]),
        ("unresolved@run", &[1, 2]),
        ("empty@run", &[2]),
        ("resolved,empty@run", &[0, 2]),
    ] {
        let said = run(
            &fixture,
            &hub,
            &[&offline[..], &["--where-status", status]].concat(),
        );
        let expected: Vec<String> = indexes.iter().map(|index| fixture.id(*index)).collect();
        assert_eq!(named(&said), expected, "{status}");
    }
    let none = run(
        &fixture,
        &hub,
        &[&offline[..], &["--where-status", "missing@run"]].concat(),
    );
    assert_eq!(none.code, 2, "{}", none.all());
    assert_eq!(hub.requests().len(), asked);
}
