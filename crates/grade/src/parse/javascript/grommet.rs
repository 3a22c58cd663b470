//! jest's lines of whole files, as grommet's parser reads them.
//!
//! Rules of `parse_log_grommet` of SWE-bench 5.0.2 (there is none in 4.1.0): failures first, then what passed, so that a file that did both
//! passed. A word alone on its line takes the next line for its name.

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::numbered;
use crate::parse::result::Parsed;
use crate::parse::text::{after_space, before_space, is_digit, strip};

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    read(log, "FAIL", TestStatus::Failed, &mut parsed);
    read(log, "PASS", TestStatus::Passed, &mut parsed);
    parsed
}

fn read<'a>(log: &'a str, word: &str, status: TestStatus, parsed: &mut Parsed<'a>) {
    let mut lines = numbered(log);
    while let Some((number, line)) = lines.next() {
        let name = match line.strip_prefix(word) {
            Some("") => lines.next().map(|(_, next)| next),
            Some(rest) => after_space(rest),
            None => None,
        };
        if let Some(name) = name {
            parsed.found(without_time(strip(name)), status, number);
        }
    }
}

/// Takes ` (1.2 s)` off the end.
fn without_time(text: &str) -> &str {
    let name = || {
        let inside = text.strip_suffix("s)")?;
        let inside = inside.strip_suffix('m').unwrap_or(inside);
        let number = before_space(inside).unwrap_or(inside);
        let before = number.trim_end_matches(|c| c == '.' || is_digit(c));
        if before.len() == number.len() {
            return None;
        }
        before_space(before.strip_suffix('(')?)
    };
    name().unwrap_or(text)
}
