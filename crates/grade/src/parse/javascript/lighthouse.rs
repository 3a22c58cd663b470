//! Lighthouse, whose versions use three runners.
//!
//! Rules of `parse_log_lighthouse` of SWE-bench 5.0.2 (there is none in 4.1.0): versions 9.5, 10.0 and 10.2 print mocha's list, others from 3 on
//! jest's files, older ones mocha's JSON, of which the lines with titles count.

use std::sync::LazyLock;

use schema::grading::TestStatus;

use super::failures::Form;
use super::jest_files;
use crate::parse::context::Context;
use crate::parse::lines::{Places, after_word};
use crate::parse::result::Parsed;
use crate::parse::suites::{Room, Suites};
use crate::parse::text::{after_digits, after_space, before_space, strip};

pub(in crate::parse) fn parse<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    if matches!(context.version, "9.5" | "10.0" | "10.2") {
        return mocha(log);
    }
    match strip(context.version).parse::<f64>() {
        Ok(version) if version >= 3.0 => jest_files::parse(log, context),
        Ok(_) => titles(log),
        Err(_) => {
            let mut parsed = jest_files::parse(log, context);
            parsed.breaks_officially(0, "the instance's version is no number");
            parsed
        }
    }
}

/// Every run's list, from `running N test files` to `N passing`.
fn mocha<'a>(log: &'a str) -> Parsed<'a> {
    static START: LazyLock<Form> =
        LazyLock::new(|| Form::new("running", 0, r"running\s\d+\stest\sfiles"));
    static END: LazyLock<Form> = LazyLock::new(|| Form::new("passing", 0, r"\d+\spassing"));
    let mut parsed = Parsed::default();
    let mut room = Room::of(log);
    let starts: Vec<(usize, &str)> = START.names(log).collect();
    let place = |part: &str| part.as_ptr() as usize - log.as_ptr() as usize;
    for (at, (number, start)) in starts.iter().enumerate() {
        let until = starts
            .get(at + 1)
            .map_or(log.len(), |(_, next)| place(next));
        let run = log
            .get(place(start) + start.len()..until)
            .unwrap_or_default();
        let end = END.names(run).next().map_or(run.len(), |(_, end)| {
            end.as_ptr() as usize - run.as_ptr() as usize
        });
        let list = run.get(..end).unwrap_or_default();
        let text = strip(list);
        let mut places = Places::of(list);
        let first = number + places.line(text.as_ptr() as usize - list.as_ptr() as usize) - 1;
        read_list(text, first, &mut room, &mut parsed);
    }
    parsed
}

fn read_list<'a>(list: &'a str, first: usize, room: &mut Room, parsed: &mut Parsed<'a>) {
    let mut suites = Suites::default();
    for (at, line) in list.split('\n').enumerate() {
        match test(strip(line)) {
            Some((name, status)) => match suites.name(name, " - ", room) {
                Some(name) => parsed.found(name, status, first + at),
                None => parsed.out_of_room(),
            },
            None => suites.enter(line),
        }
    }
}

fn test(line: &str) -> Option<(&str, TestStatus)> {
    let (rest, status) = match after_word(line, &[("✔", TestStatus::Passed)]) {
        Some(marked) => marked,
        None => (after_digits(line)?.strip_prefix(')')?, TestStatus::Failed),
    };
    Some((without_time(after_space(rest)?), status))
}

/// Takes the last ` (12ms)`, and what follows it, off.
fn without_time(text: &str) -> &str {
    let name = text.rmatch_indices('(').find_map(|(open, _)| {
        let unit = after_digits(text.get(open + 1..)?)?;
        let rest = unit.trim_start_matches('m');
        if rest.len() == unit.len() || !rest.starts_with("s)") {
            return None;
        }
        before_space(text.get(..open)?)
    });
    name.unwrap_or(text)
}

/// The titles in every report's lists of what passed and what failed.
fn titles<'a>(log: &'a str) -> Parsed<'a> {
    static TITLE: LazyLock<Form> =
        LazyLock::new(|| Form::new("fullTitle", 1, r#""fullTitle":\s"(.*)",\n"#));
    let mut parsed = Parsed::default();
    let mut places = Places::of(log);
    for chunk in log
        .split("./node_modules/.bin/mocha --reporter json")
        .skip(1)
    {
        let first = places.line(chunk.as_ptr() as usize - log.as_ptr() as usize);
        for (start, end, status) in [
            ("\"passes\": [", "]", TestStatus::Passed),
            ("\"failures\": [", "],", TestStatus::Failed),
        ] {
            let list = chunk.rsplit_once(start).map_or(chunk, |(_, rest)| rest);
            let list = list.rsplit_once(end).map_or(list, |(list, _)| list);
            let before = list.as_ptr() as usize - chunk.as_ptr() as usize;
            let skipped = Places::of(chunk).line(before) - 1;
            for (number, title) in TITLE.names(list) {
                parsed.found(title, status, first + skipped + number - 1);
            }
        }
    }
    parsed
}
