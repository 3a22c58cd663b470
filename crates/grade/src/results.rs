//! Results, ready to be asked for tests by the names of a dataset: official ones, whole ones, cut ones, spaced otherwise.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use schema::grading::{MatchCounts, TestStatus};

use crate::evaluation::Kind;
use crate::parse::{TestResult, Word};
use crate::reading::Reading;
use crate::status_map::StatusMap;

type Statuses<'r> = HashMap<Cow<'r, str>, TestStatus, RandomState>;

/// The results of a log.
pub(crate) struct Results<'r> {
    /// By the official parser's names; the last result of a name counts.
    official: StatusMap<'r>,
    /// The same names; the worst result counts.
    official_worst: Statuses<'r>,
    /// By whole names; the worst result counts.
    worst: Statuses<'r>,
    /// The same, in order, for cut names.
    whole: StatusMap<'r>,
    /// By whole names with single spaces, made when asked for.
    spaced: OnceCell<Statuses<'r>>,
    tests: &'r [TestResult<'r>],
}

impl<'r> Results<'r> {
    pub(crate) fn new(reading: &'r Reading<'_>) -> Self {
        let name = |test: &'r TestResult<'_>| Cow::Borrowed(&*test.name);
        Self {
            official: reading.map(),
            official_worst: worst(reading.official(), name),
            worst: worst(reading.tests(), name),
            whole: StatusMap::new(reading.tests()),
            spaced: OnceCell::new(),
            tests: reading.tests(),
        }
    }

    /// What a test did: by its official name, its whole name, its name cut inside a parameter (many names in datasets are), its name up to
    /// white space.
    pub(crate) fn status(&self, name: &str, matches: &mut MatchCounts) -> Option<TestStatus> {
        let passed = |word: &Word<'_>| word.status().is_some_and(|s| Kind::MustTurn.is_met_by(s));
        let cut = || {
            let official = self.official.get_cut(name, passed);
            official
                .or_else(|| self.whole.get_cut(name, passed))?
                .status()
        };
        let (status, count) = if let Some(status) = self.official.get(name).and_then(Word::status) {
            (Some(status), &mut matches.official)
        } else if let Some(status) = self.worst.get(name) {
            (Some(*status), &mut matches.whole)
        } else if let Some(status) = cut() {
            (Some(status), &mut matches.cut)
        } else if let Some(status) = self.spaced().get(&*single_spaced(name)) {
            (Some(*status), &mut matches.spaced)
        } else {
            (None, &mut matches.missing)
        };
        *count += 1;
        status
    }

    /// Whether a test is reported as failed, whatever else it is reported as.
    pub(crate) fn ever_failed(&self, name: &str) -> bool {
        [&self.official_worst, &self.worst]
            .iter()
            .filter_map(|results| results.get(name))
            .any(|status| is_failure(*status))
    }

    pub(crate) fn any_failed(&self) -> bool {
        [&self.official_worst, &self.worst]
            .iter()
            .any(|results| results.values().any(|status| is_failure(*status)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.official.is_empty() && self.tests.is_empty()
    }

    /// The worst status of every test, by its whole name.
    pub(crate) fn statuses(&self) -> BTreeMap<String, TestStatus> {
        let worst = self.worst.iter();
        worst
            .map(|(name, status)| (name.clone().into_owned(), *status))
            .collect()
    }

    fn spaced(&self) -> &Statuses<'r> {
        self.spaced
            .get_or_init(|| worst(self.tests, |test| single_spaced(&test.name)))
    }
}

impl Kind {
    pub(crate) fn is_met_by(self, status: TestStatus) -> bool {
        match status {
            TestStatus::Passed | TestStatus::Xfail => true,
            TestStatus::Skipped => matches!(self, Self::MustStay),
            TestStatus::Failed | TestStatus::Error | TestStatus::Xpass => false,
        }
    }
}

fn single_spaced(name: &str) -> Cow<'_, str> {
    Cow::Owned(name.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn worst<'r, 't: 'r>(
    results: &'r [TestResult<'t>],
    name: impl Fn(&'r TestResult<'t>) -> Cow<'r, str>,
) -> Statuses<'r> {
    let mut worst = Statuses::default();
    for test in results {
        if let Some(found) = test.word.status() {
            let status = worst.entry(name(test)).or_insert(found);
            *status = std::cmp::max_by_key(*status, found, |status| badness(*status));
        }
    }
    worst
}

fn badness(status: TestStatus) -> u8 {
    match status {
        TestStatus::Passed => 0,
        TestStatus::Xfail => 1,
        TestStatus::Skipped => 2,
        TestStatus::Xpass => 3,
        TestStatus::Error => 4,
        TestStatus::Failed => 5,
    }
}

pub(crate) fn is_failure(status: TestStatus) -> bool {
    match status {
        TestStatus::Failed | TestStatus::Error => true,
        TestStatus::Passed | TestStatus::Skipped | TestStatus::Xfail | TestStatus::Xpass => false,
    }
}
