//! Logs of which only failures are read, by patterns that may span lines.

use regex::Regex;
use schema::grading::TestStatus;

use crate::parse::lines::Places;
use crate::parse::result::Parsed;
use crate::parse::text::single_spaced;

/// A failure: what its text must hold (for a quick look), and a pattern that names it by a group.
pub(super) struct Form {
    needs: &'static str,
    group: usize,
    pattern: Option<Regex>,
}

impl Form {
    /// `\s` stands for white space as Python has it.
    pub(super) fn new(needs: &'static str, group: usize, pattern: &str) -> Self {
        let pattern = pattern.replace(r"\s", r"[\s\x1c-\x1f]");
        Self {
            needs,
            group,
            pattern: Regex::new(&pattern).ok(),
        }
    }

    /// Every place where the failure is, and its name.
    pub(super) fn names<'a>(&self, log: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
        let holds = memchr::memmem::find(log.as_bytes(), self.needs.as_bytes()).is_some();
        let pattern = self.pattern.as_ref().filter(|_| holds);
        let mut places = Places::of(log);
        let found = pattern
            .into_iter()
            .flat_map(move |pattern| pattern.captures_iter(log));
        found.filter_map(move |found| {
            let number = places.line(found.get(0)?.start());
            Some((number, found.get(self.group)?.as_str()))
        })
    }
}

/// Reads all failures, form by form; their names with single spaces where `spaced` says so.
pub(super) fn read<'a>(log: &'a str, forms: &[Form], spaced: bool) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    for (number, name) in forms.iter().flat_map(|form| form.names(log)) {
        if spaced {
            parsed.found(single_spaced(name), TestStatus::Failed, number);
        } else {
            parsed.found(name, TestStatus::Failed, number);
        }
    }
    parsed
}
