//! Lists of tests as JavaScript's runners print them.

use schema::grading::{Harness, TestStatus};

use crate::parse::context::Context;
use crate::parse::javascript::jest;
use crate::parse::lines::{after_word, each_stripped, numbered, present};
use crate::parse::pattern::pattern;
use crate::parse::result::Parsed;
use crate::parse::text::{after_digits, after_space, strip, strip_start, without_duration};

/// jest: as SWE-bench's parser of generation 4 has it, without whole names.
pub(in crate::parse) fn parse_jest<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    let context = Context {
        harness: Harness::V4,
        ..*context
    };
    Parsed {
        whole: None,
        ..jest::parse(log, &context)
    }
}

/// mocha: `✓ name (12ms)`, `- name`, and `1) name` for failures.
pub(in crate::parse) fn parse_mocha<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    each_stripped(log, |line| mocha_mark(line).or_else(|| mocha_failure(line)))
}

fn mocha_mark(line: &str) -> Option<(&str, TestStatus)> {
    let marks = [
        ("✓", TestStatus::Passed),
        ("✔", TestStatus::Passed),
        ("✖", TestStatus::Failed),
        ("-", TestStatus::Skipped),
    ];
    let (rest, status) = after_word(line, &marks)?;
    Some((without_duration(present(after_space(rest)?)?), status))
}

fn mocha_failure(line: &str) -> Option<(&str, TestStatus)> {
    let rest = after_digits(line)?.strip_prefix(')')?;
    let name = strip_start(rest);
    let name = (name.len() < rest.len()).then_some(name)?;
    Some((without_duration(present(name)?), TestStatus::Failed))
}

/// vitest's list of files: the name ends where a parenthesis opens.
pub(in crate::parse) fn parse_vitest<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    each_stripped(log, |line| {
        let marks = [
            ("✓", TestStatus::Passed),
            ("❯", TestStatus::Failed),
            ("✗", TestStatus::Failed),
            ("○", TestStatus::Skipped),
        ];
        let (rest, status) = after_word(line, &marks)?;
        let name = present(after_space(rest)?)?;
        Some((strip(name.split('(').next()?), status))
    })
}

pattern!(TIMED, r"^(.*)\s\d+ms");

/// vitest's tests, as react-pdf prints them: without the last time in a line. Crosses of one kind need one.
pub(in crate::parse) fn parse_react_pdf<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    for (number, line) in numbered(log) {
        let marks = [
            ("✓", TestStatus::Passed),
            ("✗", TestStatus::Failed),
            ("✖", TestStatus::Failed),
        ];
        let line = strip_start(line);
        let Some((rest, status)) = after_word(line, &marks) else {
            continue;
        };
        let Some(text) = after_space(rest) else {
            continue;
        };
        let name = match TIMED.first(text) {
            Some(name) if !line.starts_with('✖') => name,
            None if line.starts_with('✗') => continue,
            Some(_) | None => text,
        };
        parsed.found(strip(name), status, number);
    }
    parsed
}

pattern!(NODE, r"^\s*([✖✔])\s(.*?)\s\([.\d]+ms\)");

/// `node --test`: the name ends before the first time.
pub(in crate::parse) fn parse_node<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    for (number, line) in numbered(log) {
        if let Some(found) = NODE.captures(line)
            && let (Some(mark), Some(name)) = (found.get(1), found.get(2))
        {
            let status = match mark.as_str() {
                "✔" => TestStatus::Passed,
                _ => TestStatus::Failed,
            };
            parsed.found(strip(name.as_str()), status, number);
        }
    }
    parsed
}
