//! What the results of the tests say about a patch.

use std::collections::{BTreeMap, BTreeSet};

use schema::grading::{
    Criterion, EvalType, GradingSpec, LogShape, MatchCounts, OfficialVerdict, PatchApplication,
    Resolution, TestStatus, TestTally, Verdict,
};

use crate::criterion::{is_met, may_be_missing, official};
use crate::evaluation::{Kind, resolution};
use crate::log::LogParts;
use crate::parse::{Context, UnknownParser, parser};
use crate::reading::{Reading, ran_silently};
use crate::results::{Match, Results};
use crate::tamper::late_results;

/// What happened when a patch was graded.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// What became of the patch.
    pub application: PatchApplication,
    /// The log of the evaluation script; `None` when it was not run.
    pub log: Option<&'a LogParts>,
    /// Whether the script was stopped because its time was over.
    pub timed_out: bool,
    /// Exit code of the script as the sandbox saw it, outside of the log.
    pub exit_code: Option<i32>,
}

/// Says what came of a patch: officially, to the letter, by the rules of the dataset's own harness, in the generation that the specification
/// names; and beside that by the same rules with whole names, so that a row may name its tests either way.
///
/// By these a skipped test is no fix; of several results of a name the worst counts; and there must be a result. A patch is not resolved when the
/// log was tampered with: marks that occur twice, an exit code that is not the one in the log.
///
/// # Errors
/// The specification names a parser that we do not have.
pub fn verdict(spec: &GradingSpec, evidence: &Evidence<'_>) -> Result<Verdict, UnknownParser> {
    let parser = parser(&spec.log_parser)?;
    let mut verdict = unread(spec, evidence);
    let log = match (evidence.application, evidence.log) {
        (PatchApplication::Rejected, _) => {
            verdict.note = Some("the patch does not apply".to_owned());
            return Ok(verdict);
        }
        (_, None) => {
            verdict.note = Some("the tests were not run".to_owned());
            return Ok(verdict);
        }
        (_, Some(log)) => log,
    };
    verdict.log_shape = log.shape;
    verdict.exit_code = log.exit_code().or(evidence.exit_code);
    let reading = Reading::new(log, parser, &Context::from(spec));
    let mut objection = None;
    if !evidence.timed_out && reading.is_officially_readable(spec.criterion) {
        let official = official(spec, &reading);
        verdict.official = official.verdict;
        objection = official.objection;
    }
    verdict.official_resolved = verdict.official.resolution == Resolution::Full;
    let results = Results::new(&reading);
    verdict.statuses = results.statuses();
    look_up(&mut verdict, spec, &results);
    if let Err(note) = readable(spec, log, evidence, &results) {
        verdict.note = Some(note);
        return Ok(verdict);
    }
    verdict.log_readable = true;
    let met = resolution(&verdict.fail_to_pass, &verdict.pass_to_pass) == Resolution::Full;
    let doubts = doubts(&verdict, spec, log, &results);
    if met && objection.is_none() && !nothing_turned(&verdict, spec) {
        verdict.tamper_reason = tampering(spec, log, evidence);
        verdict.resolved = verdict.tamper_reason.is_none();
    }
    let notes = reading.notes().into_iter().chain(objection).chain(doubts);
    let notes: Vec<String> = notes.collect();
    verdict.note = (!notes.is_empty()).then(|| notes.join("; "));
    Ok(verdict)
}

/// The verdict on a log that nobody has read.
fn unread(spec: &GradingSpec, evidence: &Evidence<'_>) -> Verdict {
    let all_failed = |tests: &[String]| TestTally {
        success: Vec::new(),
        failure: tests.to_vec(),
    };
    Verdict {
        resolved: false,
        official_resolved: false,
        tamper_reason: None,
        application: evidence.application,
        timed_out: evidence.timed_out,
        log_readable: false,
        log_shape: LogShape::Absent,
        official: OfficialVerdict {
            harness: spec.harness,
            ..OfficialVerdict::default()
        },
        matches: MatchCounts::default(),
        exit_code: evidence.exit_code,
        fail_to_pass: all_failed(&spec.fail_to_pass),
        pass_to_pass: all_failed(&spec.pass_to_pass),
        absent: BTreeSet::new(),
        statuses: BTreeMap::new(),
        note: None,
    }
}

