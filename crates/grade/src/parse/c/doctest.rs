//! doctest's XML reporter (`-s -r=xml`).
//!
//! Rules of `parse_log_doctest`, the same in SWE-bench 4.1.0 and 5.0.2: from the first `<doctest` to the next `</doctest>`; a test is a subcase
//! below its test case, and passed when all its expressions succeeded. XML that is cut breaks the official parser off.

use std::collections::HashSet;

use roxmltree::{Document, Node, NodeId, ParsingOptions};
use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::Places;
use crate::parse::result::Parsed;
use crate::parse::suites::Room;

/// Parts of a document: far more than any real one has, few enough to fit into memory.
const MAX_NODES: u32 = 20_000_000;

const START: &str = "<doctest";
const END: &str = "</doctest>";

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    let Some(start) = memchr::memmem::find(log.as_bytes(), START.as_bytes()) else {
        return parsed;
    };
    let line = Places::of(log).line(start);
    let rest = log.get(start..).unwrap_or_default();
    let Some(length) = memchr::memmem::find(rest.as_bytes(), END.as_bytes()) else {
        parsed.breaks_officially(line, "the report has no end");
        return parsed;
    };
    let xml = rest.get(..length + END.len()).unwrap_or_default();
    let options = ParsingOptions {
        nodes_limit: MAX_NODES,
        ..ParsingOptions::default()
    };
    match Document::parse_with_options(xml, options) {
        Ok(document) => read(&document, line, &mut Room::of(log), &mut parsed),
        Err(error) => {
            parsed.breaks_officially(line, &format!("the report cannot be read: {error}"));
        }
    }
    parsed
}

fn read<'a>(document: &Document<'_>, line: usize, room: &mut Room, parsed: &mut Parsed<'a>) {
    let failed = failed_subcases(document);
    let cases = document.root_element().descendants().skip(1);
    for case in cases.filter(|node| is(*node, "TestCase")) {
        for subcase in case.descendants().skip(1) {
            // Cases below cases are read again and again, so every visit is paid for.
            if !room.take(1) {
                return parsed.out_of_room();
            }
            if !is(subcase, "SubCase") {
                continue;
            }
            // What has no name is officially called as Python calls nothing.
            let names = [case, subcase].map(|node| node.attribute("name").unwrap_or("None"));
            let Some(name) = room.join(names.into_iter(), " > ") else {
                return parsed.out_of_room();
            };
            let status = if failed.contains(&subcase.id()) {
                TestStatus::Failed
            } else {
                TestStatus::Passed
            };
            parsed.found(name, status, line);
        }
    }
}

fn is(node: Node<'_, '_>, name: &str) -> bool {
    node.is_element() && node.tag_name().name() == name && node.tag_name().namespace().is_none()
}

/// The subcases with an expression below them that did not succeed.
fn failed_subcases(document: &Document<'_>) -> HashSet<NodeId> {
    let mut failed = HashSet::new();
    let expressions = document
        .descendants()
        .filter(|node| is(*node, "Expression"));
    for expression in expressions.filter(|node| node.attribute("success") != Some("true")) {
        let above = expression.ancestors().skip(1);
        for subcase in above.filter(|node| is(*node, "SubCase")) {
            // What is above one that is known is known too.
            if !failed.insert(subcase.id()) {
                break;
            }
        }
    }
    failed
}
