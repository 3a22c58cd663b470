//! Results that are compared as a whole, as R2E-Gym does it: what each test of the log must do is known, failures included.

use std::collections::BTreeMap;

use schema::grading::TestStatus;

use crate::parse::Word;
use crate::status_map::StatusMap;

/// The first test that does not do what it must, or must not be there at all, in words for people; `None` when the maps are equal.
pub(crate) fn difference(
    map: &StatusMap<'_>,
    expected: &BTreeMap<String, TestStatus>,
) -> Option<String> {
    let other = expected.iter().find_map(|(name, status)| {
        let wanted = Word::Status(*status);
        match map.get(name) {
            None => Some(format!("`{name}` must be {wanted}, and is not in the log")),
            Some(word) if *word != wanted => {
                Some(format!("`{name}` must be {wanted}, and is {word}"))
            }
            Some(_) => None,
        }
    });
    other.or_else(|| {
        let mut names = map.iter().map(|(name, _)| name);
        let name = names.find(|name| !expected.contains_key(*name))?;
        Some(format!(
            "`{name}` is none of the tests that must be in the log"
        ))
    })
}
