//! Fusion Next, whose version 1.27 runs Cypress and all others karma.
//!
//! Rules of `parse_log_next` of SWE-bench 5.0.2 (there is none in 4.1.0). In karma's form terminal sequences and the texts of assertion errors
//! are taken out first.

use std::sync::LazyLock;

use regex::Regex;
use schema::grading::TestStatus;

use super::failures::Form;
use crate::parse::context::Context;
use crate::parse::lines::Places;
use crate::parse::result::Parsed;
use crate::parse::suites::{Room, Suites};
use crate::parse::text::{strip, strip_start, without_escapes};

pub(in crate::parse) fn parse<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    static ASSERTION: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"AssertionError:[\s\x1c-\x1f]+#(?s:.*?)\n\n").ok());
    if context.version == "1.27" {
        return cypress(log);
    }
    let plain = without_escapes(log);
    karma(&Rest::of(&plain, ASSERTION.as_ref())).into_owned()
}

/// What is left of a log, and where lines are gone.
struct Rest {
    text: String,
    /// Places in the text, and how many line ends were taken out there.
    gaps: Vec<(usize, usize)>,
}

impl Rest {
    /// The log without what matches.
    fn of(log: &str, pattern: Option<&Regex>) -> Self {
        let (mut text, mut gaps) = (String::with_capacity(log.len()), Vec::new());
        let mut from = 0;
        for found in pattern
            .into_iter()
            .flat_map(|pattern| pattern.find_iter(log))
        {
            text.push_str(log.get(from..found.start()).unwrap_or_default());
            gaps.push((text.len(), found.as_str().matches('\n').count()));
            from = found.end();
        }
        text.push_str(log.get(from..).unwrap_or_default());
        Self { text, gaps }
    }

    /// The log's line at each place, for places in ascending order.
    fn lines(&self) -> impl FnMut(usize) -> usize + '_ {
        let mut places = Places::of(&self.text);
        let mut gaps = self.gaps.iter().peekable();
        let mut gone = 0;
        move |at| {
            while let Some((_, lines)) = gaps.next_if(|(place, _)| *place <= at) {
                gone += lines;
            }
            places.line(at) + gone
        }
    }
}

/// Every run's list, from the start of the browser to the totals. Suites stay open from one run to the next.
fn karma(rest: &Rest) -> Parsed<'_> {
    let log = &*rest.text;
    let mut line_of = rest.lines();
    let mut parsed = Parsed::default();
    let (mut suites, mut room) = (Suites::default(), Room::of(log));
    for run in log.split(" xvfb-run ").skip(1) {
        let list = run
            .rsplit_once("Starting browser Chrome")
            .map_or(run, |(_, list)| list);
        for line in list.split('\n') {
            if line.starts_with("TOTAL") {
                break;
            }
            let noise = ["ERROR", "LOG", "WARN", "Check", "in"];
            if noise.iter().any(|word| strip(line).starts_with(word)) {
                continue;
            }
            let Some((name, status)) = test(line) else {
                suites.enter(line);
                continue;
            };
            let number = line_of(name.as_ptr() as usize - log.as_ptr() as usize);
            match suites.name(name, " - ", &mut room) {
                Some(name) => parsed.found(name, status, number),
                None => parsed.out_of_room(),
            }
        }
    }
    parsed
}

/// What follows the first mark; that of failures goes first.
fn test(line: &str) -> Option<(&str, TestStatus)> {
    let marks = [('✗', TestStatus::Failed), ('✓', TestStatus::Passed)];
    marks.into_iter().find_map(|(mark, status)| {
        let (_, name) = line.split_once(mark)?;
        Some((strip_start(name), status))
    })
}

/// Every file's list: its heading, three empty lines, a suite, then tests indented by four.
fn cypress<'a>(log: &'a str) -> Parsed<'a> {
    static HEADING: LazyLock<Form> =
        LazyLock::new(|| Form::new("Running:", 0, r"Running:.*\)\n{3}\s{2}.*\n"));
    static SUITE: LazyLock<Form> =
        LazyLock::new(|| Form::new("Running:", 1, r"Running:.*\)\n{3}\s{2}(.*)\n"));
    static FAILURE: LazyLock<Form> = LazyLock::new(|| Form::new(")", 1, r"(?m)^\s{4}\d+\)\s(.*)"));
    static SUCCESS: LazyLock<Form> = LazyLock::new(|| Form::new("✓", 1, r"(?m)^\s{4}✓\s(.*)\("));
    let mut parsed = Parsed::default();
    let mut room = Room::of(log);
    let headings: Vec<(usize, &str)> = HEADING.names(log).collect();
    let place = |part: &str| part.as_ptr() as usize - log.as_ptr() as usize;
    for (at, (number, heading)) in headings.iter().enumerate() {
        let suite = SUITE.names(heading).next().map_or("", |(_, suite)| suite);
        let until = headings
            .get(at + 1)
            .map_or(log.len(), |(_, next)| place(next));
        let list = log
            .get(place(heading) + heading.len()..until)
            .unwrap_or_default();
        let first = number + heading.matches('\n').count() - 1;
        for (form, status) in [
            (&FAILURE, TestStatus::Failed),
            (&SUCCESS, TestStatus::Passed),
        ] {
            for (line, name) in form.names(list) {
                match room.join([suite, strip(name)].into_iter(), ": ") {
                    Some(name) => parsed.found(name, status, first + line),
                    None => parsed.out_of_room(),
                }
            }
        }
    }
    parsed
}
