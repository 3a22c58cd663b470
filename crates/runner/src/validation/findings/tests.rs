use schema::grading::{Harness, PatchApplication, Profile, TestTally};
use schema::{Bucket, Verdict};

use super::*;
use crate::settings::{ProfileChoice, Trial};

/// A grading whose tests `value` and `keep` did, or did not, what they should.
fn report(profile: Profile, value: bool, keep: bool) -> GradingReport {
    let tally = |name: &str, did: bool| {
        let names = vec![name.to_owned()];
        let none = Vec::new();
        let (success, failure) = if did { (names, none) } else { (none, names) };
        TestTally { success, failure }
    };
    let resolved = value && keep;
    let failed = [("value", value), ("keep", keep)];
    let failed = failed.iter().filter(|(_, did)| !did);
    GradingReport {
        verdict: Verdict {
            resolved,
            official_resolved: resolved,
            tamper_reason: None,
            application: PatchApplication::Applied,
            timed_out: false,
            log_readable: true,
            log_shape: schema::grading::LogShape::Marked,
            official: schema::grading::OfficialVerdict {
                harness: Harness::V5,
                ..Default::default()
            },
            matches: schema::grading::MatchCounts::default(),
            exit_code: Some(0),
            fail_to_pass: tally("value", value),
            pass_to_pass: tally("keep", keep),
            absent: BTreeSet::new(),
            statuses: std::collections::BTreeMap::new(),
            note: None,
        },
        bucket: if resolved {
            Bucket::Resolved
        } else {
            Bucket::Unresolved
        },
        partial: None,
        failed: failed.map(|(name, _)| (*name).to_owned()).collect(),
        missing: Vec::new(),
        sign: None,
        profile,
        unmet: Vec::new(),
        log_parser: "tap".to_owned(),
        grader: "1".to_owned(),
        cache_key: None,
        cached: false,
        judged_again: None,
        examination: None,
        seconds: 0.0,
    }
}

fn tried(patch: TrialPatch, profile: ProfileChoice, repetition: u32, came: Came) -> Tried {
    Tried {
        trial: Trial {
            patch,
            profile,
            repetition,
        },
        came,
    }
}

fn verdict(patch: TrialPatch, profile: Profile, repetition: u32, tests: (bool, bool)) -> Tried {
    let choice = match profile {
        Profile::Official => ProfileChoice::Official,
        Profile::Sealed => ProfileChoice::Sealed,
    };
    let report = Box::new(report(profile, tests.0, tests.1));
    tried(patch, choice, repetition, Came::Verdict(report))
}

fn reasons(tried: &[Tried]) -> Vec<Reason> {
    of(tried).iter().map(|finding| finding.reason).collect()
}

const KNOWN: TrialPatch = TrialPatch::Known;
const EMPTY: TrialPatch = TrialPatch::Empty;

#[test]
fn nothing_speaks_against_an_instance_that_comes_out_as_it_should_every_time() {
    let sound = [
        verdict(KNOWN, Profile::Sealed, 1, (true, true)),
        verdict(EMPTY, Profile::Sealed, 1, (false, true)),
        verdict(KNOWN, Profile::Official, 1, (true, true)),
        verdict(EMPTY, Profile::Official, 1, (false, true)),
        verdict(KNOWN, Profile::Sealed, 2, (true, true)),
    ];
    assert_eq!(of(&sound), []);
    assert!(passing_before(&sound).is_empty());
}

#[test]
fn what_never_resolves_names_the_tests_that_fail() {
    let findings = of(&[
        verdict(KNOWN, Profile::Sealed, 1, (true, false)),
        verdict(KNOWN, Profile::Sealed, 2, (true, false)),
        verdict(EMPTY, Profile::Sealed, 1, (false, true)),
    ]);
    let [one] = findings.as_slice() else {
        panic!("{findings:?}");
    };
    assert_eq!(one.reason, Reason::NeverResolves);
    assert_eq!(
        (one.profile.as_deref(), &*one.tests),
        (Some("sealed"), &["keep".to_owned()][..])
    );
}

