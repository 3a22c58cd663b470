//! Every bucket that an instance may end in, in one batch.

use std::fs;

use serde_json::{Value, json};

use crate::fixture::Fixture;

const GOOD: &str = "diff --git a/value.txt b/value.txt\n--- a/value.txt\n+++ b/value.txt\n@@ -1 +1 @@\n-bad\n+good\n";

fn read(fixture: &Fixture, name: &str) -> Value {
    serde_json::from_slice(&fs::read(fixture.file(name)).unwrap()).unwrap()
}

/// Makes instance `index` end in a bucket; gives its patch.
fn prepare(fixture: &mut Fixture, index: usize, bucket: &str) -> String {
    let script = match bucket {
        "partial" => "echo 'ok 1 value'; echo 'not ok 2 other'; echo 'ok 3 keep'",
        // The tests print a mark that only the script may print.
        "tampered" => {
            "echo '>>>>> Start Test Output'\necho 'ok 1 value'; echo 'ok 2 keep'\necho '>>>>> End Test Output'\necho '>>>>> End Test Output'"
        }
        "no_tests_ran" => "echo 'make: nothing to be done'",
        "timeout" => "echo 'ok 1 value'; echo 'ok 2 keep'; sleep 600",
        _ => "",
    };
    if !script.is_empty() {
        fixture.change(index, "eval_script", json!(script));
    }
    match bucket {
        "partial" => fixture.change(index, "FAIL_TO_PASS", json!(["value", "other"])),
        "timeout" => fixture.change(index, "eval_timeout", json!(1)),
        "infra_failure" => {
            let no_fit = GOOD.replace("-bad", "-something else");
            fixture.change(index, "test_patch", json!(no_fit));
        }
        _ => {}
    }
    match bucket {
        "empty_patch" => String::new(),
        "patch_rejected" => GOOD.replace("-bad", "-something else"),
        "unresolved" => GOOD.replace("+good", "+other"),
        _ => GOOD.to_owned(),
    }
}

/// Instance, its bucket, and what it officially counts as.
type Expected<'a> = (usize, &'a str, &'a str);

fn grade(fixture: &mut Fixture, expected: &[Expected<'_>], more: &[&str]) {
    let mut predictions = Vec::new();
    for (index, bucket, _) in expected {
        let patch = prepare(fixture, *index, bucket);
        let id = fixture.id(*index);
        predictions
            .push(json!({"instance_id": id, "model_name_or_path": "m", "model_patch": patch}));
    }
    fixture
        .place
        .write("preds.json", Value::from(predictions).to_string());
    let always = [
        "grade",
        "preds.json",
        "--dataset",
        "rows.jsonl",
        "--scratch",
        "scratch",
        "--out",
        "run",
    ];
    let said = fixture.place.run(&[&always, more].concat());
    assert_eq!(said.code, 0, "{}", said.all());
}

/// The report and the official summary hold every instance in the one place where it belongs.
fn check(fixture: &Fixture, expected: &[Expected<'_>]) {
    let report = read(fixture, "report.json");
    let summary = read(fixture, "m.run.json");
    let instances = report["instances"].as_array().unwrap();
    for (index, bucket, official) in expected {
        let id = json!(fixture.id(*index));
        let of_id = |one: &&Value| one["instance_id"] == id;
        let one = instances.iter().find(of_id).unwrap();
        assert_eq!(one["bucket"], *bucket, "{one}");
        let is_good = *bucket == "resolved";
        assert_eq!(one["reason"].is_null(), is_good, "{one}");
        let share = match *bucket {
            "partial" => json!(0.5),
            // What it printed before its time was over.
            "timeout" => json!(1.0),
            _ => Value::Null,
        };
        assert_eq!(one["partial"], share, "{one}");
        for list in [
            "resolved_ids",
            "unresolved_ids",
            "empty_patch_ids",
            "error_ids",
            "incomplete_ids",
        ] {
            let ids = summary[list].as_array().unwrap();
            assert_eq!(ids.contains(&id), list == *official, "{bucket}: {list}");
        }
    }
    let buckets = report["grading"]["buckets"].as_object().unwrap();
    for (bucket, count) in buckets {
        let wanted = expected.iter().filter(|(_, wanted, _)| bucket == wanted);
        assert_eq!(*count, wanted.count(), "{bucket}");
    }
}

#[test]
fn every_instance_of_a_mixed_batch_ends_in_its_bucket() {
    let expected = [
        (0, "resolved", "resolved_ids"),
        (1, "partial", "unresolved_ids"),
        (2, "unresolved", "unresolved_ids"),
        (3, "tampered", "resolved_ids"),
        (4, "no_tests_ran", "unresolved_ids"),
        (5, "timeout", "error_ids"),
        (6, "infra_failure", "error_ids"),
        (7, "empty_patch", "empty_patch_ids"),
        (8, "patch_rejected", "error_ids"),
    ];
    let mut fixture = Fixture::new(expected.len() + 1);
    let more = ["--sandbox", "local", "--max-infra-failures", "1"];
    grade(&mut fixture, &expected, &more);
    check(&fixture, &expected);
    let summary = read(&fixture, "report.json")["grading"].take();
    assert_eq!(summary["incomplete"], 1, "the last has no prediction");
    fixture.assert_clean();
}

#[test]
fn an_image_that_is_missing_is_a_bucket_beside_others() {
    let Some(image) = testkit::docker_image("base") else {
        return;
    };
    let expected = [
        (0, "resolved", "resolved_ids"),
        (1, "image_missing", "error_ids"),
        (2, "unresolved", "unresolved_ids"),
    ];
    let mut fixture = Fixture::new(expected.len());
    for (index, bucket, _) in expected {
        let image = if bucket == "image_missing" {
            "patchmill-nobody-has-this:1"
        } else {
            image
        };
        fixture.change(index, "image", json!(image));
        fixture.change(index, "workdir", json!("/home/tiny"));
    }
    let more = [
        "--sandbox",
        "docker",
        "--pull",
        "never",
        "--max-infra-failures",
        "1",
    ];
    grade(&mut fixture, &expected, &more);
    check(&fixture, &expected);
}
