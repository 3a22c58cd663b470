//! Deno's tests, as Quarto prints them: `[smoke] > name ... ok`, in colours.
//!
//! Rules of `parse_log_quarto_cli` of SWE-bench 5.0.2 (there is none in 4.1.0). Temporary paths are numbered in the order in which they come. A
//! test without a status failed, unless the line is one of a summary.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::numbered;
use crate::parse::result::Parsed;
use crate::parse::text::{is_word, strip};

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    let mut known: HashSet<Cow<'a, str>> = HashSet::new();
    let mut paths = Paths::default();
    for (number, line) in numbered(log) {
        if line.contains("ERRORS") || line.contains("failures:") {
            break;
        }
        if !line.contains("[smoke]") && !line.contains("[unit]") {
            continue;
        }
        let line = paths.numbered(line);
        if is_summary(&line) {
            continue;
        }
        let name: Cow<'a, str> = match &line {
            Cow::Borrowed(line) => Cow::Borrowed(name(line)),
            Cow::Owned(line) => Cow::Owned(name(line).to_owned()),
        };
        let status = if line.contains("32mok") {
            Some(TestStatus::Passed)
        } else if line.contains("31mFAILED") || !known.contains(&name) {
            Some(TestStatus::Failed)
        } else {
            None
        };
        if let Some(status) = status {
            known.insert(name.clone());
            parsed.found(name, status, number);
        }
    }
    parsed
}

fn name(line: &str) -> &str {
    strip(line.split_once("...").map_or(line, |(name, _)| name))
}

/// Lines that are about tests without being one's.
fn is_summary(line: &str) -> bool {
    let counts = ["passed", "failed", "steps"];
    line.starts_with("test result:")
        || counts.iter().all(|word| line.contains(word))
        || line.contains("34mINFO")
}

/// The numbers that temporary paths have.
#[derive(Default)]
struct Paths(HashMap<String, usize>);

impl Paths {
    /// Gives all temporary files of a line the number of the first of them, then all directories.
    fn numbered<'a>(&mut self, line: &'a str) -> Cow<'a, str> {
        let mut line = Cow::Borrowed(line);
        for end in [".qmd", "/"] {
            let found = paths(&line, end);
            let Some(first) = found.first().and_then(|range| line.get(range.clone())) else {
                continue;
            };
            let next = self.0.len();
            let number = *self.0.entry(first.to_owned()).or_insert(next);
            let mut changed = String::with_capacity(line.len());
            let mut from = 0;
            for range in found {
                changed.push_str(line.get(from..range.start).unwrap_or_default());
                changed.push_str("/tmp/");
                changed.push_str(&number.to_string());
                from = range.end;
            }
            changed.push_str(line.get(from..).unwrap_or_default());
            line = Cow::Owned(changed);
        }
        line
    }
}

/// Where `/tmp/<word>` stands before an end.
fn paths(line: &str, end: &str) -> Vec<std::ops::Range<usize>> {
    const ROOT: &str = "/tmp/";
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    for (start, _) in line.match_indices(ROOT) {
        if found.last().is_some_and(|last| start < last.end) {
            continue;
        }
        let rest = line.get(start + ROOT.len()..).unwrap_or_default();
        let after = rest.trim_start_matches(is_word);
        if after.len() < rest.len() && after.starts_with(end) {
            found.push(start..line.len() - after.len() + end.len());
        }
    }
    found
}
