//! jest: files, and tests as `FILE:TEST`.

use std::borrow::Cow;

use super::sets::{Set, Sets};
use crate::parse::context::Context;
use crate::parse::pattern::{Pattern, pattern};
use crate::parse::result::Parsed;
use crate::parse::suites::Room;
use crate::parse::text::{python_lines, strip};

pattern!(FILE_PASS, r"^PASS (.+?)(?:\s\(\d*\.?\d+\s*\w+\))?$");
pattern!(FILE_FAIL, r"^FAIL (.+?)(?:\s\(\d*\.?\d+\s*\w+\))?$");
pattern!(TEST_PASS, r"^✓ (.+?)(?:\s\(\d*\.?\d+\s*\w+\))?$");
pattern!(TEST_FAIL, r"^✕ (.+?)(?:\s\(\d*\.?\d+\s*\w+\))?$");

/// github-readme-stats and dayjs: a time is what stands last in parentheses.
pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    read(log, [&FILE_PASS, &FILE_FAIL], [&TEST_PASS, &TEST_FAIL])
}

pattern!(DARK_FILE_PASS, r"^PASS (\S+)(\s*\(.+\))?$");
pattern!(DARK_FILE_FAIL, r"^FAIL (\S+)(\s*\(.+\))?$");
pattern!(DARK_TEST_PASS, r"^✓ (.+?)(\s+\(.+\))?$");
pattern!(DARK_TEST_FAIL, r"^✕ (.+?)(\s+\(.+\))?$");

/// darkreader: whatever stands in parentheses is taken off.
pub(in crate::parse) fn parse_darkreader<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    read(
        log,
        [&DARK_FILE_PASS, &DARK_FILE_FAIL],
        [&DARK_TEST_PASS, &DARK_TEST_FAIL],
    )
}

fn read<'a>(log: &'a str, files: [&Pattern; 2], tests: [&Pattern; 2]) -> Parsed<'a> {
    const SETS: [Set; 2] = [Set::Passed, Set::Failed];
    let (mut sets, mut room) = (Sets::default(), Room::of(log));
    let mut file: Option<&str> = None;
    for (at, line) in python_lines(log).enumerate() {
        let (line, number) = (strip(line), at + 1);
        for (pattern, set) in files.into_iter().zip(SETS) {
            if let Some(name) = pattern.first(line) {
                file = Some(name);
                sets.add(set, Cow::Borrowed(name), number);
            }
        }
        for (pattern, set) in tests.into_iter().zip(SETS) {
            let Some(test) = pattern.first(line) else {
                continue;
            };
            let Some(file) = file else {
                sets.breaks(number, "a test without a file");
                continue;
            };
            match room.join([file, test].into_iter(), ":") {
                Some(name) => sets.add(set, Cow::Owned(name), number),
                None => return out_of_room(sets),
            }
        }
    }
    sets.into_parsed()
}

fn out_of_room(sets: Sets<'_>) -> Parsed<'_> {
    let mut parsed = sets.into_parsed();
    parsed.out_of_room();
    parsed
}
