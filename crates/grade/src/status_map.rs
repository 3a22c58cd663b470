//! What a log says of each test, for questions by name.

use std::cell::OnceCell;
use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::parse::{TestResult, Word};

/// The last word on each name, as the official harness keeps it: names in the order in which they came first.
#[derive(Debug, Default)]
pub struct StatusMap<'p> {
    entries: Vec<(&'p str, &'p Word<'p>)>,
    places: HashMap<&'p str, usize, RandomState>,
    /// Places of the entries in the order of their names, made when a cut name is asked for.
    sorted: OnceCell<Vec<usize>>,
}

impl<'p> StatusMap<'p> {
    /// Of results in a log's order.
    pub fn new(results: &'p [TestResult<'p>]) -> Self {
        let mut map = Self::default();
        map.places.reserve(results.len());
        for result in results {
            let next = map.entries.len();
            let place = *map.places.entry(&result.name).or_insert(next);
            match map.entries.get_mut(place) {
                Some((_, word)) => *word = &result.word,
                None => map.entries.push((&result.name, &result.word)),
            }
        }
        map
    }

    /// Names and words in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'p str, &'p Word<'p>)> + '_ {
        self.entries.iter().copied()
    }

    /// Whether there is no test.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The word on a name.
    pub fn get(&self, name: &str) -> Option<&'p Word<'p>> {
        let place = *self.places.get(name)?;
        self.entries.get(place).map(|(_, word)| *word)
    }

    /// The word on a name that ends inside its parameter, where all tests that begin with it agree on `passed`: that of the first of them.
    ///
    /// 676 names in SWE-bench Verified are cut so. A name counts as cut when it has more `[` than `]`.
    pub fn get_cut(&self, name: &str, passed: impl Fn(&Word<'_>) -> bool) -> Option<&'p Word<'p>> {
        if !is_cut(name) {
            return None;
        }
        let sorted = self.sorted.get_or_init(|| {
            let mut places: Vec<usize> = (0..self.entries.len()).collect();
            places.sort_unstable_by_key(|place| self.name(*place));
            places
        });
        let from = sorted.partition_point(|place| self.name(*place) < name);
        let rest = sorted.get(from..).unwrap_or_default();
        let candidates = rest
            .iter()
            .copied()
            .take_while(|place| self.name(*place).starts_with(name));
        let mut first: Option<usize> = None;
        let mut outcome = None;
        for place in candidates {
            let passed = passed(self.entries.get(place)?.1);
            if *outcome.get_or_insert(passed) != passed {
                return None;
            }
            first = Some(first.map_or(place, |first| first.min(place)));
        }
        self.entries.get(first?).map(|(_, word)| *word)
    }

    fn name(&self, place: usize) -> &'p str {
        self.entries.get(place).map_or("", |(name, _)| name)
    }
}

/// Whether a name ends inside its parameter.
pub(crate) fn is_cut(name: &str) -> bool {
    let count = |byte| memchr::memchr_iter(byte, name.as_bytes()).count();
    count(b'[') > count(b']')
}
