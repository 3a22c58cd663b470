//! Summaries of runs by the official harness, made anew from what they say of each instance.

use std::collections::BTreeSet;
use std::path::Path;

use grade::official::{Entry, Standing, Summary, summarize};
use schema::grading::Harness;
use schema::instance::InstanceId;
use serde_json::{Map, Value};

/// Fields that only a run with an engine at hand has.
const LEFTOVERS: [&str; 3] = [
    "unstopped_instances",
    "unstopped_containers",
    "unremoved_images",
];

fn ids(told: &Map<String, Value>, list: &str) -> BTreeSet<String> {
    serde_json::from_value(told[list].clone()).unwrap()
}

/// The instances of the dataset, as the lists tell them.
fn entries(told: &Map<String, Value>) -> Vec<Entry> {
    let lists = [
        ("incomplete_ids", Standing::Incomplete),
        ("empty_patch_ids", Standing::EmptyPatch),
        ("resolved_ids", Standing::Completed { resolved: true }),
        ("unresolved_ids", Standing::Completed { resolved: false }),
        ("error_ids", Standing::Error),
    ];
    let submitted = ids(told, "submitted_ids");
    let entry = |id: String, standing| Entry {
        submitted: submitted.contains(&id),
        id: InstanceId::new(id),
        standing,
        signature: None,
    };
    lists
        .iter()
        .flat_map(|(list, standing)| ids(told, list).into_iter().map(|id| entry(id, *standing)))
        .collect()
}

fn check(path: &Path) {
    let text = std::fs::read(path).unwrap();
    let Value::Object(mut told) = serde_json::from_slice(&text).unwrap() else {
        panic!("{}", path.display());
    };
    let entries = entries(&told);
    let mut ours = serde_json::to_value(summarize(&entries, Harness::V4, None)).unwrap();
    // Officially predictions for instances outside of the dataset count as submitted; here they are refused before.
    let known: BTreeSet<String> = entries.iter().map(|entry| entry.id.to_string()).collect();
    let submitted = ids(&told, "submitted_ids");
    let within: BTreeSet<&String> = submitted.intersection(&known).collect();
    told["submitted_instances"] = within.len().into();
    told["submitted_ids"] = serde_json::to_value(&within).unwrap();
    for field in LEFTOVERS {
        told.remove(field);
    }
    let ours = ours.as_object_mut().unwrap();
    pretty_assertions::assert_eq!(*ours, told, "{}", path.display());
    let read: Summary = serde_json::from_slice(&text).unwrap();
    assert_eq!(read.total_instances, entries.len());
}

#[test]
fn summaries_of_official_runs_are_made_anew() {
    let Some(directory) = testkit::conformance() else {
        return;
    };
    let folder = directory.join("eval-logs/v2-official");
    let mut summaries = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            check(&path);
            summaries += 1;
        }
    }
    assert!(summaries > 0);
}
