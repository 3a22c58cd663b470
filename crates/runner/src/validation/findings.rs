//! What the trials of an instance say against it.

mod group;

use std::collections::BTreeSet;

use schema::report::GradingReport;
use schema::validation::{Finding, Reason};
use schema::{Bucket, FailureKind};

use self::group::{Group, groups};
use super::{Came, Tried};
use crate::settings::TrialPatch;

/// What speaks against the instance, the gravest first.
pub(super) fn of(tried: &[Tried]) -> Vec<Finding> {
    let groups = groups(tried);
    let mut findings = without_verdict(tried);
    for group in groups.iter().filter(|group| !group.reports.is_empty()) {
        findings.extend(match group.patch {
            TrialPatch::Known => known(group),
            TrialPatch::Empty => empty(group),
        });
        findings.extend(flakes(group));
    }
    for patch in TrialPatch::ALL {
        findings.extend(between_profiles(&groups, patch));
    }
    findings.sort_by_key(|finding| finding.reason);
    findings
}

/// Tests that had to turn and pass on the unchanged tree in every trial of it.
pub(super) fn passing_before(tried: &[Tried]) -> Vec<String> {
    let groups = groups(tried);
    let reports = groups
        .iter()
        .filter(|group| group.patch == TrialPatch::Empty)
        .flat_map(|group| &group.reports);
    let mut sets = reports.map(|report| {
        let names = report.verdict.fail_to_pass.success.iter();
        names.cloned().collect::<BTreeSet<String>>()
    });
    let first = sets.next().unwrap_or_default();
    let common = sets.fold(first, |common, set| &common & &set);
    common.into_iter().collect()
}

fn finding(reason: Reason, profile: Option<String>) -> Finding {
    Finding {
        reason,
        profile,
        tests: Vec::new(),
        missing: Vec::new(),
        detail: None,
    }
}

/// Trials that came to no verdict: each way once.
fn without_verdict(tried: &[Tried]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for Tried { trial, came } in tried {
        let found = match came {
            Came::Verdict(_) => continue,
            Came::NoPatch => finding(Reason::NoKnownPatch, None),
            Came::NotRun => finding(Reason::NotRun, None),
            // What the checks of a grading find is the row's own.
            Came::Failed { kind, message } if kind == FailureKind::Check.name() => Finding {
                detail: Some(message.clone()),
                ..finding(Reason::Ungradable, None)
            },
            Came::Failed { kind, message } => Finding {
                detail: Some(format!("{}: {kind}: {message}", trial.patch.name())),
                ..finding(
                    Reason::Infrastructure,
                    Some(trial.profile.name().to_owned()),
                )
            },
        };
        if !findings.contains(&found) {
            findings.push(found);
        }
    }
    findings
}

/// The known patch has to resolve the issue at least once; how often it does not is for [`flakes`].
fn known(group: &Group<'_>) -> Option<Finding> {
    if group.resolved() != Some(false) {
        return None;
    }
    let report = group.reports.first()?;
    let reason = match report.bucket {
        Bucket::PatchRejected => Reason::PatchRejected,
        Bucket::Resolved
        | Bucket::Unresolved
        | Bucket::Partial
        | Bucket::EmptyPatch
        | Bucket::Timeout
        | Bucket::ImageMissing
        | Bucket::InfraFailure
        | Bucket::NoTestsRan
        | Bucket::Tampered => Reason::NeverResolves,
    };
    Some(Finding {
        tests: report.failed.clone(),
        missing: report.missing.clone(),
        detail: Some(told(report)),
        ..finding(reason, Some(group.profile()))
    })
}

fn told(report: &GradingReport) -> String {
    let verdict = &report.verdict;
    let why = verdict.tamper_reason.as_ref().or(verdict.note.as_ref());
    match why {
        Some(why) => format!("{}: {why}", report.bucket),
        None => report.bucket.to_string(),
    }
}

fn empty(group: &Group<'_>) -> Option<Finding> {
    if group.resolved() != Some(true) {
        return None;
    }
    let report = group.reports.first()?;
    Some(Finding {
        tests: report.verdict.fail_to_pass.success.clone(),
        ..finding(Reason::ResolvesEmpty, Some(group.profile()))
    })
}

/// Repetitions that do not come out alike.
fn flakes(group: &Group<'_>) -> Option<Finding> {
    let sides = group.sides();
    let tests = sides.iter().filter(|(_, side)| side.is_none());
    let tests: Vec<String> = tests.map(|(name, _)| (*name).to_owned()).collect();
    let buckets: Vec<&str> = group.reports.iter().map(|one| one.bucket.name()).collect();
    let first = buckets.first();
    if tests.is_empty() && buckets.iter().all(|bucket| Some(bucket) == first) {
        return None;
    }
    Some(Finding {
        tests,
        detail: Some(format!("{}: {}", group.patch.name(), buckets.join(", "))),
        ..finding(Reason::Flakes, Some(group.profile()))
    })
}

/// What comes out one way under one profile every time, and another way under another.
fn between_profiles(groups: &[Group<'_>], patch: TrialPatch) -> Vec<Finding> {
    let mut own = groups
        .iter()
        .filter(|group| group.patch == patch && !group.reports.is_empty());
    let Some(first) = own.next() else {
        return Vec::new();
    };
    own.filter_map(|other| difference(first, other)).collect()
}

fn difference(one: &Group<'_>, other: &Group<'_>) -> Option<Finding> {
    let (here, there) = (one.sides(), other.sides());
    let differing = here.iter().filter(|(name, side)| {
        let other = there.get(**name).copied().flatten();
        side.is_some() && other.is_some() && **side != other
    });
    let tests: Vec<String> = differing.map(|(name, _)| (*name).to_owned()).collect();
    let bits = (one.resolved(), other.resolved());
    let resolved = matches!(bits, (Some(one), Some(other)) if one != other);
    if tests.is_empty() && !resolved {
        return None;
    }
    let side = |group: &Group<'_>| {
        let bucket = group.reports.first().map_or("", |one| one.bucket.name());
        format!("{bucket} under {}", group.profile())
    };
    Some(Finding {
        tests,
        detail: Some(format!(
            "{}: {}, {}",
            one.patch.name(),
            side(one),
            side(other)
        )),
        ..finding(Reason::DiffersBetweenProfiles, None)
    })
}

#[cfg(test)]
mod tests;
