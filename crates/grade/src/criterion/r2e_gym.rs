//! Results that are compared as a whole, as R2E-Gym does it: what each test of the log must do is known, failures included.

use std::collections::BTreeMap;

use schema::grading::{GradingSpec, Resolution, TestStatus};

use super::{Sorted, tally};
use crate::parse::Word;
use crate::status_map::StatusMap;

/// Resolved when the maps are equal.
pub(super) fn sorted(spec: &GradingSpec, map: &StatusMap<'_>) -> Sorted {
    let met = |name: &str| Some(map.get(name) == Some(&Word::Status(TestStatus::Passed)));
    let whole_map = spec.whole_map.as_ref();
    let objection = whole_map.and_then(|expected| difference(map, expected));
    Sorted {
        fail_to_pass: tally(&spec.fail_to_pass, met),
        pass_to_pass: tally(&spec.pass_to_pass, met),
        resolution: match objection {
            Some(_) => Resolution::No,
            None => Resolution::Full,
        },
        objection,
    }
}

/// The first test that does not do what it must, or must not be there at all, in words for people; `None` when the maps are equal.
fn difference(map: &StatusMap<'_>, expected: &BTreeMap<String, TestStatus>) -> Option<String> {
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
