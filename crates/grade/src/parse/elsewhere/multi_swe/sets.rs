//! Three sets of tests.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use schema::grading::TestStatus;

use crate::parse::result::Parsed;

/// What a test did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Set {
    Passed,
    Failed,
    Skipped,
}

/// Which sets a test is in, with the line that put it there.
#[derive(Debug, Default)]
struct Places {
    passed: Option<usize>,
    failed: Option<usize>,
    skipped: Option<usize>,
}

impl Places {
    fn of(&mut self, set: Set) -> &mut Option<usize> {
        match set {
            Set::Passed => &mut self.passed,
            Set::Failed => &mut self.failed,
            Set::Skipped => &mut self.skipped,
        }
    }
}

/// The tests of a log.
#[derive(Debug, Default)]
pub(super) struct Sets<'a> {
    /// In the order in which they came first.
    tests: Vec<(Cow<'a, str>, Places)>,
    known: HashMap<Cow<'a, str>, usize, RandomState>,
    broken: Option<(usize, &'static str)>,
}

impl<'a> Sets<'a> {
    /// Puts a test into a set.
    pub(super) fn add(&mut self, set: Set, name: Cow<'a, str>, line: usize) {
        let at = *self.known.entry(name.clone()).or_insert_with(|| {
            self.tests.push((name, Places::default()));
            self.tests.len() - 1
        });
        if let Some((_, places)) = self.tests.get_mut(at) {
            places.of(set).get_or_insert(line);
        }
    }

    /// Takes a test out of a set.
    pub(super) fn remove(&mut self, set: Set, name: &str) {
        if let Some(places) = self.places(name) {
            *places.of(set) = None;
        }
    }

    /// Whether a test is in a set.
    pub(super) fn has(&mut self, set: Set, name: &str) -> bool {
        let places = self.places(name);
        places.is_some_and(|places| places.of(set).is_some())
    }

    fn places(&mut self, name: &str) -> Option<&mut Places> {
        let at = *self.known.get(name)?;
        self.tests.get_mut(at).map(|(_, places)| places)
    }

    /// Says why the original breaks off; the first reason counts.
    pub(super) fn breaks(&mut self, line: usize, reason: &'static str) {
        self.broken.get_or_insert((line, reason));
    }

    /// Leaves each test in the worst of its sets alone: first failed, then skipped.
    pub(super) fn settle(&mut self) {
        for (_, places) in &mut self.tests {
            if places.failed.is_some() {
                (places.passed, places.skipped) = (None, None);
            } else if places.skipped.is_some() {
                places.passed = None;
            }
        }
    }

    /// The results. A test in several sets counts as failed, else as passed.
    pub(super) fn into_parsed(self) -> Parsed<'a> {
        let mut parsed = Parsed::default();
        if let Some((line, reason)) = self.broken {
            parsed.breaks_officially(line, reason);
        }
        for (name, places) in self.tests {
            let sets = [places.failed, places.passed, places.skipped];
            let all = sets.iter().flatten().count();
            let statuses = [TestStatus::Failed, TestStatus::Passed, TestStatus::Skipped];
            let mut found = sets.into_iter().zip(statuses);
            let Some((line, status)) = found.find_map(|(line, status)| Some((line?, status)))
            else {
                continue;
            };
            if all > 1 {
                parsed.breaks_officially(line, "a test has two results");
            }
            parsed.found(name, status, line);
        }
        parsed
    }
}
