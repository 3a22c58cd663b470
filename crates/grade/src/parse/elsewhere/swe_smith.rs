//! SWE-smith's projects: those in Python here, the others below.
//!
//! Rules of the profiles in SWE-smith 0.0.9. In Python nearly all use `pytest -v`; autograd runs it on several workers, paramiko prints the short summary,
//! mypy names a test last, tornado and slugify have runners of their own.

pub(in crate::parse) mod catch2;
pub(in crate::parse) mod counted;
pub(in crate::parse) mod cpp;
pub(in crate::parse) mod java;
pub(in crate::parse) mod javascript;
pub(in crate::parse) mod lists;

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::numbered;
use crate::parse::result::Parsed;
use crate::parse::text::{after_space, is_digit, is_space, words};

const WORDS: [(&str, TestStatus); 5] = [
    ("FAILED", TestStatus::Failed),
    ("PASSED", TestStatus::Passed),
    ("SKIPPED", TestStatus::Skipped),
    ("ERROR", TestStatus::Error),
    ("XFAIL", TestStatus::Xfail),
];

fn each<'a>(log: &'a str, read: impl Fn(&'a str) -> Option<(&'a str, TestStatus)>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    for (number, line) in numbered(log) {
        if let Some((name, status)) = read(line) {
            parsed.found(name, status, number);
        }
    }
    parsed
}

/// The status that a text begins with, and what follows.
fn status(text: &str) -> Option<(&str, TestStatus)> {
    let mut words = WORDS.into_iter();
    words.find_map(|(word, status)| Some((text.strip_prefix(word)?, status)))
}

/// The first word of a text that begins with one.
fn word(text: &str) -> Option<&str> {
    text.split(is_space).next().filter(|word| !word.is_empty())
}

/// `name PASSED`.
pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    each(log, |line| {
        let name = word(line)?;
        let second = words(line.get(name.len()..)?).next()?;
        Some((name, status(second)?.1))
    })
}

/// `[gw0] PASSED name`.
pub(in crate::parse) fn parse_autograd<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    each(log, |line| {
        let worker = line.strip_prefix("[gw")?.strip_prefix(is_digit)?;
        let (rest, status) = status(after_space(worker.strip_prefix(']')?)?)?;
        Some((word(after_space(rest)?)?, status))
    })
}

/// `PASSED name`.
pub(in crate::parse) fn parse_paramiko<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    each(log, |line| {
        let (rest, status) = status(line)?;
        Some((word(after_space(rest)?)?, status))
    })
}

/// A line with `PASSED` or `FAILED` anywhere; its last word is the name.
pub(in crate::parse) fn parse_mypy<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    each(log, |line| {
        let found = [
            ("PASSED", TestStatus::Passed),
            ("FAILED", TestStatus::Failed),
        ];
        let status = found.into_iter().find(|(word, _)| line.contains(word))?.1;
        Some((words(line).next_back()?, status))
    })
}

/// `name ... ok`, `name ... skipped why`, and headings of failures, of which two words are the name.
pub(in crate::parse) fn parse_tornado<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    let before = |line: &'a str| line.split_once(" ... ").map_or(line, |(name, _)| name);
    for (number, line) in numbered(log) {
        if line.ends_with("... ok") {
            parsed.found(before(line), TestStatus::Passed, number);
        } else if line.contains(" ... skipped ") {
            parsed.found(before(line), TestStatus::Skipped, number);
        } else if line.starts_with("ERROR:") || line.starts_with("FAIL:") {
            let name: Vec<&str> = words(line).skip(1).take(2).collect();
            parsed.found(name.join(" "), TestStatus::Failed, number);
        }
    }
    parsed
}

/// `name ... ok`, the name of plain characters alone.
pub(in crate::parse) fn parse_slugify<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let ends = [
        ("ok", TestStatus::Passed),
        ("FAIL", TestStatus::Failed),
        ("ERROR", TestStatus::Error),
    ];
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-,.()'".contains(c) || is_space(c);
    each(log, move |line| {
        let mut ends = ends.into_iter();
        let (rest, status) = ends.find_map(|(end, s)| Some((line.strip_suffix(end)?, s)))?;
        let dots = rest.strip_suffix(is_space)?.strip_suffix("...")?;
        let name = dots.strip_suffix(is_space)?;
        (!name.is_empty() && name.chars().all(is_plain)).then_some((name, status))
    })
}
