//! mocha's list, as highlight.js prints it.
//!
//! Rules of `parse_log_highlightjs` of SWE-bench 5.0.2 (there is none in 4.1.0). The list ends before `N passing`. Of the suites above a test
//! only the last counts.

use std::borrow::Cow;

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::numbered;
use crate::parse::result::Parsed;
use crate::parse::suites::Room;
use crate::parse::text::{after_digits, strip};

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    let mut room = Room::of(log);
    let mut suite = None;
    for (number, line) in numbered(log) {
        if number > 1 && is_summary(line) {
            break;
        }
        if let Some((name, status)) = test(line) {
            let name = without_times(name);
            let names = suite.into_iter().chain(std::iter::once(strip(&name)));
            match room.join(names, ".") {
                Some(name) => parsed.found(name, status, number),
                None => parsed.out_of_room(),
            }
        } else if line.starts_with("  ") {
            suite = Some(strip(line));
        }
    }
    parsed
}

/// `N passing`, after spaces and tabs, at the start of a line.
fn is_summary(line: &str) -> bool {
    let rest = after_digits(line.trim_start_matches([' ', '\t']));
    rest.is_some_and(|rest| rest.starts_with(" passing"))
}

fn test(line: &str) -> Option<(&str, TestStatus)> {
    let stripped = strip(line);
    if let Some(mark) = ['✓', '✔']
        .into_iter()
        .find(|mark| stripped.starts_with(*mark))
    {
        return Some((line.split_once(mark)?.1, TestStatus::Passed));
    }
    after_digits(stripped)?.strip_prefix(')')?;
    Some((line.split_once(')')?.1, TestStatus::Failed))
}

/// Takes every `(12ms)` out.
fn without_times(text: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut from = 0;
    for (open, _) in text.match_indices('(') {
        let inside = text.get(open + 1..).unwrap_or_default();
        if open < from {
            continue;
        }
        if let Some(rest) = after_digits(inside).and_then(|rest| rest.strip_prefix("ms)")) {
            kept.push_str(text.get(from..open).unwrap_or_default());
            from = text.len() - rest.len();
        }
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    kept.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(kept)
}
