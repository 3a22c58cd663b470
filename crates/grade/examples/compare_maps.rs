//! Compares our maps with those of the official parsers, which `scripts/differential/official.py` has written down.
//!
//! usage: `compare_maps GENERATION CASES [SHOWN]`

#![expect(clippy::print_stdout, reason = "this is a program for people")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader};

use grade::{Context, StatusMap, parser};
use schema::grading::Harness;
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    parser: String,
    instance_id: String,
    version: String,
    log: String,
    answer: Answer,
    /// Whether the original keeps its tests in no order.
    #[serde(default)]
    unordered: bool,
}

/// What the official parser gives: its map in order, or the name of the exception that it breaks off with.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Map(Vec<(String, String)>),
    Broken(String),
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, generation, path, rest @ ..] = &*arguments else {
        return Err("usage: compare_maps 4|5 CASES [SHOWN]".into());
    };
    let harness = match &**generation {
        "4" => Harness::V4,
        "5" => Harness::V5,
        other => return Err(format!("no generation {other}").into()),
    };
    let mut shown: usize = rest.first().map_or(Ok(10), |shown| shown.parse())?;
    let mut counts: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    for line in BufReader::new(File::open(path)?).lines() {
        let mut case: Case = serde_json::from_str(&line?)?;
        let [cases, tests, broken, wrong] = counts.entry(case.parser.clone()).or_default();
        *cases += 1;
        let context = Context {
            harness,
            instance_id: &case.instance_id,
            version: &case.version,
        };
        let parsed = parser(&case.parser)?(&case.log, &context);
        let mut ours: Vec<(String, String)> = StatusMap::new(&parsed.official)
            .iter()
            .map(|(name, word)| (name.to_owned(), word.to_string()))
            .collect();
        if let (true, Answer::Map(theirs)) = (case.unordered, &mut case.answer) {
            ours.sort();
            theirs.sort();
        }
        let equal = match &case.answer {
            Answer::Map(theirs) => {
                *tests += theirs.len();
                parsed.official_failure.is_none() && ours == *theirs
            }
            Answer::Broken(_) => {
                *broken += 1;
                parsed.official_failure.is_some()
            }
        };
        if !equal {
            *wrong += 1;
            if shown > 0 {
                shown -= 1;
                let theirs = match &case.answer {
                    Answer::Map(map) => format!("{map:?}"),
                    Answer::Broken(error) => error.clone(),
                };
                let (name, log, failure) = (&case.parser, &case.log, &parsed.official_failure);
                println!(
                    "{name} {context:?}\nlog:    {log:?}\nours:   {ours:?} {failure:?}\ntheirs: {theirs}\n"
                );
            }
        }
    }
    let mut all_wrong = 0;
    for (name, [cases, tests, broken, wrong]) in &counts {
        println!(
            "{name:24} {cases:6} logs {tests:7} tests {broken:6} broken off {wrong:5} different"
        );
        all_wrong += wrong;
    }
    match all_wrong {
        0 => Ok(()),
        wrong => Err(format!("{wrong} maps differ").into()),
    }
}
