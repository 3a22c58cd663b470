//! mocha's JSON reporter.

use std::collections::BTreeMap;

use schema::grading::TestStatus;
use serde::Deserialize;

use crate::parse::lines::Places;
use crate::parse::result::Parsed;

/// The lists of a report that count, each test with its whole title.
#[derive(Deserialize)]
struct Report {
    failures: Vec<Test>,
    passes: Vec<Test>,
}

#[derive(Deserialize)]
struct Test {
    #[serde(rename = "fullTitle")]
    full_title: String,
}

/// Reads the reports that follow a command, each from its first brace to its last: failures first, then what passed.
pub(super) fn read<'a>(log: &'a str, command: &str) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    let mut places = Places::of(log);
    for chunk in log.split(command).skip(1) {
        let line = places.line(chunk.as_ptr() as usize - log.as_ptr() as usize);
        match report(chunk) {
            Ok(report) => {
                for test in report.failures {
                    parsed.found(test.full_title, TestStatus::Failed, line);
                }
                for test in report.passes {
                    parsed.found(test.full_title, TestStatus::Passed, line);
                }
            }
            Err(error) => {
                parsed.breaks_officially(line, &format!("the report cannot be read: {error}"));
            }
        }
    }
    parsed
}

fn report(chunk: &str) -> Result<Report, serde_json::Error> {
    let from = chunk.split_once('{').map_or(chunk, |(_, rest)| rest);
    let inside = from.rsplit_once('}').map_or(from, |(inside, _)| inside);
    // Of a key that occurs twice the last one counts.
    let fields: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(&format!("{{{inside}}}"))?;
    serde_json::from_value(serde_json::Value::Object(fields.into_iter().collect()))
}
