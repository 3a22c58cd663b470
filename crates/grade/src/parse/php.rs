//! `phpunit --testdox`.
//!
//! Rules of `parse_log_phpunit`, the same in SWE-bench 4.1.0 and 5.0.2: a suite's heading `Name (Class)`, below it lines of tests with a mark.

use schema::grading::TestStatus;

use super::context::Context;
use super::lines::{after_word, numbered};
use super::result::Parsed;
use super::suites::Room;
use super::text::{is_word, strip_start};

pub(super) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    let mut room = Room::of(log);
    // A test without a suite is officially below one that Python calls so.
    let mut suite = "None";
    for (number, line) in numbered(log) {
        if let Some(name) = heading(line) {
            suite = name;
        } else if let Some((name, status)) = test(line) {
            match room.join([suite, name].into_iter(), " > ") {
                Some(name) => parsed.found(name, status, number),
                None => parsed.out_of_room(),
            }
        }
    }
    parsed
}

/// `Name (Class)`: two characters at least, then the last parenthesis.
fn heading(line: &str) -> Option<&str> {
    let inside = line.strip_suffix(')')?;
    if !line.chars().next().is_some_and(is_word) {
        return None;
    }
    let last = inside.char_indices().next_back()?.0;
    let open = inside.get(..last)?.rfind(" (")?;
    let name = line.get(..open)?;
    name.chars().nth(1).map(|_| name)
}

fn test(line: &str) -> Option<(&str, TestStatus)> {
    let marks = [
        ("✔", TestStatus::Passed),
        ("✘", TestStatus::Failed),
        ("↩", TestStatus::Skipped),
    ];
    let (name, status) = after_word(strip_start(line), &marks)?;
    Some((strip_start(name), status))
}