/// Sorts the expected tests by what they did, and says how each was found.
fn look_up(verdict: &mut Verdict, spec: &GradingSpec, results: &Results<'_>) {
    let mut tally = |tests: &[String], kind| {
        let mut tally = TestTally::default();
        for test in tests {
            let found = found(spec.criterion, results, test);
            Match::count(found.map(|(_, rule)| rule), &mut verdict.matches);
            if found.is_none() {
                verdict.absent.insert(test.clone());
            }
            let list = if is_met(spec, kind, found.map(|(status, _)| status)) {
                &mut tally.success
            } else {
                &mut tally.failure
            };
            list.push(test.clone());
        }
        tally
    };
    let fail_to_pass = tally(&spec.fail_to_pass, Kind::MustTurn);
    let pass_to_pass = tally(&spec.pass_to_pass, Kind::MustStay);
    (verdict.fail_to_pass, verdict.pass_to_pass) = (fail_to_pass, pass_to_pass);
}

/// What a test did. R2E-Gym's names leave out the file, so several tests may have one: what is expected of it is what the last of them did.
fn found(criterion: Criterion, results: &Results<'_>, test: &str) -> Option<(TestStatus, Match)> {
    match criterion {
        Criterion::R2eGym => results.last(test),
        Criterion::SweBench
        | Criterion::SweBenchLive
        | Criterion::SweBenchPro
        | Criterion::MultiSweBench
        | Criterion::SweSmith => results.status(test),
    }
}

/// Whether tests had to turn and the log shows none of them: no fix, also for a dataset that takes what is missing for passed.
fn nothing_turned(verdict: &Verdict, spec: &GradingSpec) -> bool {
    let absent = |test: &String| verdict.absent.contains(test);
    may_be_missing(spec.criterion)
        && !spec.fail_to_pass.is_empty()
        && spec.fail_to_pass.iter().all(absent)
}

/// What makes a log less than clear, though it can be read.
fn doubts(
    verdict: &Verdict,
    spec: &GradingSpec,
    log: &LogParts,
    results: &Results<'_>,
) -> Vec<String> {
    let mut doubts = Vec::new();
    if verdict.application == PatchApplication::AlreadyApplied {
        doubts.push("what the patch does was there already".to_owned());
    }
    let mut expected = spec.fail_to_pass.iter().chain(&spec.pass_to_pass);
    let both = expected.find(|test| results.is_both(test));
    if let Some(test) = both.filter(|_| spec.criterion != Criterion::R2eGym) {
        doubts.push(format!("`{test}` is reported both as passed and as failed"));
    }
    if nothing_turned(verdict, spec) {
        doubts.push("the log shows no test that had to turn".to_owned());
    }
    doubts.extend(silent_failure(log, results).filter(|_| spec.criterion != Criterion::SweBench));
    doubts
}

/// A failure that no test tells of.
fn silent_failure(log: &LogParts, results: &Results<'_>) -> Option<String> {
    let code = log.test_exit.filter(|code| *code != 0)?;
    (!results.any_failed())
        .then(|| format!("the tests ended with exit code {code}, but the log shows no failed test"))
}

/// Whether the log is that of a run of the tests; why not, for people.
fn readable(
    spec: &GradingSpec,
    log: &LogParts,
    evidence: &Evidence<'_>,
    results: &Results<'_>,
) -> Result<(), String> {
    if evidence.timed_out {
        return Err("the tests were stopped because their time was over".to_owned());
    }
    if log.tests().is_none() {
        return Err("the script did not get to the end of the tests".to_owned());
    }
    if results.is_empty() {
        // Where only failures are told, a run without any says nothing of tests.
        let silent = spec.eval_type == EvalType::FailOnly && ran_silently(log.whole());
        return if silent {
            Ok(())
        } else {
            Err("no test result in the log".to_owned())
        };
    }
    // Only SWE-bench's harness has this gate: other datasets' scripts end as they like.
    match silent_failure(log, results) {
        Some(failure) if spec.criterion == Criterion::SweBench => Err(failure),
        Some(_) | None => Ok(()),
    }
}

/// Why a log that says "resolved" is not believed.
fn tampering(spec: &GradingSpec, log: &LogParts, evidence: &Evidence<'_>) -> Option<String> {
    if log.repeated_marks {
        return Some("the log holds a mark of the script twice".to_owned());
    }
    if let Some(test) = late_results(spec, log) {
        return Some(format!(
            "something that outlived the script reported `{test}` after the script had ended"
        ));
    }
    match (log.script_exit, evidence.exit_code) {
        (Some(logged), Some(seen)) if logged != seen => Some(format!(
            "the script ended with exit code {seen}, but the log says {logged}"
        )),
        _ => None,
    }
}
