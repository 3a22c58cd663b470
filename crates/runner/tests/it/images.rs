//! Which images there are and are taken, and how shells start.

use serde_json::{Value, json};

use crate::command::{Place, Said};
use crate::fixture::Fixture;

#[test]
fn a_dry_run_says_which_image_and_why() {
    let mut fixture = Fixture::new(2);
    fixture.change(1, "docker_image", json!("named/by-row:1"));
    let said = fixture.run(&["--dry-run", "--image-mirror", "mirror.test:5000/hub"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let line = "tiny__tiny-001 s1-a1 (new, image mirror.test:5000/hub/named/by-row:1 by the row's `docker_image`)";
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
    assert_eq!(
        attempt["grading"]["eval_script_origin"],
        "by the row's `eval_script`"
    );

    fixture.change(0, "eval_script", Value::Null);
    fixture.place.write(
        "tiny.toml",
        "repository = 'tiny/*'\nlog_parser = 'pytest'\ntest_command = 'make check'\n",
    );
    let said = fixture.run(&["--dry-run", "--grade", "--repository-rules", "tiny.toml"]);
    let line = "tiny__tiny-000 s1-a1 (new, script by tiny.toml, parser tap by the row's `log_parser`, judged as SWE-bench does, profile sealed by default)";
    assert!(said.out.contains(line), "{}", said.all());
    // What resolves an issue follows from the row too.
    fixture.change(0, "test_cmds", json!(["make check"]));
    let said = fixture.run(&["--dry-run", "--grade", "--format=json"]);
    let object: Value = serde_json::from_str(&said.out).unwrap();
    let criterion = &object["attempts"][0]["grading"]["criterion"];
    assert_eq!(criterion, "swe-bench-live");
    fixture.change(0, "test_cmds", Value::Null);
    let said = fixture.run(&["--dry-run", "--grade"]);
    let line = "tiny__tiny-000 s1-a1 (new, not graded: read grading data: the row has no eval_script, and there are no rules for the repository `tiny/tiny`)";
    assert!(said.out.contains(line), "{}", said.all());
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
fn what_an_image_holds_of_the_answer_is_gone_where_it_is_solved() {
    let Some(image) = testkit::docker_image("base") else {
        return;
    };
    let mut fixture = Fixture::new(1);
    for (field, value) in [
        ("image", json!(image)),
        ("workdir", json!("/home/tiny")),
        // Rows of Multi-SWE-bench, whose images hold the known fix.
        ("number", json!(1)),
        ("resolved_issues", json!([])),
        (
            "eval_script",
            json!(
                "test -e /home/fix.patch && grep -q good value.txt && echo 'ok 1 value'\necho 'ok 2 keep'\n"
            ),
        ),
    ] {
        fixture.change(0, field, value);
    }
    fixture.script(&["test ! -e /home/fix.patch && echo good > value.txt"]);
    let said = fixture.run(&[
        "--sandbox",
        "docker",
        "--setup-command",
        "echo secret > /home/fix.patch",
        "--grade",
        "--fail-under=1",
    ]);
    assert_eq!(said.code, 0, "{}", said.all());
}

#[test]
fn a_given_start_is_every_shells_start() {
    let mut fixture = Fixture::new(1);
    let script = "if [ \"$STARTED\" = 1 ]; then echo 'ok 1 value'; fi\ntest -f keep.txt && echo 'ok 2 keep'\n";
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

/// An image of a test's own, like another one; the name goes with it.
pub(crate) struct OwnImage(pub(crate) String);

impl OwnImage {
    pub(crate) fn new(like: &str) -> Self {
        let name = format!("patchmill-test-images:{}", std::process::id());
        docker(&["tag", like, &name]);
        // Another layer makes it another image.
        let container = docker(&["create", "--network=none", &name, "/none"]);
        docker(&[
            "commit",
            "--change",
            "LABEL patchmill.inputs=",
            &container,
            &name,
        ]);
        docker(&["rm", &container]);
        Self(name)
    }
}

impl Drop for OwnImage {
    fn drop(&mut self) {
        let _ = std::process::Command::new("docker")
            .args(["image", "rm", &self.0])
            .output();
    }
}

fn docker(arguments: &[&str]) -> String {
    let output = std::process::Command::new("docker")
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "docker {arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn the_engines_images_are_listed_got_and_removed() {
    let Some(empty) = testkit::docker_image("empty") else {
        return;
    };
    let image = OwnImage::new(empty);
    let name = image.0.as_str();
    let place = Place::new();
    let said = place.run(&["images", "list"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let line = said.out.lines().find(|line| line.contains(name)).unwrap();
    assert!(
        line.contains("not known") && line.ends_with("(built here)"),
        "{line}"
    );
    let said = place.run(&["images", "prune"]);
    assert_eq!((said.code, said.out.as_str()), (0, "nothing to remove\n"));

    // It is there, so nobody is asked for it; but now it counts as used.
    let said = place.run(&["images", "pull", name]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(
        said.out.starts_with(&format!("{name}  sha256:")),
        "{}",
        said.all()
    );
    let said = place.run(&["images", "list", "--format=json"]);
    let listed: Value = serde_json::from_str(&said.out).unwrap();
    let last = listed["images"].as_array().unwrap().last().unwrap();
    assert_eq!(last["names"], json!([name]));
    assert!(
        last["used"].is_string() && last["built"] == json!(true),
        "{last}"
    );

    let said = place.run(&["images", "prune"]);
    assert_eq!((said.code, said.out.as_str()), (0, "nothing to remove\n"));
    let said = place.run(&["images", "prune", "--built", "--dry-run"]);
    assert_eq!(said.out, format!("would remove {name}  30 B\n"));
    let said = place.run(&["images", "prune", "--built"]);
    assert_eq!(
        said.out,
        format!("removed {name}  30 B\n"),
        "{}",
        said.all()
    );
    let said = place.run(&["images", "list"]);
    assert!(!said.out.contains(name), "{}", said.all());
}

#[test]
fn images_of_a_dataset_are_got_and_what_is_missing_is_named() {
    let Some(image) = testkit::docker_image("empty") else {
        return;
    };
    let mut fixture = Fixture::new(3);
    fixture.change(0, "image", json!(image));
    fixture.change(1, "image", json!("patchmill-absent:1"));
    let flags = ["--dataset", "rows.jsonl", "--pull=never"];
    let said = fixture
        .place
        .run(&[&["images", "pull"], &flags[..]].concat());
    assert_eq!(said.code, 3, "{}", said.all());
    assert!(said.out.starts_with(image), "{}", said.all());
    assert!(
        said.err
            .contains("cannot use the image `patchmill-absent:1`"),
        "{}",
        said.all()
    );
    assert!(said.err.contains("hint:"), "{}", said.all());
}

/// Solves and grades one row in an image laid out as those that datasets publish.
fn in_layout(image: &str, workdir: &str, more: &[&str]) -> (Fixture, Said) {
    let mut fixture = Fixture::new(1);
    fixture.change(0, "repo_path", Value::Null);
    fixture.change(0, "image", json!(image));
    fixture.change(0, "workdir", json!(workdir));
    let script =
        "python -m unittest tests.test_environment && echo 'ok 1 value'\necho 'ok 2 keep'\n";
    fixture.change(0, "eval_script", json!(script));
    fixture.script(&["python -c 'import sys, testbed_only; print(sys.prefix)' > prefix.txt"]);
    let check = "python -c 'import testbed_only'";
    let flags = ["--sandbox", "docker", "--grade", "--verify-command", check];
    let said = fixture.run(&[&flags, more].concat());
    (fixture, said)
}

#[test]
fn shells_start_where_the_images_users_start() {
    if testkit::docker_image("layout").is_none() {
        return;
    }
    let conda = ("/testbed", "/opt/miniconda3/envs/testbed");
    for (image, user, (workdir, prefix)) in [
        ("patchmill-layout:1", "0:0", conda),
        ("patchmill-layout-user:1", "1000:1000", conda),
        (
            "patchmill-layout-app:1",
            "1000:1000",
            ("/app", "/app/.venv"),
        ),
    ] {
        let (fixture, said) = in_layout(image, workdir, &["--fail-under=1"]);
        assert_eq!(said.code, 0, "{image}: {}", said.all());
        let trajectory = fixture.trajectory(0);
        let header = serde_json::to_value(&trajectory.header).unwrap();
        let environment = &header["environment"];
        assert_eq!(environment["interpreter"]["prefix"], prefix, "{image}");
        assert_eq!(environment["image"], image);
        assert_eq!(environment["applied"]["user"], user);
        let patch = &fixture.predictions()[0].model_patch;
        assert!(patch.contains(&format!("+{prefix}\n")), "{patch}");
        assert_eq!(patch.matches("diff --git ").count(), 1, "{patch}");
        // The set-up commit on top of the base, not the base, is where the work starts.
        assert_eq!(
            environment["seal"]["image"]["base_commit"], "missing",
            "{header}"
        );
    }
}

#[test]
fn without_that_start_the_systems_python_is_found() {
    if testkit::docker_image("layout").is_none() {
        return;
    }
    for (image, workdir) in [
        ("patchmill-layout:1", "/testbed"),
        ("patchmill-layout-app:1", "/app"),
    ] {
        let flags = ["--shell-init=", "--max-rejections=1"];
        let (fixture, said) = in_layout(image, workdir, &flags);
        assert_eq!(said.code, 0, "{}", said.all());
        assert_eq!(fixture.outcomes()[0].1.name(), "stopped", "{}", said.all());
        assert!(said.out.contains("unresolved"), "{}", said.all());
    }
}

#[test]
fn a_patch_is_tried_on_the_base_commit_beneath_the_set_up() {
    let Some(image) = testkit::docker_image("layout") else {
        return;
    };
    let ask = [
        "run",
        "--rm",
        "--network=none",
        image,
        "git",
        "-C",
        "/testbed",
    ];
    let base = docker(&[&ask[..], &["rev-parse", "HEAD~1"]].concat());
    let mut fixture = Fixture::new(2);
    fixture.change(0, "repo_path", Value::Null);
    fixture.change(0, "base_commit", json!(base));
    fixture.change(0, "image", json!(image));
    fixture.change(0, "workdir", json!("/testbed"));
    // The set-up's own file is a test: the base has not got it.
    let place = "echo '# more' >>tests/test_environment.py; echo x >new.txt";
    fixture.script_of(0, &[place]);
    fixture.script_of(1, &["echo good >value.txt"]);
    let flags = ["--sandbox", "auto", "--model", "script:scripts"];
    let said = fixture.run(&flags);
    assert_eq!(said.code, 0, "{}", said.all());
    let found: Vec<Value> = fixture
        .events()
        .into_iter()
        .filter_map(|event| match event {
            schema::RunEvent::AttemptFinished { key, patch, .. } => {
                let is_first = key.instance_id.as_str() == fixture.id(0);
                Some(json!([
                    !is_first,
                    serde_json::to_value(patch.on_base).unwrap()
                ]))
            }
            _ => None,
        })
        .collect();
    for expected in [
        json!([false, {"commit": "other", "full": false, "model": true}]),
        json!([true, {"commit": "start"}]),
    ] {
        assert!(found.contains(&expected), "{found:?}");
    }
    let warning = "the full patch, tests included, applies to the commit that the attempt started from and not to the row's base commit";
    assert_eq!(said.err.matches(warning).count(), 1, "{}", said.all());
}
