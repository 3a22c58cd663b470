//! The official files, and our word for each verdict.

use std::collections::BTreeSet;

use grade::official::{self, Entry, Graded, Leftovers, Signature, Standing};
use grade::{Evidence, bucket, log, verdict};
use pretty_assertions::assert_eq;
use schema::Bucket;
use schema::grading::{GradingSpec, Harness, PatchApplication, Verdict};
use schema::instance::InstanceId;
use serde_json::{Value, json};

fn spec(harness: Harness) -> GradingSpec {
    GradingSpec {
        harness,
        log_parser: "pytest".into(),
        fail_to_pass: vec!["t.py::a".into(), "t.py::b".into()],
        pass_to_pass: vec!["t.py::c".into()],
        ..GradingSpec::default()
    }
}

fn judge(log: &str, harness: Harness) -> Verdict {
    let log = format!(">>>>> Start Test Output\n{log}>>>>> End Test Output\n");
    let parts = log::read_official(log.as_bytes());
    let evidence = Evidence {
        application: PatchApplication::Applied,
        log: Some(&parts),
        timed_out: false,
        exit_code: None,
    };
    verdict(&spec(harness), &evidence).unwrap()
}

fn not_run(application: PatchApplication) -> Verdict {
    let evidence = Evidence {
        application,
        log: None,
        timed_out: false,
        exit_code: None,
    };
    verdict(&spec(Harness::V5), &evidence).unwrap()
}

fn report(verdict: &Verdict, patch_exists: bool, signature: Option<Signature>) -> Value {
    let id = InstanceId::new("o__r-1");
    let graded = Graded {
        id: &id,
        patch_exists,
        verdict,
        signature,
    };
    serde_json::to_value(official::report(&graded)).unwrap()["o__r-1"].take()
}

const MIXED: &str = "PASSED t.py::a\nFAILED t.py::b - E\nPASSED t.py::c\n";

#[test]
fn a_report_has_the_fields_of_its_generation_in_their_order() {
    let verdict = judge(MIXED, Harness::V5);
    let id = InstanceId::new("o__r-1");
    let graded = Graded {
        id: &id,
        patch_exists: true,
        verdict: &verdict,
        signature: None,
    };
    let text = official::text(&official::report(&graded)).unwrap();
    let expected = r#"{
    "o__r-1": {
        "patch_is_None": false,
        "patch_exists": true,
        "patch_successfully_applied": true,
        "resolved": false,
        "infra_failure": false,
        "tests_status": {
            "FAIL_TO_PASS": {
                "success": [
                    "t.py::a"
                ],
                "failure": [
                    "t.py::b"
                ]
            },
            "PASS_TO_PASS": {
                "success": [
                    "t.py::c"
                ],
                "failure": []
            },
            "FAIL_TO_FAIL": {
                "success": [],
                "failure": []
            },
            "PASS_TO_FAIL": {
                "success": [],
                "failure": []
            }
        }
    }
}"#;
    assert_eq!(text, expected);
}

#[test]
fn a_patch_of_null_has_no_results() {
    let expected = json!({
        "patch_is_None": true, "patch_exists": false, "patch_successfully_applied": false,
        "resolved": false, "infra_failure": false,
    });
    let sign = Some(Signature::OutOfMemory);
    assert_eq!(report(&judge(MIXED, Harness::V5), false, sign), expected);
}

#[test]
fn signs_of_a_broken_environment_are_told_only_where_nothing_could_be_read() {
    let sign = Some(Signature::OutOfMemory);
    let readable = report(&judge(MIXED, Harness::V5), true, sign);
    assert_eq!(readable["infra_failure"], false);
    assert_eq!(readable.get("infra_failure_reason"), None);

    let nothing = judge("Killed\n", Harness::V5);
    let broken = report(&nothing, true, sign);
    assert_eq!(broken["infra_failure"], true);
    assert_eq!(broken["infra_failure_reason"], "out_of_memory");
    assert_eq!(broken.get("tests_status"), None);
    let unclear = report(&nothing, true, Some(Signature::NoTestsCollected));
    assert_eq!(unclear["infra_failure"], false);
    assert_eq!(unclear["infra_failure_reason"], "no_tests_collected");
}

