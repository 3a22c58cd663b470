//! Generated logs with the maps of the official parsers 4.1.0 and 5.0.2, as `scripts/differential` made them.

use grade::{Context, StatusMap, parser};
use schema::grading::Harness;
use serde::Deserialize;

const CASES: &[u8] = include_bytes!("../fixtures/official-maps.jsonl.zst");

#[derive(Deserialize)]
struct Case {
    harness: Harness,
    parser: String,
    instance_id: String,
    version: String,
    log: String,
    answer: Answer,
}

/// The map in its order, or the exception that the official parser breaks off with.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Answer {
    Map(Vec<(String, String)>),
    Broken(String),
}

#[test]
fn maps_are_the_official_ones() {
    let text = String::from_utf8(zstd::decode_all(CASES).unwrap()).unwrap();
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
        let ours: Vec<(String, String)> = map
            .iter()
            .map(|(name, word)| (name.to_owned(), word.to_string()))
            .collect();
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
    // Sixteen logs for each of 47 parsers of generation 4 and 57 of generation 5.
    assert_eq!(cases, 16 * (47 + 57));
}
