//! Generated logs with the maps of SWE-smith's profiles 0.0.9, as `scripts/differential` made them: sixteen for each parser.

use grade::{Context, StatusMap, parser};
use schema::grading::Harness;
use serde::Deserialize;

const SMITH: &[u8] = include_bytes!("../fixtures/smith-maps.jsonl.zst");

#[derive(Deserialize)]
struct Case {
    harness: Harness,
    parser: String,
    instance_id: String,
    version: String,
    log: String,
    answer: Answer,
    /// Whether the original keeps its tests in no order; then they are sorted here.
    #[serde(default)]
    unordered: bool,
}

/// The map in its order, or the exception that the official parser breaks off with.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Answer {
    Map(Vec<(String, String)>),
    Broken(String),
}

#[test]
fn maps_are_those_of_swe_smiths_profiles() {
    assert_eq!(compare(SMITH), 16 * 27);
}

/// Compares our maps with those of a fixture; returns how many there are.
fn compare(packed: &[u8]) -> usize {
    let text = String::from_utf8(zstd::decode_all(packed).unwrap()).unwrap();
    let mut cases = 0;
    for line in text.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let context = Context {
            harness: case.harness,
            instance_id: &case.instance_id,
            version: &case.version,
        };
        let parsed = parser(&case.parser).unwrap()(&case.log, &context);
        let map = StatusMap::new(&parsed.official);
        let mut ours: Vec<(String, String)> = map
            .iter()
            .map(|(name, word)| (name.to_owned(), word.to_string()))
            .collect();
        if case.unordered {
            ours.sort();
        }
        match &case.answer {
            Answer::Map(theirs) => {
                pretty_assertions::assert_eq!(&ours, theirs, "{} {:?}", case.parser, case.log);
                assert_eq!(
                    parsed.official_failure, None,
                    "{} {:?}",
                    case.parser, case.log
                );
            }
            Answer::Broken(_) => {
                assert!(
                    parsed.official_failure.is_some(),
                    "{} {:?}",
                    case.parser,
                    case.log
                );
            }
        }
        cases += 1;
    }
    cases
}
