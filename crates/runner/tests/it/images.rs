//! How images and the start of shells are chosen, as far as no engine is needed; the rest is in the tests of containers.

use serde_json::{Value, json};

use crate::fixture::Fixture;

#[test]
fn a_dry_run_says_which_image_and_why() {
    let mut fixture = Fixture::new(2);
    fixture.change(1, "docker_image", json!("named/by-row:1"));
    let said = fixture.run(&["--dry-run", "--image-mirror", "mirror.test:5000/hub"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let line =
        "tiny__tiny-001 s1-a1 (new, image mirror.test:5000/hub/named/by-row:1 as the row says)";
    assert!(said.out.contains(line), "{}", said.all());
    assert!(
        said.out.contains("tiny__tiny-000 s1-a1 (new)"),
        "{}",
        said.all()
    );

    let said = fixture.run(&[
        "--dry-run",
        "--format=json",
        "--image",
        "mine/{name}:{instance_id}",
    ]);
    let object: Value = serde_json::from_str(&said.out).unwrap();
    let attempt = &object["attempts"][0];
    assert_eq!(attempt["image"], "mine/tiny:tiny__tiny-000");
    assert_eq!(attempt["image_origin"], "as given");
}

#[test]
fn an_image_that_cannot_be_is_refused_before_anything_starts() {
    let fixture = Fixture::new(1);
    let said = fixture.run(&["--image", "mine:{tag}"]);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(said.err.contains("cannot fill {tag}"), "{}", said.all());
    assert!(
        said.err.contains("hint: there are {instance_id}"),
        "{}",
        said.all()
    );
    assert!(!fixture.file("run").exists());
}

#[test]
fn a_given_start_is_every_shells_start() {
    let mut fixture = Fixture::new(1);
    let script = "if [ \"$STARTED\" = 1 ]; then echo 'ok 1 - value'; fi\ntest -f keep.txt && echo 'ok 2 - keep'\n";
    fixture.change(0, "eval_script", json!(script));
    fixture.script(&["test \"$STARTED\" = 1 && echo good > value.txt"]);
    let check = "test \"$STARTED\" = 1";
    let flags = [
        "--shell-init",
        "export STARTED=1",
        "--verify-command",
        check,
        "--grade",
        "--fail-under=1",
    ];
    let said = fixture.run(&flags);
    assert_eq!(said.code, 0, "{}", said.all());
    let header = serde_json::to_value(fixture.trajectory(0).header).unwrap();
    let interpreter = &header["environment"]["interpreter"];
    assert!(
        interpreter["path"].as_str().unwrap().contains("python"),
        "{header}"
    );
    assert!(
        interpreter["prefix"].as_str().unwrap().starts_with('/'),
        "{header}"
    );
}

#[test]
fn a_start_that_fails_is_no_fault_of_the_model() {
    let fixture = Fixture::new(1);
    fixture.script(&["echo good > value.txt"]);
    let said = fixture.run(&[
        "--shell-init",
        "echo no such environment; false",
        "--max-attempts",
        "1",
    ]);
    assert_eq!(said.code, 3, "{}", said.all());
    assert!(said.err.contains("no such environment"), "{}", said.all());
}
