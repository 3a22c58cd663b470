//! Results, ready to be asked for tests by the names of a dataset: official ones, whole ones, cut ones, spaced otherwise.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use schema::grading::{MatchCounts, TestStatus};

use crate::evaluation::Kind;
use crate::parse::TestResult;
use crate::reading::Reading;
use crate::status_map::StatusMap;

type Statuses<'r> = HashMap<Cow<'r, str>, Span, RandomState>;

/// The results of one name, which may be several.
#[derive(Debug, Clone, Copy)]
struct Span {
    best: TestStatus,
    worst: TestStatus,
}

/// By which rule a test was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    /// By the official name.
    Official,
    /// By the whole name.
    Whole,
    /// By the beginning of the name.
    Cut,
    /// By the whole name with other white space.
    Spaced,
}

impl Match {
    pub(crate) fn count(found: Option<Self>, counts: &mut MatchCounts) {
        let count = match found {
            Some(Self::Official) => &mut counts.official,
            Some(Self::Whole) => &mut counts.whole,
            Some(Self::Cut) => &mut counts.cut,
            Some(Self::Spaced) => &mut counts.spaced,
            None => &mut counts.missing,
        };
        *count += 1;
    }
}

/// The results of a log.
pub(crate) struct Results<'r> {
    /// By the official parser's names, in order; the last result of a name.
    official: StatusMap<'r>,
    /// All results of each of these names.
    official_spans: Statuses<'r>,
    /// By whole names, in order, for cut names.
    whole: StatusMap<'r>,
    /// All results of each of these names.
    whole_spans: Statuses<'r>,
    /// By whole names with single spaces, made when asked for.
    spaced: OnceCell<Statuses<'r>>,
    tests: &'r [TestResult<'r>],
}

impl<'r> Results<'r> {
    pub(crate) fn new(reading: &'r Reading<'_>) -> Self {
        let name = |test: &'r TestResult<'_>| Cow::Borrowed(&*test.name);
        Self {
            official: reading.map(),
            official_spans: spans(reading.official(), name),
            whole: StatusMap::new(reading.tests()),
            whole_spans: spans(reading.tests(), name),
            spaced: OnceCell::new(),
            tests: reading.tests(),
        }
    }

    /// What a test did: by its official name, its whole name, its name cut inside a parameter (many names in datasets are), its name up to
    /// white space. Of several results of a name the worst counts.
    pub(crate) fn status(&self, name: &str) -> Option<(TestStatus, Match)> {
        let by = |spans: &Statuses<'_>, name: &str, rule| {
            let span = spans.get(name)?;
            Some((span.worst, rule))
        };
        by(&self.official_spans, name, Match::Official)
            .or_else(|| by(&self.whole_spans, name, Match::Whole))
            .or_else(|| Some((self.cut(name)?, Match::Cut)))
            .or_else(|| by(self.spaced(), &single_spaced(name), Match::Spaced))
    }

    /// The last word on an official name.
    pub(crate) fn last(&self, name: &str) -> Option<(TestStatus, Match)> {
        let status = self.official.get(name)?.status()?;
        Some((status, Match::Official))
    }

    fn cut(&self, name: &str) -> Option<TestStatus> {
        let official = self.official.get_cut(name);
        official.or_else(|| self.whole.get_cut(name))?.status()
    }

    /// Whether a test is reported both as passed and as failed.
    pub(crate) fn is_both(&self, name: &str) -> bool {
        let both = |span: &Span| {
            let passed = matches!(span.best, TestStatus::Passed | TestStatus::Xfail);
            passed && is_failure(span.worst)
        };
        [&self.official_spans, &self.whole_spans]
            .iter()
            .filter_map(|spans| spans.get(name))
            .any(both)
    }

    pub(crate) fn any_failed(&self) -> bool {
        [&self.official_spans, &self.whole_spans]
            .iter()
            .any(|spans| spans.values().any(|span| is_failure(span.worst)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.official.is_empty() && self.tests.is_empty()
    }

    /// The worst status of every test, by its whole name.
    pub(crate) fn statuses(&self) -> BTreeMap<String, TestStatus> {
        let spans = self.whole_spans.iter();
        spans
            .map(|(name, span)| (name.clone().into_owned(), span.worst))
            .collect()
    }

    fn spaced(&self) -> &Statuses<'r> {
        self.spaced
            .get_or_init(|| spans(self.tests, |test| single_spaced(&test.name)))
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

fn spans<'r, 't: 'r>(
    results: &'r [TestResult<'t>],
    name: impl Fn(&'r TestResult<'t>) -> Cow<'r, str>,
) -> Statuses<'r> {
    let mut spans = Statuses::default();
    for test in results {
        if let Some(found) = test.word.status() {
            let one = Span {
                best: found,
                worst: found,
            };
            let span = spans.entry(name(test)).or_insert(one);
            span.best = std::cmp::min_by_key(span.best, found, |status| badness(*status));
            span.worst = std::cmp::max_by_key(span.worst, found, |status| badness(*status));
        }
    }
    spans
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
