//! Predictions against the dataset: none for an unknown instance, one for each.

use std::collections::{BTreeMap, HashMap, HashSet};

use schema::{InstanceId, Prediction};

use super::patch_text::{Oddity, repaired};
use super::{Error, Given};
use crate::ui::escape;

/// Ids that a message shows.
const SHOWN: usize = 5;

/// Which of several predictions for one instance counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// None: they are an error, unless they are the same.
    #[default]
    Refuse,
    /// The first.
    First,
    /// The last, as for the official harness.
    Last,
}

/// Something about some predictions that people should know.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Finding {
    /// Their patch is odd.
    Odd(Oddity),
    /// There was more than one.
    Repeated,
    /// There is none for these instances.
    Missing,
}

/// What was found, by instances.
pub type Findings = BTreeMap<Finding, Vec<InstanceId>>;

/// The predictions as they are graded, in their order, and what was found.
///
/// # Errors
/// Several that differ are for the same instance.
pub fn matched(
    given: &[Given],
    ids: &[InstanceId],
    model: &str,
    duplicates: Duplicates,
) -> Result<(Vec<Prediction>, Findings), Error> {
    let mut findings = Findings::new();
    let single = single(given, duplicates, &mut findings)?;
    let mut predictions = Vec::with_capacity(single.len());
    for one in single {
        let (patch, odd) = repaired(one.patch.as_deref());
        for oddity in odd {
            let ids = findings.entry(Finding::Odd(oddity)).or_default();
            ids.push(one.id.clone());
        }
        predictions.push(Prediction {
            instance_id: one.id.clone(),
            model_name_or_path: model.to_owned(),
            model_patch: patch.into_owned(),
        });
    }
    let has: HashSet<&InstanceId> = predictions.iter().map(|one| &one.instance_id).collect();
    let missing: Vec<InstanceId> = ids.iter().filter(|id| !has.contains(id)).cloned().collect();
    if !missing.is_empty() {
        findings.insert(Finding::Missing, missing);
    }
    Ok((predictions, findings))
}

/// Checks that all are for instances of the dataset, whose ids are `ids`.
///
/// # Errors
/// One is for another instance.
pub fn check_known(given: &[Given], ids: &[InstanceId]) -> Result<(), Error> {
    let known: HashSet<&InstanceId> = ids.iter().collect();
    let unknown: Vec<&Given> = given
        .iter()
        .filter(|one| !known.contains(&one.id))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let shown = unknown.iter().take(SHOWN).map(|one| {
        let nearest = nearest(one.id.as_str(), ids);
        let nearest = nearest.map_or_else(String::new, |id| format!(", nearest is `{id}`"));
        format!("`{}` ({}{nearest})", one.id, one.place)
    });
    Err(Error::Unknown {
        count: unknown.len(),
        shown: shown.collect(),
    })
}

/// The id that looks most like `wanted`, where one does.
fn nearest<'a>(wanted: &str, ids: &'a [InstanceId]) -> Option<&'a InstanceId> {
    let similarity = |id: &InstanceId| strsim::jaro_winkler(wanted, id.as_str());
    ids.iter()
        .map(|id| (similarity(id), id))
        .filter(|(similarity, _)| *similarity > 0.9)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, id)| id)
}

/// One for each instance.
fn single<'a>(
    given: &'a [Given],
    duplicates: Duplicates,
    findings: &mut Findings,
) -> Result<Vec<&'a Given>, Error> {
    let mut places: HashMap<&InstanceId, usize> = HashMap::new();
    let mut single: Vec<&Given> = Vec::new();
    let mut differ = Vec::new();
    let mut repeated = HashSet::new();
    for one in given {
        let Some(&place) = places.get(&one.id) else {
            places.insert(&one.id, single.len());
            single.push(one);
            continue;
        };
        let Some(first) = single.get_mut(place) else {
            continue;
        };
        if first.patch != one.patch && differ.len() < SHOWN {
            differ.push(format!("`{}` ({}, {})", one.id, first.place, one.place));
        }
        if duplicates == Duplicates::Last {
            *first = one;
        }
        if repeated.insert(&one.id) {
            let ids = findings.entry(Finding::Repeated).or_default();
            ids.push(one.id.clone());
        }
    }
    if duplicates == Duplicates::Refuse && !differ.is_empty() {
        return Err(Error::Duplicate { shown: differ });
    }
    Ok(single)
}

