//! Generated logs, and what the official parsers 4.1.0 and 5.0.2 find in them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use grade::{Context, StatusMap, parser};
use schema::grading::Harness;

use crate::differential::{self, Answers, digest_of};

const ANSWERS: &[u8] = include_bytes!("../fixtures/official-maps.digests");

/// Cases that are read although the official parser breaks off: XML names with characters that only its fifth edition allows.
const READ_ON_PURPOSE: &[(&str, usize)] = &[("doctest", 693), ("doctest", 1530)];

/// A log, an instance id and a version.
type Case = (String, String, String);

/// Our map in its order, or that the official parser breaks off.
fn ours(name: &str, (log, instance_id, version): &Case, harness: Harness) -> serde_json::Value {
    let context = Context {
        harness,
        instance_id,
        version,
    };
    let parsed = parser(name).unwrap()(log, &context);
    if parsed.official_failure.is_some() {
        return "broken".into();
    }
    let map = StatusMap::new(&parsed.official);
    let entries: Vec<[String; 2]> = map
        .iter()
        .map(|(name, word)| [name.to_owned(), word.to_string()])
        .collect();
    serde_json::to_value(entries).unwrap()
}

/// Compares the maps of one parser; gives their number and what differs.
fn compare(answers: &Answers, seed: &str) -> (usize, Vec<String>) {
    let name = &*answers.column.name;
    let (mut compared, mut different) = (0, Vec::new());
    for (number, case) in answers.cases::<Case>("logs.py", seed).iter().enumerate() {
        for harness in [Harness::V4, Harness::V5] {
            let Some(theirs) = answers.of(number, harness) else {
                continue;
            };
            compared += 1;
            let ours = ours(name, case, harness);
            let on_purpose = READ_ON_PURPOSE.contains(&(name, number));
            if (digest_of(&ours) == theirs) == on_purpose {
                different.push(format!("{name} {number} {harness:?}: {ours} of {case:?}"));
            }
        }
    }
    (compared, different)
}

#[test]
fn maps_are_the_official_ones() {
    let (seed, all) = differential::read(ANSWERS);
    let next = AtomicUsize::new(0);
    let found = Mutex::new((0, Vec::new()));
    let work = || {
        while let Some(answers) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (compared, different) = compare(answers, &seed);
            let mut found = found.lock().unwrap();
            found.0 += compared;
            found.1.extend(different);
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let (compared, different) = found.into_inner().unwrap();
    let shown = different.iter().take(5).collect::<Vec<_>>();
    assert!(
        different.is_empty(),
        "{} differ: {shown:#?}",
        different.len()
    );
    // For each of 47 parsers of generation 4 and 57 of generation 5.
    assert_eq!(compared, 2000 * (47 + 57));
}
