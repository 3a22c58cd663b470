//! Maven's and Gradle's tests, each method by itself.

use roxmltree::{Document, Node, ParsingOptions};
use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::{Places, numbered};
use crate::parse::pattern::{group, pattern};
use crate::parse::result::Parsed;
use crate::parse::suites::Room;
use crate::parse::text::strip;

/// Parts of one report: far more than any real one has.
const MAX_NODES: u32 = 20_000_000;

pattern!(
    WITH_LEVEL,
    r"^\[(?:INFO|ERROR)\]\s+(.*?)\s+--\s+Time elapsed:\s+[\d.]+\s"
);
pattern!(
    WITH_CLASS,
    r"^([a-zA-Z0-9_]+)\(([a-zA-Z0-9_.]+)\)\s+Time elapsed:\s+[\d.]+\s+sec"
);

/// Surefire: `[ERROR] name -- Time elapsed: 0.1 s <<< FAILURE!` failed, what else has a time passed; older ones print `name(Class)`.
pub(in crate::parse) fn parse_surefire<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    for (number, line) in numbered(log) {
        let line = strip(line);
        if line.starts_with('[') {
            let failed = line.starts_with("[ERROR]") && line.ends_with("<<< FAILURE!");
            if let Some(name) = WITH_LEVEL.first(line) {
                let status = if failed {
                    TestStatus::Failed
                } else {
                    TestStatus::Passed
                };
                parsed.found(name, status, number);
            }
        } else if let Some(found) = WITH_CLASS.captures(line)
            && let (Some(method), Some(class)) = (group(&found, 1), group(&found, 2))
        {
            parsed.found(format!("{class}.{method}"), TestStatus::Passed, number);
        }
    }
    parsed
}

/// Reports of `JUnit` in XML, one after another: `Class.method`. Those that cannot be read are left out.
pub(in crate::parse) fn parse_junit<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    const START: &str = "<?xml version";
    const END: &str = "</testsuite>";
    let mut parsed = Parsed::default();
    let (mut room, mut places) = (Room::of(log), Places::of(log));
    let mut at = 0;
    while let Some(start) = find(log, at, START) {
        let Some(end) = find(log, start, END) else {
            break;
        };
        at = end + END.len();
        let options = ParsingOptions {
            nodes_limit: MAX_NODES,
            ..ParsingOptions::default()
        };
        let report = log.get(start..at).unwrap_or_default();
        if let Ok(report) = Document::parse_with_options(report, options) {
            read(&report, places.line(start), &mut room, &mut parsed);
        }
    }
    parsed
}

fn find(log: &str, from: usize, text: &str) -> Option<usize> {
    let rest = log.as_bytes().get(from..)?;
    memchr::memmem::find(rest, text.as_bytes()).map(|at| from + at)
}

fn read<'a>(report: &Document<'_>, line: usize, room: &mut Room, parsed: &mut Parsed<'a>) {
    let suite = report.root_element();
    let suite_name = suite.attribute("name").unwrap_or_default();
    for case in suite
        .descendants()
        .skip(1)
        .filter(|node| is(*node, "testcase"))
    {
        let class = case.attribute("classname").unwrap_or(suite_name);
        let method = case.attribute("name").unwrap_or_default();
        let has = |name: &str| case.children().any(|node| is(node, name));
        let status = if has("failure") || has("error") {
            TestStatus::Failed
        } else if has("skipped") {
            TestStatus::Skipped
        } else {
            TestStatus::Passed
        };
        match room.join([class, method].into_iter(), ".") {
            Some(name) => parsed.found(name, status, line),
            None => return parsed.out_of_room(),
        }
    }
}

fn is(node: Node<'_, '_>, name: &str) -> bool {
    node.is_element() && node.tag_name().name() == name && node.tag_name().namespace().is_none()
}
