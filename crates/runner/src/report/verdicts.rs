//! The verdicts of a run in sum, and instance by instance.

use std::collections::BTreeMap;

use schema::Bucket;
use schema::InstanceId;
use schema::quarantine::Quarantine;
use schema::report::{GradingSummary, InstanceReport, WithoutQuarantined};

use super::row::Row;
use crate::error::Error;
use crate::store::selection::Selection;

/// Sums up the verdicts of rows; `None` when nothing was graded. `instances` are all that the report lists.
pub(super) fn sum(rows: &[Row], instances: &[InstanceReport]) -> Option<GradingSummary> {
    let graded = |row: &&Row| row.grade.is_some() || row.verdict == "error";
    rows.iter().find(graded)?;
    let grades = || rows.iter().filter_map(|row| row.grade.as_ref());
    let mut buckets: BTreeMap<Bucket, usize> =
        Bucket::ALL.into_iter().map(|bucket| (bucket, 0)).collect();
    for bucket in rows.iter().filter_map(|row| row.bucket) {
        *buckets.entry(bucket).or_default() += 1;
    }
    let mut profiles = BTreeMap::new();
    for grade in grades() {
        *profiles.entry(grade.profile).or_default() += 1;
    }
    let submitted: usize = buckets.values().sum();
    let all = instances.len();
    let incomplete = |one: &&InstanceReport| one.bucket.is_none();
    let resolved = buckets.get(&Bucket::Resolved).copied().unwrap_or_default();
    let official = grades().filter(|grade| grade.official_resolved).count();
    Some(GradingSummary {
        harness: grades()
            .next_back()
            .map(|grade| grade.harness)
            .unwrap_or_default(),
        profiles,
        incomplete: instances.iter().filter(incomplete).count(),
        buckets,
        resolved_of_submitted: grade::stats::rate(resolved, submitted),
        resolved_of_all: grade::stats::rate(resolved, all),
        official_resolved_of_submitted: grade::stats::rate(official, submitted),
        partial_mean: grade::stats::mean(
            grades()
                .filter(|grade| grade.bucket() == Bucket::Partial)
                .filter_map(|grade| grade.partial),
        ),
        cached: grades().filter(|grade| grade.cached).count(),
        seconds: rows.iter().filter_map(|row| row.seconds_grade).sum(),
        without_quarantined: None,
    })
}

/// Marks the instances in quarantine.
pub(super) fn mark(instances: &mut [InstanceReport], quarantine: &Quarantine) {
    for one in instances {
        let entry = quarantine.find(&one.instance_id);
        one.quarantined = entry.map(|entry| entry.reason.clone());
    }
}

/// The rates without those that are marked.
pub(super) fn without_quarantined(instances: &[InstanceReport]) -> WithoutQuarantined {
    let left = || instances.iter().filter(|one| one.quarantined.is_none());
    let submitted = left().filter(|one| one.bucket.is_some()).count();
    let resolved = left()
        .filter(|one| one.bucket == Some(Bucket::Resolved))
        .count();
    let official = left()
        .filter(|one| one.official_resolved == Some(true))
        .count();
    WithoutQuarantined {
        quarantined: instances.len() - left().count(),
        resolved_of_submitted: grade::stats::rate(resolved, submitted),
        resolved_of_all: grade::stats::rate(resolved, left().count()),
        official_resolved_of_submitted: grade::stats::rate(official, submitted),
    }
}

/// Checks that every instance is counted once: in a bucket, or as incomplete.
///
/// # Errors
/// [`Error::Sums`].
pub(super) fn check(grading: &GradingSummary) -> Result<(), Error> {
    let counted = grading.buckets.values().sum::<usize>() + grading.incomplete;
    let all = grading.resolved_of_all.of;
    if counted == all {
        Ok(())
    } else {
        Err(Error::Sums { counted, all })
    }
}

/// Every instance of `selection`, and those that only the journals know; samples from 1 to `samples`.
pub fn instances(rows: &[Row], selection: &Selection, samples: u32) -> Vec<InstanceReport> {
    let mut all: BTreeMap<(InstanceId, u32), InstanceReport> = BTreeMap::new();
    for id in selection.keys() {
        for sample in 1..=samples.max(1) {
            all.insert((id.clone(), sample), incomplete(id, sample));
        }
    }
    for row in rows {
        all.insert((row.instance_id.clone(), row.sample), instance(row));
    }
    all.into_values().collect()
}

fn incomplete(id: &InstanceId, sample: u32) -> InstanceReport {
    InstanceReport {
        instance_id: id.clone(),
        sample,
        bucket: None,
        official_resolved: None,
        partial: None,
        reason: Some("there is no prediction".to_owned()),
        sign: None,
        failed_tests: 0,
        missing_tests: 0,
        cached: false,
        quarantined: None,
        profile: None,
        seconds: None,
    }
}

fn instance(row: &Row) -> InstanceReport {
    let grade = row.grade.as_ref();
    let error = Some(&row.error).filter(|error| !error.is_empty());
    InstanceReport {
        bucket: row.bucket,
        official_resolved: row.official_resolved,
        partial: grade.and_then(|grade| grade.partial),
        reason: reason(row).or_else(|| error.cloned()),
        sign: grade.and_then(|grade| grade.sign.clone()),
        failed_tests: grade.map_or(0, |grade| grade.failed_tests),
        missing_tests: grade.map_or(0, |grade| grade.missing_tests),
        cached: grade.is_some_and(|grade| grade.cached),
        profile: row.profile,
        seconds: row.seconds_grade,
        ..incomplete(&row.instance_id, row.sample)
    }
}

/// Why an instance is not resolved, where its verdict says so.
fn reason(row: &Row) -> Option<String> {
    let Some(grade) = &row.grade else {
        return row.error.is_empty().then(|| "it was not graded".to_owned());
    };
    if grade.tamper_reason.is_some() || grade.note.is_some() || grade.resolved {
        let given = grade.tamper_reason.as_ref().or(grade.note.as_ref());
        return given.cloned();
    }
    let (failed, missing) = (grade.failed_tests, grade.missing_tests);
    let tests = |count| crate::ui::count(count, "expected test");
    match (failed, missing) {
        (0, 0) => None,
        (failed, 0) => Some(format!("{} failed", tests(failed))),
        (0, missing) => Some(format!("{} not in the log", tests(missing))),
        (failed, missing) => Some(format!(
            "{} failed, {missing} not in the log",
            tests(failed)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests;
    use super::*;
    use crate::report::rows;

    #[test]
    fn what_is_counted_twice_or_not_at_all_is_noticed() {
        let mut rows = rows(&tests::ledger(), &tests::repositories());
        let absent = [(
            InstanceId::new("g__absent-7"),
            crate::store::selection::Selected::default(),
        )];
        let listed = instances(&rows, &absent.into(), 1);
        let grading = sum(&rows, &listed).unwrap();
        assert!(check(&grading).is_ok());
        // One was cancelled, one was never tried.
        assert_eq!((grading.incomplete, listed.len()), (3, 7));
        rows.push(rows[0].clone());
        let error = check(&sum(&rows, &listed).unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the report does not add up: 8 instances counted, 7 listed"
        );
    }
}
