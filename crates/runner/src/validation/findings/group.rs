//! The repetitions of one patch under one profile.

use std::collections::{BTreeMap, BTreeSet};

use schema::TestStatus;
use schema::grading::Verdict;
use schema::report::GradingReport;

use crate::settings::{ProfileChoice, TrialPatch};
use crate::validation::{Came, Tried};

/// The repetitions of one patch under one profile that came to a verdict.
pub(super) struct Group<'a> {
    pub(super) patch: TrialPatch,
    choice: ProfileChoice,
    pub(super) reports: Vec<&'a GradingReport>,
}

/// The trials by patch and profile.
pub(super) fn groups(tried: &[Tried]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for Tried { trial, came } in tried {
        let report = match came {
            Came::Verdict(report) => Some(&**report),
            Came::Failed { .. } | Came::NoPatch | Came::NotRun => None,
        };
        let same = groups
            .iter_mut()
            .find(|group| (group.patch, group.choice) == (trial.patch, trial.profile));
        match same {
            Some(group) => group.reports.extend(report),
            None => groups.push(Group {
                patch: trial.patch,
                choice: trial.profile,
                reports: report.into_iter().collect(),
            }),
        }
    }
    groups
}

impl Group<'_> {
    /// The profile that the gradings had, where one was chosen for the instance.
    pub(super) fn profile(&self) -> String {
        let had = self.reports.first().map(|report| report.profile.name());
        had.unwrap_or_else(|| self.choice.name()).to_owned()
    }

    /// Whether every repetition, or none, resolved the issue; `None` where they differ or there is none.
    pub(super) fn resolved(&self) -> Option<bool> {
        alike(self.reports.iter().map(|report| report.verdict.resolved))
    }

    /// Whether each test did what it should in every repetition, or in none; `None` where they differ.
    pub(super) fn sides(&self) -> BTreeMap<&str, Option<bool>> {
        let all: Vec<BTreeMap<&str, bool>> =
            self.reports.iter().map(|one| sides(&one.verdict)).collect();
        let names: BTreeSet<&str> = all.iter().flat_map(|one| one.keys().copied()).collect();
        let side = |name: &str| {
            alike(
                all.iter()
                    .map(|one| one.get(name).copied().unwrap_or_default()),
            )
        };
        names.into_iter().map(|name| (name, side(name))).collect()
    }
}

/// What all of them are.
fn alike(mut bits: impl Iterator<Item = bool>) -> Option<bool> {
    let first = bits.next()?;
    bits.all(|bit| bit == first).then_some(first)
}

/// Whether each expected test did what it should; whether each test at all passed, where no list says what is expected.
fn sides(verdict: &Verdict) -> BTreeMap<&str, bool> {
    let lists = [&verdict.fail_to_pass, &verdict.pass_to_pass];
    let expected = lists.iter().flat_map(|tally| {
        let did = tally.success.iter().map(|name| (name.as_str(), true));
        did.chain(tally.failure.iter().map(|name| (name.as_str(), false)))
    });
    let expected: BTreeMap<&str, bool> = expected.collect();
    if !expected.is_empty() {
        return expected;
    }
    let statuses = verdict.statuses.iter();
    statuses
        .map(|(name, status)| (name.as_str(), passed(*status)))
        .collect()
}

fn passed(status: TestStatus) -> bool {
    match status {
        TestStatus::Passed | TestStatus::Xfail | TestStatus::Xpass => true,
        TestStatus::Failed | TestStatus::Error | TestStatus::Skipped => false,
    }
}
