//! Submissions made of a run.

use std::fs;

use serde_json::Value;

use crate::command::Place;
use crate::fixture::Fixture;

#[test]
fn a_submission_holds_what_the_leaderboard_reads_and_no_secret() {
    let secret = "sk-never-to-be-seen";
    let fixture = Fixture::at(Place::new().variable("SOME_API_KEY", secret), 2);
    fixture.script_of(0, &["echo good > value.txt", &format!("echo {secret}")]);
    fixture.script_of(1, &["echo other > value.txt"]);
    let said = fixture.run(&["--model", "script:scripts", "--grade"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let said = fixture
        .place
        .run(&["export", "leaderboard", "run", "--out", "out"]);
    insta::assert_snapshot!(said.all());

    let out = fixture.place.path().join("out");
    let text = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    let predictions = text("all_preds.jsonl");
    let ids: Vec<String> = predictions
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["instance_id"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(ids, [fixture.id(0), fixture.id(1)]);
    let report: Value =
        serde_json::from_str(&text(&format!("logs/{}/report.json", fixture.id(0)))).unwrap();
    assert_eq!(report[fixture.id(0)]["resolved"], true);
    assert!(text(&format!("logs/{}/patch.diff", fixture.id(0))).contains("+good"));
    assert!(text(&format!("logs/{}/test_output.txt", fixture.id(0))).contains("ok 1 value"));
    let trajectory = text(&format!("trajs/{}.json", fixture.id(0)));
    assert!(
        trajectory.contains("value.txt") && !trajectory.contains(secret),
        "{trajectory}"
    );
    assert!(text("metadata.yaml").contains("attempts: \"1\""));
    assert!(text("README.md").contains("resolved: 1 of 2"));
    let mut names: Vec<String> = fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "README.md",
            "all_preds.jsonl",
            "logs",
            "metadata.yaml",
            "trajs"
        ]
    );

    let again = fixture
        .place
        .run(&["export", "leaderboard", "run", "--out", "out"]);
    insta::assert_snapshot!(again.all());
}

#[test]
fn what_a_submission_lacks_is_said() {
    let fixture = Fixture::new(1);
    fixture.script(&["echo good > value.txt"]);
    assert_eq!(fixture.run(&[]).code, 0);
    let said = fixture.place.run(&[
        "export",
        "leaderboard",
        "run",
        "--out",
        "out",
        "--format",
        "json",
    ]);
    assert_eq!(said.code, 0, "{}", said.all());
    let exported: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(exported["predictions"], 1);
    assert_eq!(exported["logs"], 0);
    assert_eq!(exported["ungraded"][0], fixture.id(0));
    assert!(said.err.contains("without a verdict"), "{}", said.err);
    let none = fixture
        .place
        .run(&["export", "leaderboard", "nowhere", "--out", "other"]);
    assert_eq!(none.code, 2);
    assert!(!fixture.place.path().join("other").exists());
}
