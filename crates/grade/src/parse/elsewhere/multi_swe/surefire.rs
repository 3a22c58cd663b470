//! Surefire's line for each class of tests.

use std::borrow::Cow;

use regex::Captures;

use super::sets::{Set, Sets};
use crate::parse::context::Context;
use crate::parse::elsewhere::swe_smith::counted::number;
use crate::parse::lines::Places;
use crate::parse::pattern::{group, pattern};
use crate::parse::result::Parsed;
use crate::parse::text::{is_space, python_lines, strip_start};

pattern!(
    CLASS,
    r"Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+), Time elapsed: [\d.]+ .+? in (.+)"
);

/// fastjson2.
pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut sets = Sets::default();
    for (at, line) in python_lines(log).enumerate() {
        if let Some(found) = CLASS.captures(line)
            && let (Some(set), Some(name)) = (verdict(&found, 1), group(&found, 5))
        {
            sets.add(set, Cow::Borrowed(name), at + 1);
        }
    }
    sets.into_parsed()
}

pattern!(COLOUR, r"\x1b\[[0-?9;]*[mK]");

/// dubbo and jackson: the same without colours.
pub(in crate::parse) fn parse_plain<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    let mut plain = String::new();
    let mut from = 0;
    for colour in COLOUR.all(log).filter_map(|found| found.get(0)) {
        plain.push_str(log.get(from..colour.start()).unwrap_or_default());
        from = colour.end();
    }
    if from == 0 {
        return parse(log, context);
    }
    plain.push_str(log.get(from..).unwrap_or_default());
    parse(&plain, context).into_owned()
}

/// What the numbers of tests that ran, failed, broke and were skipped make of a class; they are four groups from `first` on.
fn verdict(found: &Captures<'_>, first: usize) -> Option<Set> {
    let count = |at: usize| group(found, first + at).map_or(0, number);
    let (ran, failures, errors, skipped) = (count(0), count(1), count(2), count(3));
    if ran > 0 && failures == 0 && errors == 0 && skipped != ran {
        Some(Set::Passed)
    } else if failures > 0 || errors > 0 {
        Some(Set::Failed)
    } else if skipped == ran {
        Some(Set::Skipped)
    } else {
        None
    }
}

const RUNNING: &str = "Running";
const COUNTS: &str = "\nTests run:";

pattern!(
    GSON_COUNTS,
    r"^Tests run:\s*(\d+),\s*Failures:\s*(\d+),\s*Errors:\s*(\d+),\s*Skipped:\s*(\d+),\s*Time elapsed:\s*[\d.]+\s*sec"
);
pattern!(
    GSON_FAILURE,
    r"Running (.+?)\nTests run: \d+, Failures: \d+, Errors: \d+, Skipped: \d+, Time elapsed: [\d.]+ sec +<<< FAILURE!"
);

/// gson: a line `Running CLASS`, and the counts after it. The first eight characters of a log are not looked at.
pub(in crate::parse) fn parse_gson<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let start = log.char_indices().nth(8).map_or(log.len(), |(at, _)| at);
    let mut sets = Sets::default();
    let mut places = Places::of(log);
    let (mut at, mut counts) = (start, start);
    while let Some(found) = find(log, at, RUNNING) {
        at = found + RUNNING.len();
        let Some(class) = log.get(at..).and_then(class) else {
            continue;
        };
        // The class ends a line; its counts begin the first line that begins so.
        let end = class.as_ptr() as usize - log.as_ptr() as usize + class.len();
        if counts < end {
            let Some(next) = find(log, end, COUNTS) else {
                break;
            };
            counts = next;
        }
        let text = log.get(counts + 1..).unwrap_or_default();
        if let Some(found) = GSON_COUNTS.captures(text) {
            if let Some(set) = verdict(&found, 1) {
                sets.add(set, Cow::Borrowed(class), places.line(end));
            }
            at = counts + 1 + found.get(0).map_or(0, |all| all.len());
        }
    }
    let mut places = Places::of(log);
    for found in GSON_FAILURE.all(log.get(start..).unwrap_or_default()) {
        if let Some(class) = found.get(1) {
            let line = places.line(start + class.start());
            sets.add(Set::Failed, Cow::Borrowed(class.as_str()), line);
        }
    }
    sets.into_parsed()
}

/// The class that a text begins with, after white space; the rest of its line.
fn class(text: &str) -> Option<&str> {
    let name = strip_start(text);
    let line = name.split_once('\n')?.0.trim_end_matches(is_space);
    (name.len() < text.len() && !line.is_empty()).then_some(line)
}

fn find(log: &str, from: usize, text: &str) -> Option<usize> {
    let rest = log.as_bytes().get(from..)?;
    memchr::memmem::find(rest, text.as_bytes()).map(|at| from + at)
}