impl Finding {
    /// One line for the instances that it is of, of `all` in the dataset.
    pub fn line(&self, ids: &[InstanceId], all: usize) -> String {
        let count = ids.len();
        let predictions = crate::ui::count(count, "prediction");
        let named: Vec<_> = ids
            .iter()
            .take(SHOWN)
            .map(|id| escape::short(id.as_str(), 60))
            .collect();
        let more = count.saturating_sub(SHOWN);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        let named = named.join(", ");
        match self {
            Self::Odd(oddity) => {
                format!(
                    "{predictions} whose patch {} ({named}{more})",
                    oddity.text()
                )
            }
            Self::Repeated => {
                let instances = crate::ui::count(count, "instance");
                format!("{instances} with several predictions: one is taken ({named}{more})")
            }
            Self::Missing => {
                let instances = crate::ui::count(all, "instance");
                format!(
                    "no prediction for {count} of {instances}: they count in the rate over all ({named}{more})"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n";

    fn given(id: &str, patch: Option<&str>, place: usize) -> Given {
        Given {
            id: InstanceId::new(id),
            model: None,
            patch: patch.map(str::to_owned),
            place: format!("line {place}"),
        }
    }

    fn ids(names: &[&str]) -> Vec<InstanceId> {
        names.iter().map(|name| InstanceId::new(*name)).collect()
    }

    #[test]
    fn unknown_instances_are_named_with_the_nearest() {
        let all = [
            given("a__a-1", None, 1),
            given("django__django-1109", None, 2),
        ];
        let error = check_known(&all, &ids(&["a__a-1", "django__django-11099"]));
        assert_eq!(
            error.unwrap_err().to_string(),
            "a prediction is for an instance that is not in the dataset: `django__django-1109` (line 2, nearest is `django__django-11099`)"
        );
    }

    #[test]
    fn duplicates_are_refused_unless_they_are_the_same_or_one_is_asked_for() {
        let twice = [
            given("a", Some(DIFF), 1),
            given("b", None, 2),
            given("a", Some(""), 3),
        ];
        let known = ids(&["a", "b"]);
        let take = |given: &[Given], rule| matched(given, &known, "m", rule);
        assert_eq!(
            take(&twice, Duplicates::Refuse).unwrap_err().to_string(),
            "predictions that differ are for the same instance: `a` (line 1, line 3)"
        );
        let patches = |rule| {
            let (taken, _) = take(&twice, rule).unwrap();
            taken
                .iter()
                .map(|one| one.model_patch.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(patches(Duplicates::First), [DIFF, ""]);
        assert_eq!(patches(Duplicates::Last), ["", ""]);
        let same = [given("a", Some(DIFF), 1), given("a", Some(DIFF), 2)];
        let (taken, findings) = take(&same, Duplicates::Refuse).unwrap();
        assert_eq!(taken.len(), 1);
        assert_eq!(findings[&Finding::Repeated], ids(&["a"]));
        assert_eq!(findings[&Finding::Missing], ids(&["b"]));
    }

    #[test]
    fn what_is_odd_is_told_by_instance() {
        let all = [
            given("a", None, 1),
            given("b", Some(" \n"), 2),
            given("c", Some(DIFF), 3),
        ];
        let (_, findings) = matched(&all, &ids(&["a", "b", "c"]), "m", Duplicates::Refuse).unwrap();
        let lines: Vec<String> = findings
            .iter()
            .map(|(what, ids)| what.line(ids, 3))
            .collect();
        assert_eq!(
            lines,
            [
                "1 prediction whose patch is null: nothing is run (a)",
                "1 prediction whose patch has nothing but white space: it does not apply (b)",
            ]
        );
    }
}
