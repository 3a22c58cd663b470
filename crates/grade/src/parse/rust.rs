//! `cargo test`.
//!
//! Rules of `parse_log_cargo`, the same in SWE-bench 4.1.0 and 5.0.2: `test NAME ... ok` or `FAILED`, four words. Ignored tests, doc tests and
//! those that should panic have more and do not count. Officially tests of one name in several binaries are one; whole names tell them apart.

use schema::grading::TestStatus;

use super::context::Context;
use super::lines::numbered;
use super::result::Parsed;
use super::suites::Room;
use super::text::{strip, words};

pub(super) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::with_whole_names();
    let mut room = Room::of(log);
    let mut binary = "";
    for (number, line) in numbered(log) {
        let line = strip(line);
        binary = binary_of(line).unwrap_or(binary);
        let Some((name, status)) = test(line) else {
            continue;
        };
        parsed.found(name, status, number);
        if binary.is_empty() {
            parsed.found_whole(name, status, number);
        } else if let Some(name) = room.join([binary, name].into_iter(), ": ") {
            parsed.found_whole(name, status, number);
        }
    }
    parsed
}

fn test(line: &str) -> Option<(&str, TestStatus)> {
    if !line.starts_with("test") {
        return None;
    }
    let mut words = words(line);
    let (test, name, dots) = (words.next()?, words.next()?, words.next()?);
    let status = match words.next()? {
        "ok" => TestStatus::Passed,
        "FAILED" => TestStatus::Failed,
        _ => return None,
    };
    (test == "test" && dots == "..." && words.next().is_none()).then_some((name, status))
}

/// `Running tests/cli.rs (target/debug/deps/cli-0123)`, `Running unittests src/lib.rs (…)`, `Doc-tests name`.
fn binary_of(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("Running ") {
        let (binary, _) = rest.split_once(" (")?;
        return Some(binary.strip_prefix("unittests ").unwrap_or(binary));
    }
    line.strip_prefix("Doc-tests ")
}
