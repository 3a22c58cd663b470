//! mocha's JSON reporter, whatever stands around its objects.

use std::borrow::Cow;

use serde::Deserialize;

use super::sets::{Set, Sets};
use super::{lists, pull_request};
use crate::parse::context::Context;
use crate::parse::pattern::pattern;
use crate::parse::result::Parsed;

/// How many times its own length of a log is looked at for objects: what is none is looked at again from the next brace on.
const MAX_LOOKS: usize = 8;

#[derive(Deserialize)]
struct Report {
    passes: Vec<Test>,
    failures: Vec<Test>,
    pending: Vec<Test>,
}

#[derive(Deserialize)]
struct Test {
    #[serde(rename = "fullTitle")]
    full_title: String,
    #[serde(default)]
    file: String,
}

/// Pull requests of express whose tests print a list.
const LISTED: [u64; 4] = [4212, 4852, 5555, 5841];

pattern!(EXPRESS_NOISE, r"(?m)^(=+|Writing .*)$");

/// express: full titles.
pub(in crate::parse) fn parse_express<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    if LISTED.contains(&pull_request(context)) {
        return lists::parse_mocha(log, context);
    }
    let mut text = String::with_capacity(log.len());
    let mut from = 0;
    for noise in EXPRESS_NOISE.all(log).filter_map(|found| found.get(0)) {
        text.push_str(log.get(from..noise.start()).unwrap_or_default());
        from = noise.end();
    }
    text.push_str(log.get(from..).unwrap_or_default());
    read(&text, |test| test.full_title)
}

pattern!(MUI_NOISE, r"error Command failed with exit code \d+\.");

/// Material UI: files and full titles, from where it says that it builds anew.
pub(in crate::parse) fn parse_mui<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let start = log.find("Building new").unwrap_or_default();
    let log = log.get(start..).unwrap_or_default();
    let mut text = String::with_capacity(log.len());
    let mut from = 0;
    for noise in MUI_NOISE.all(log).filter_map(|found| found.get(0)) {
        text.push_str(log.get(from..noise.start()).unwrap_or_default());
        from = noise.end();
    }
    text.push_str(log.get(from..).unwrap_or_default());
    read(&text, |test| format!("{}:{}", test.file, test.full_title))
}

fn read<'a>(text: &str, name: impl Fn(Test) -> String) -> Parsed<'a> {
    let text = text.replace('\n', "");
    let mut sets = Sets::default();
    let (mut at, mut looked) = (0, 0);
    while let Some(open) = text.get(at..).and_then(|rest| rest.find('{')) {
        let from = at + open;
        let rest = text.get(from..).unwrap_or_default();
        let mut objects = serde_json::Deserializer::from_str(rest).into_iter::<serde_json::Value>();
        let next = objects.next();
        let read = objects.byte_offset();
        match next {
            Some(Ok(object)) => {
                at = from + read.max(1);
                looked += read;
                match serde_json::from_value::<Report>(object) {
                    Ok(report) => add(&mut sets, report, &name),
                    Err(_) => sets.breaks(0, "an object that is no report of tests"),
                }
            }
            Some(Err(error)) => {
                at = from + 1;
                // Without newlines, the column is how far it came.
                looked += error.column().max(1);
            }
            None => break,
        }
        if looked > text.len().saturating_mul(MAX_LOOKS) {
            let mut parsed = settled(sets);
            parsed
                .notes
                .push("there are so many braces that not all were looked at".to_owned());
            return parsed;
        }
    }
    settled(sets)
}

fn settled(mut sets: Sets<'_>) -> Parsed<'_> {
    sets.settle();
    sets.into_parsed()
}

fn add(sets: &mut Sets<'_>, report: Report, name: &impl Fn(Test) -> String) {
    for (tests, set) in [
        (report.passes, Set::Passed),
        (report.failures, Set::Failed),
        (report.pending, Set::Skipped),
    ] {
        for test in tests {
            sets.add(set, Cow::Owned(name(test)), 0);
        }
    }
}
