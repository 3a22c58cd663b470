//! Maven, which is run once for each test: the test's name is in the command that the shell traces, its status is the build's.
//!
//! Rules of `parse_log_maven` of SWE-bench 4.1.0 and 5.0.2. Generation 4 gives a build to the last name before it; 5 gives builds to names in
//! order, and to names that come after them last of all.

use std::collections::VecDeque;

use schema::grading::{Harness, TestStatus};

use crate::parse::context::Context;
use crate::parse::lines::numbered;
use crate::parse::result::Parsed;
use crate::parse::text::{is_space, strip};

/// What a build without a test is called in generation 4.
const NAMELESS: &str = "---NO TEST NAME FOUND YET---";

pub(in crate::parse) fn parse<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    let mut current = NAMELESS;
    let mut names = VecDeque::new();
    let mut builds = VecDeque::new();
    for (number, line) in numbered(log) {
        let line = strip(line);
        if let Some(name) = name(line) {
            current = name;
            names.push_back(name);
        }
        let Some(status) = build(line) else { continue };
        match context.harness {
            Harness::V4 => parsed.found(current, status, number),
            Harness::V5 => match names.pop_front() {
                Some(name) => parsed.found(name, status, number),
                None => builds.push_back((status, number)),
            },
        }
    }
    if context.harness == Harness::V4 {
        return parsed;
    }
    while let Some(name) = names.pop_front() {
        match builds.pop_front() {
            Some((status, number)) => parsed.found(name, status, number),
            None => parsed
                .notes
                .push(format!("`{name}` has no result of a build")),
        }
    }
    parsed
}

/// What follows the last `-Dtest=` that anything follows.
fn name(line: &str) -> Option<&str> {
    let starts = memchr::memmem::rfind_iter(line.as_bytes(), b"-Dtest=");
    starts.into_iter().find_map(|at| {
        let rest = line.get(at + "-Dtest=".len()..)?;
        let name = rest.split(is_space).next()?;
        (!name.is_empty()).then_some(name)
    })
}

fn build(line: &str) -> Option<TestStatus> {
    if line.ends_with("BUILD SUCCESS") {
        Some(TestStatus::Passed)
    } else if line.ends_with("BUILD FAILURE") {
        Some(TestStatus::Failed)
    } else {
        None
    }
}