#[test]
fn every_verdict_has_its_bucket() {
    let all = "PASSED t.py::a\nPASSED t.py::b\nPASSED t.py::c\n";
    let broken = "PASSED t.py::a\nFAILED t.py::b - E\nFAILED t.py::c - E\n";
    let none = "FAILED t.py::a - E\nFAILED t.py::b - E\nPASSED t.py::c\n";
    let late = Verdict {
        timed_out: true,
        ..judge(all, Harness::V5)
    };
    let tampered = Verdict {
        resolved: false,
        tamper_reason: Some("marks occur twice".into()),
        ..judge(all, Harness::V5)
    };
    let tests_only = Verdict {
        application: PatchApplication::Empty,
        ..judge(none, Harness::V5)
    };
    for (verdict, expected) in [
        (judge(all, Harness::V5), Bucket::Resolved),
        (judge(MIXED, Harness::V5), Bucket::Partial),
        (judge(broken, Harness::V5), Bucket::Unresolved),
        (judge(none, Harness::V5), Bucket::Unresolved),
        (judge("nothing\n", Harness::V5), Bucket::NoTestsRan),
        (late, Bucket::Timeout),
        (tampered, Bucket::Tampered),
        (tests_only, Bucket::Unresolved),
        (not_run(PatchApplication::Empty), Bucket::EmptyPatch),
        (not_run(PatchApplication::Rejected), Bucket::PatchRejected),
    ] {
        assert_eq!(bucket::of(&verdict), expected, "{verdict:?}");
    }
    assert_eq!(bucket::partial(&judge(MIXED, Harness::V5)), Some(0.5));
    assert_eq!(bucket::partial(&judge(broken, Harness::V5)), None);
    assert_eq!(bucket::partial(&judge(all, Harness::V5)), None);
}

fn entry(id: &str, standing: Standing, signature: Option<Signature>) -> Entry {
    Entry {
        id: InstanceId::new(id),
        submitted: standing != Standing::Incomplete,
        standing,
        signature,
    }
}

fn entries() -> Vec<Entry> {
    let sign = Some(Signature::NetworkUnreachable);
    vec![
        entry("z__z-1", Standing::Completed { resolved: true }, sign),
        entry("a__a-1", Standing::Completed { resolved: false }, sign),
        entry("b__b-1", Standing::EmptyPatch, None),
        entry("c__c-1", Standing::Error, Some(Signature::TestsTimedOut)),
        entry("d__d-1", Standing::Incomplete, None),
    ]
}

#[test]
fn a_run_is_summed_up_as_its_generation_does() {
    let four = official::summarize(&entries(), Harness::V4, Some(&Leftovers::default()));
    let expected = json!({
        "total_instances": 5, "submitted_instances": 4, "completed_instances": 2,
        "resolved_instances": 1, "unresolved_instances": 1, "empty_patch_instances": 1, "error_instances": 1,
        "completed_ids": ["a__a-1", "z__z-1"], "incomplete_ids": ["d__d-1"], "empty_patch_ids": ["b__b-1"],
        "submitted_ids": ["a__a-1", "b__b-1", "c__c-1", "z__z-1"], "resolved_ids": ["z__z-1"],
        "unresolved_ids": ["a__a-1"], "error_ids": ["c__c-1"], "schema_version": 2,
    });
    assert_eq!(serde_json::to_value(&four).unwrap(), expected);

    let left = Leftovers {
        containers: BTreeSet::from(["kept".to_owned()]),
        images: BTreeSet::new(),
    };
    let five = official::summarize(&entries(), Harness::V5, Some(&left));
    let keys: Vec<String> = match serde_json::to_value(&five).unwrap() {
        Value::Object(map) => map.keys().cloned().collect(),
        other => panic!("{other}"),
    };
    assert_eq!(
        keys,
        [
            "total_instances",
            "submitted_instances",
            "completed_instances",
            "resolved_instances",
            "unresolved_instances",
            "infra_failure_instances",
            "ambiguous_failure_instances",
            "empty_patch_instances",
            "error_instances",
            "completed_ids",
            "incomplete_ids",
            "empty_patch_ids",
            "submitted_ids",
            "resolved_ids",
            "unresolved_ids",
            "infra_failure_ids",
            "ambiguous_failure_ids",
            "failure_reasons",
            "error_ids",
            "schema_version",
            "unstopped_instances",
            "unstopped_containers",
            "unremoved_images",
        ]
    );
    let value = serde_json::to_value(&five).unwrap();
    assert_eq!(
        value["infra_failure_ids"],
        json!(["a__a-1"]),
        "resolved ones are no failure"
    );
    assert_eq!(value["ambiguous_failure_ids"], json!(["c__c-1"]));
    assert_eq!(
        value["failure_reasons"],
        json!({"a__a-1": "network_unreachable", "c__c-1": "tests_timed_out"})
    );
    assert_eq!(value["unstopped_containers"], json!(["kept"]));
}

#[test]
fn the_summarys_numbers_add_up() {
    let summary = official::summarize(&entries(), Harness::V5, None);
    assert_eq!(
        summary.submitted_instances,
        summary.completed_instances + summary.empty_patch_instances + summary.error_instances
    );
    assert_eq!(
        summary.completed_instances,
        summary.resolved_instances + summary.unresolved_instances
    );
    assert_eq!(
        summary.total_instances,
        summary.submitted_instances + summary.incomplete_ids.len()
    );
}
