//! What a log says of each test, for questions by name.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

use crate::parse::{TestResult, Word};

/// The last word on each name, as the official harness keeps it: names in the order in which they came first.
#[derive(Debug, Default)]
pub struct StatusMap<'p> {
    entries: Vec<(&'p str, &'p Word<'p>)>,
    places: HashMap<&'p str, usize, RandomState>,
    /// Made when a cut name is asked for.
    by_name: OnceCell<ByName>,
}

/// The entries of a map in the order of their names, where those that begin alike are neighbours.
#[derive(Debug, Default)]
struct ByName {
    /// Their places.
    places: Vec<usize>,
    /// How many of the entries before each position passed.
    passed: Vec<usize>,
    /// The least places of ever larger groups: a binary tree, node 1 its root, the places its leaves.
    least: Vec<usize>,
}

impl<'p> StatusMap<'p> {
    /// Of results in a log's order.
    pub fn new(results: &'p [TestResult<'p>]) -> Self {
        let mut map = Self::default();
        map.places.reserve(results.len());
        map.entries.reserve(results.len());
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

    /// The word on a name that ends inside its parameter, where all tests that begin with it agree on having passed: that of the first of them.
    ///
    /// 676 names in SWE-bench Verified are cut so. A name counts as cut when it has more `[` than `]`.
    pub fn get_cut(&self, name: &str) -> Option<&'p Word<'p>> {
        if !is_cut(name) {
            return None;
        }
        let by_name = self.by_name.get_or_init(|| ByName::new(&self.entries));
        let place_of = |bound: &dyn Fn(&str) -> bool| {
            by_name
                .places
                .partition_point(|place| bound(self.name(*place)))
        };
        let from = place_of(&|known| known < name);
        let to = place_of(&|known| known < name || known.starts_with(name));
        let first = by_name.first_where_all_agree(from..to)?;
        self.entries.get(first).map(|(_, word)| *word)
    }

    fn name(&self, place: usize) -> &'p str {
        self.entries.get(place).map_or("", |(name, _)| name)
    }
}

impl ByName {
    fn new(entries: &[(&str, &Word<'_>)]) -> Self {
        let mut places: Vec<usize> = (0..entries.len()).collect();
        places.sort_unstable_by_key(|place| entries.get(*place).map(|(name, _)| *name));
        let mut passed = vec![0];
        let mut count = 0;
        for place in &places {
            count += usize::from(entries.get(*place).is_some_and(|(_, word)| word.passed()));
            passed.push(count);
        }
        let mut least = vec![usize::MAX; places.len()];
        least.extend(&places);
        for node in (1..places.len()).rev() {
            let children = least.get(2 * node..2 * node + 2);
            let smaller = children.and_then(|two| two.iter().min().copied());
            if let (Some(least), Some(smaller)) = (least.get_mut(node), smaller) {
                *least = smaller;
            }
        }
        Self {
            places,
            passed,
            least,
        }
    }

    /// The least place of the entries at these positions, where all of them or none passed.
    fn first_where_all_agree(&self, positions: Range<usize>) -> Option<usize> {
        let passed = self.passed.get(positions.end)? - self.passed.get(positions.start)?;
        if passed != 0 && passed != positions.len() {
            return None;
        }
        let leaves = self.places.len();
        let (mut from, mut to) = (positions.start + leaves, positions.end + leaves);
        let mut first = None;
        while from < to {
            // A node at an edge whose parent reaches beyond it counts by itself; the others count in the level above.
            let edges = [(from % 2 == 1, from), (to % 2 == 1, to - 1)];
            let alone = edges.iter().filter(|(alone, _)| *alone);
            let known = alone.filter_map(|(_, node)| self.least.get(*node).copied());
            first = known.chain(first).min();
            (from, to) = (from.div_ceil(2), to / 2);
        }
        first
    }
}

/// Whether a name ends inside its parameter.
pub(crate) fn is_cut(name: &str) -> bool {
    let count = |byte| memchr::memchr_iter(byte, name.as_bytes()).count();
    count(b'[') > count(b']')
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use schema::grading::TestStatus;

    use super::*;

    #[test]
    fn the_first_of_those_that_begin_alike_is_found_among_any_number() {
        for count in 0..20_usize {
            let name = |at: usize| {
                format!(
                    "t[{} {at}",
                    char::from(b'a' + u8::try_from(at % 3).unwrap())
                )
            };
            let results: Vec<TestResult<'_>> = (0..count)
                .map(|at| TestResult {
                    name: Cow::Owned(name(at)),
                    word: Word::Other(Cow::Owned(at.to_string())),
                    line: at,
                })
                .collect();
            let map = StatusMap::new(&results);
            for (cut, first) in [("t[", 0), ("t[a", 0), ("t[b", 1), ("t[c", 2), ("t[d", 20)] {
                let expected = (first < count).then(|| first.to_string());
                let found = map.get_cut(cut).map(Word::to_string);
                assert_eq!(found, expected, "{cut} of {count}");
            }
        }
        let failed = Word::Status(TestStatus::Failed);
        let results =
            [("t[a", Word::Status(TestStatus::Xfail)), ("t[b", failed)].map(|(name, word)| {
                TestResult {
                    name: Cow::Borrowed(name),
                    word,
                    line: 1,
                }
            });
        assert_eq!(StatusMap::new(&results).get_cut("t["), None);
    }
}
