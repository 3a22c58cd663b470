//! jest as Calypso runs it, several times in one log.
//!
//! Rules of `parse_log_calypso`, the same in SWE-bench 4.1.0 and 5.0.2. Suites stay open from one run to the next. A mark without white space
//! around it, or with a time that does not end the line, breaks the official parser off.

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::after_word;
use crate::parse::result::Parsed;
use crate::parse::suites::{Room, Suites};
use crate::parse::text::{after_digits, after_space, before_digits, strip, strip_start};

const COMMAND: &str = " ./node_modules/.bin/jest ";

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    let (mut suites, mut room) = (Suites::default(), Room::of(log));
    let mut runs = log.split(COMMAND);
    let mut first_line = 1 + newlines(runs.next().unwrap_or_default());
    for run in runs {
        for (at, line) in run.split('\n').enumerate() {
            let number = first_line + at;
            if line.starts_with("Test Suites") || line.starts_with("  ● ") {
                break;
            }
            let stripped = strip(line);
            let marks = [("✓", TestStatus::Passed), ("✕", TestStatus::Failed)];
            let Some((_, status)) = after_word(stripped, &marks) else {
                suites.enter(line);
                continue;
            };
            let Some(name) = test(line) else {
                parsed.breaks_officially(number, "a mark without a name");
                continue;
            };
            match suites.name(name, " - ", &mut room) {
                Some(full) if suites.is_empty() => {
                    parsed.found(strip(&format!(" - {full}")).to_owned(), status, number);
                }
                Some(full) => parsed.found(strip(&full).to_owned(), status, number),
                None => parsed.out_of_room(),
            }
        }
        first_line += newlines(run);
    }
    parsed
}

fn newlines(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

/// What stands after the mark and one character of white space, without a time in parentheses.
fn test(line: &str) -> Option<&str> {
    let marked = strip_start(line);
    if marked.len() == line.len() {
        return None;
    }
    let name = after_space(marked.strip_prefix(['✓', '✕'])?)?;
    if !has_time(line) {
        return Some(name);
    }
    before_digits(name.strip_suffix("ms)")?)?.strip_suffix('(')
}

/// Whether `(12ms)` is anywhere in a line.
fn has_time(line: &str) -> bool {
    line.match_indices('(').any(|(open, _)| {
        let rest = line.get(open + 1..).and_then(after_digits);
        rest.is_some_and(|rest| rest.starts_with("ms)"))
    })
}