#[test]
fn a_known_patch_that_does_not_apply_is_told_as_that() {
    let mut rejected = report(Profile::Sealed, false, false);
    rejected.bucket = Bucket::PatchRejected;
    let came = Came::Verdict(Box::new(rejected));
    assert_eq!(
        reasons(&[tried(KNOWN, ProfileChoice::Sealed, 1, came)]),
        [Reason::PatchRejected]
    );
}

#[test]
fn an_unchanged_tree_that_resolves_names_the_tests_that_pass() {
    let both = [
        verdict(KNOWN, Profile::Sealed, 1, (true, true)),
        verdict(EMPTY, Profile::Sealed, 1, (true, true)),
    ];
    let findings = of(&both);
    assert_eq!(findings[0].reason, Reason::ResolvesEmpty);
    assert_eq!(findings[0].tests, ["value"]);
    assert_eq!(passing_before(&both), ["value"]);
}

#[test]
fn repetitions_that_differ_flake_and_are_no_difference_of_profiles() {
    let findings = of(&[
        verdict(KNOWN, Profile::Sealed, 1, (true, true)),
        verdict(KNOWN, Profile::Sealed, 2, (true, false)),
        verdict(KNOWN, Profile::Official, 1, (true, true)),
    ]);
    let [one] = findings.as_slice() else {
        panic!("{findings:?}");
    };
    assert_eq!(
        (one.reason, &*one.tests),
        (Reason::Flakes, &["keep".to_owned()][..])
    );
}

#[test]
fn a_time_that_is_over_now_and_then_is_a_flake_too() {
    let mut late = report(Profile::Sealed, true, true);
    late.bucket = Bucket::Timeout;
    late.verdict.resolved = false;
    let findings = reasons(&[
        verdict(KNOWN, Profile::Sealed, 1, (true, true)),
        tried(
            KNOWN,
            ProfileChoice::Sealed,
            2,
            Came::Verdict(Box::new(late)),
        ),
    ]);
    assert_eq!(findings, [Reason::Flakes]);
}

#[test]
fn profiles_that_differ_every_time_are_told_with_the_tests() {
    let findings = of(&[
        verdict(KNOWN, Profile::Official, 1, (true, true)),
        verdict(KNOWN, Profile::Official, 2, (true, true)),
        verdict(KNOWN, Profile::Sealed, 1, (true, false)),
        verdict(KNOWN, Profile::Sealed, 2, (true, false)),
    ]);
    let told: Vec<Reason> = findings.iter().map(|one| one.reason).collect();
    assert_eq!(
        told,
        [Reason::NeverResolves, Reason::DiffersBetweenProfiles]
    );
    assert_eq!(findings[1].tests, ["keep"]);
    let detail = findings[1].detail.as_deref().unwrap_or_default();
    assert_eq!(
        detail,
        "known patch: resolved under official, unresolved under sealed"
    );
}

#[test]
fn what_was_not_graded_is_told_once_and_says_nothing_else() {
    let lost = || Came::Failed {
        kind: "environment:lost".to_owned(),
        message: "gone".to_owned(),
    };
    let findings = reasons(&[
        tried(KNOWN, ProfileChoice::Sealed, 1, lost()),
        tried(KNOWN, ProfileChoice::Sealed, 2, lost()),
        tried(EMPTY, ProfileChoice::Sealed, 1, Came::NotRun),
    ]);
    assert_eq!(findings, [Reason::Infrastructure, Reason::NotRun]);
    let wrong = Came::Failed {
        kind: "check".to_owned(),
        message: "no tests".to_owned(),
    };
    assert_eq!(
        reasons(&[tried(KNOWN, ProfileChoice::Sealed, 1, wrong)]),
        [Reason::Ungradable]
    );
    let none = [
        tried(KNOWN, ProfileChoice::Sealed, 1, Came::NoPatch),
        verdict(EMPTY, Profile::Sealed, 1, (false, true)),
    ];
    assert_eq!(reasons(&none), [Reason::NoKnownPatch]);
}
