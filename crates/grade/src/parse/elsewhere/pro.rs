//! SWE-bench Pro: the form in which each instance's own parser tells results, and Go's output, as the parser of most teleport instances reads it.
//!
//! Rules of `run_scripts/*/parser.py` in SWE-bench Pro. A name counts once, as it came first.

use std::collections::HashSet;

use schema::grading::TestStatus;
use serde::Deserialize;

use crate::parse::context::Context;
use crate::parse::lines::{after_word, numbered};
use crate::parse::result::{Parsed, Word};
use crate::parse::text::{is_space, strip_start};

#[derive(Deserialize)]
struct Report {
    tests: Vec<Test>,
}

#[derive(Deserialize)]
struct Test {
    name: String,
    status: String,
}

/// `{"tests": [{"name": …, "status": "PASSED"}]}`, from the first brace to the last.
pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    let (Some(from), Some(to)) = (log.find('{'), log.rfind('}')) else {
        return parsed;
    };
    match serde_json::from_str::<Report>(log.get(from..=to).unwrap_or_default()) {
        Ok(report) => {
            for test in report.tests {
                parsed.found(test.name, Word::official(test.status), 0);
            }
        }
        Err(error) => parsed.breaks_officially(0, &format!("the report cannot be read: {error}")),
    }
    parsed
}

/// An event of `go test -json`.
#[derive(Deserialize)]
struct Event {
    #[serde(rename = "Action")]
    action: String,
    #[serde(rename = "Test")]
    test: String,
}

/// `go test -json`: every end of a test. A log without any is read as text.
pub(in crate::parse) fn parse_go_json<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    for (number, line) in numbered(log) {
        // Most events are lines of output.
        if !line.contains("\"Test\"") {
            continue;
        }
        let Ok(event) = serde_json::from_str::<Event>(line) else {
            continue;
        };
        let status = match &*event.action {
            "pass" => TestStatus::Passed,
            "fail" => TestStatus::Failed,
            "skip" => TestStatus::Skipped,
            _ => continue,
        };
        parsed.found(event.test, status, number);
    }
    if parsed.official.is_empty() {
        return parse_go(log, context);
    }
    parsed
}

/// `--- PASS: Name`, indented or not; and for a crash, the test that ran last.
pub(in crate::parse) fn parse_go<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    let mut known = HashSet::new();
    for (number, line) in numbered(log) {
        if let Some((name, status)) = result(line)
            && known.insert(name)
        {
            parsed.found(name, status, number);
        }
    }
    let mut running = "UNKNOWN_ERROR";
    for (number, line) in numbered(log) {
        if let Some(rest) = line.strip_prefix("=== RUN") {
            let name = strip_start(rest).split(is_space).next().unwrap_or_default();
            if strip_start(rest).len() < rest.len() && !name.is_empty() {
                running = name;
            }
        }
        if is_crash(line) && known.insert(running) {
            parsed.found(running, TestStatus::Error, number);
        }
    }
    parsed
}

fn result(line: &str) -> Option<(&str, TestStatus)> {
    let words = [
        ("PASS: ", TestStatus::Passed),
        ("FAIL: ", TestStatus::Failed),
        ("SKIP: ", TestStatus::Skipped),
    ];
    let (rest, status) = after_word(strip_start(line).strip_prefix("--- ")?, &words)?;
    let name = rest.split(is_space).next()?;
    (!name.is_empty()).then_some((name, status))
}

fn is_crash(line: &str) -> bool {
    const SIGNS: [&str; 7] = [
        "panic:",
        "fatal error",
        "sigsegv",
        "sigill",
        "sigfpe",
        "sigbus",
        "unexpected fault",
    ];
    let line = line.to_ascii_lowercase();
    SIGNS.iter().any(|sign| line.contains(sign))
}
