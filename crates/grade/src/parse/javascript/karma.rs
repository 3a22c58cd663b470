//! karma's mocha reporter, as preact prints it.
//!
//! Rules of `parse_log_karma`, the same in SWE-bench 4.1.0 and 5.0.2. A line that is indented more opens a suite, one that is indented less
//! closes one (and opens none). Closing one where none is open breaks the official parser off.

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::{after_word, numbered};
use crate::parse::result::Parsed;
use crate::parse::suites::Room;
use crate::parse::text::{after_space, is_space, strip_start};

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut reader = Reader {
        parsed: Parsed::default(),
        room: Room::of(log),
        suites: Vec::new(),
        indent: None,
    };
    let mut started = false;
    for (number, line) in numbered(log) {
        if line.starts_with("SUMMARY:") {
            break;
        }
        if line.contains("Starting browser") {
            started = true;
        } else if started {
            reader.read(line, number);
        }
    }
    reader.parsed
}

struct Reader<'a> {
    parsed: Parsed<'a>,
    room: Room,
    /// Names of the open suites, outermost first.
    suites: Vec<&'a str>,
    /// Indentation of the last suite's line.
    indent: Option<usize>,
}

impl<'a> Reader<'a> {
    fn read(&mut self, line: &'a str, number: usize) {
        if let Some((name, status)) = test(line) {
            let names = self.suites.iter().copied().chain(std::iter::once(name));
            match self.room.join(names, " > ") {
                Some(name) => self.parsed.found(name, status, number),
                None => self.parsed.out_of_room(),
            }
        } else if let Some((indent, name)) = suite(line) {
            if self.indent.is_none_or(|outer| indent > outer) {
                self.indent = Some(indent);
                self.suites.push(name);
            } else if self.indent.is_some_and(|outer| indent < outer) {
                self.indent = Some(indent);
                if self.suites.pop().is_none() {
                    self.parsed
                        .breaks_officially(number, "a suite ends where none is open");
                }
            }
        }
    }
}

fn test(line: &str) -> Option<(&str, TestStatus)> {
    let marks = [("✔", TestStatus::Passed), ("✖", TestStatus::Failed)];
    let (rest, status) = after_word(strip_start(line), &marks)?;
    Some((after_space(rest)?, status))
}

/// The indentation but for its last character, which must not be all of it, and the text after it.
fn suite(line: &str) -> Option<(usize, &str)> {
    let name = strip_start(line);
    let space = line.get(..line.len() - name.len())?;
    let indent = space.chars().filter(|c| is_space(*c)).count();
    (indent > 1).then(|| (indent - 1, name))
}
