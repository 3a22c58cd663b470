//! mocha's list of failures, as p5.js prints it through grunt.
//!
//! Rules of `parse_log_p5js`, the same in SWE-bench 4.1.0 and 5.0.2. Terminal sequences and blocks of JSON and XML are taken out first. A failure is `N)` at the start of a line, then at most a thousand characters up to a colon, each line of them indented more
//! than the one before. Graded as `fail_only`.

use schema::grading::TestStatus;

use super::p5js_blocks::{Rest, without_json, without_xml};
use crate::parse::context::Context;
use crate::parse::lines::Places;
use crate::parse::result::Parsed;
use crate::parse::text::{after_digits, indentation, strip, strip_start, without_escapes};

/// Characters that a name may have.
const MAX_NAME: usize = 1000;

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let plain = without_escapes(log);
    read(&without_xml(without_json(&plain)))
}

fn read(rest: &Rest) -> Parsed<'static> {
    let text = &*rest.text;
    let mut parsed = Parsed::default();
    let mut places = Places::of(text);
    // Where the next colon is, looked for once.
    let mut colon = 0;
    let mut line_start = 0;
    while line_start < text.len() {
        let ahead = text.as_bytes().get(line_start..).unwrap_or_default();
        let line_end = memchr::memchr(b'\n', ahead).map_or(text.len(), |at| line_start + at);
        let start = line_start;
        let line = text.get(start..line_end).unwrap_or_default();
        line_start = line_end + 1;
        let Some(after) = after_digits(strip_start(line)).and_then(|rest| rest.strip_prefix(')'))
        else {
            continue;
        };
        let from = line_end - after.len();
        if colon < from {
            let ahead = text.as_bytes().get(from..).unwrap_or_default();
            match memchr::memchr(b':', ahead) {
                Some(at) => colon = from + at,
                None => break,
            }
        }
        let name = text.get(from..colon).unwrap_or_default();
        if !is_short(name) {
            continue;
        }
        if grows(name) {
            let lines: Vec<&str> = name.split('\n').map(strip).collect();
            let number = rest.line(places.line(start));
            parsed.found(lines.join(":"), TestStatus::Failed, number);
        }
        // The search goes on behind the colon, at the next start of a line.
        let ahead = text.as_bytes().get(colon..).unwrap_or_default();
        line_start = memchr::memchr(b'\n', ahead).map_or(text.len(), |at| colon + at + 1);
    }
    parsed
}

fn is_short(name: &str) -> bool {
    name.len() <= MAX_NAME || (name.len() <= 4 * MAX_NAME && name.chars().count() <= MAX_NAME)
}

/// Whether each line is indented more than the one before, and the first at all.
fn grows(name: &str) -> bool {
    let mut outer = 0;
    name.split('\n').all(|line| {
        let indent = indentation(line);
        let deeper = indent > outer;
        outer = indent;
        deeper
    })
}
