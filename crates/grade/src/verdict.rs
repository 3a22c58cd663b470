//! What the results of the tests say about a patch.

use schema::grading::{
    EvalType, GradingSpec, LogShape, MatchCounts, OfficialVerdict, PatchApplication, Resolution,
    TestStatus, TestTally, Verdict,
};

use crate::evaluation::{Expected, Kind, evaluate, resolution};
use crate::log::LogParts;
use crate::parse::{Context, UnknownParser, parser};
use crate::reading::{Reading, ran_silently};
use crate::results::Results;
use crate::whole_map::difference;

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

/// Says what came of a patch: officially, to the letter, in the generation that the specification names; and by the rules of generation 5 with
/// whole names beside the official ones, so that a row may name its tests either way.
///
/// By these a patch is resolved when every `FAIL_TO_PASS` and `PASS_TO_PASS` test passed, or failed as expected; a test that the log does not
/// show failed; a skipped test is no fix, and no regression either. And it is not when the log was tampered with: a test reported both as passed
/// and as failed, marks that occur twice, an exit code that is not the one in the log. Where the specification has a whole map, every test must
/// do what that says and no other may be there, both officially and for us.
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
    if !evidence.timed_out && reading.is_officially_readable() {
        verdict.official = evaluate(&reading.map(), &expected(spec));
    }
    let whole_map = spec.whole_map.as_ref();
    let difference = whole_map.and_then(|expected| difference(&reading.map(), expected));
    if difference.is_some() {
        verdict.official.resolution = Resolution::No;
    }
    verdict.official_resolved = verdict.official.resolution == Resolution::Full;
    let results = Results::new(&reading);
    verdict.statuses = results.statuses();
    let mut matches = MatchCounts::default();
    verdict.fail_to_pass = tally(
        spec,
        &spec.fail_to_pass,
        &results,
        Kind::MustTurn,
        &mut matches,
    );
    verdict.pass_to_pass = tally(
        spec,
        &spec.pass_to_pass,
        &results,
        Kind::MustStay,
        &mut matches,
    );
    verdict.matches = matches;
    if let Err(note) = readable(spec, log, evidence, &results) {
        verdict.note = Some(note);
        return Ok(verdict);
    }
    verdict.log_readable = true;
    let differs = difference.is_some();
    let notes: Vec<String> = reading.notes().into_iter().chain(difference).collect();
    verdict.note = (!notes.is_empty()).then(|| notes.join("; "));
    let met = resolution(&verdict.fail_to_pass, &verdict.pass_to_pass) == Resolution::Full;
    if met && !differs {
        verdict.tamper_reason = tampering(spec, log, evidence, &results);
        verdict.resolved = verdict.tamper_reason.is_none();
    }
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
        statuses: std::collections::BTreeMap::new(),
        note: None,
    }
}

fn expected(spec: &GradingSpec) -> Expected<'_> {
    Expected {
        fail_to_pass: &spec.fail_to_pass,
        pass_to_pass: &spec.pass_to_pass,
        eval_type: spec.eval_type,
        harness: spec.harness,
    }
}

fn tally(
    spec: &GradingSpec,
    tests: &[String],
    results: &Results<'_>,
    kind: Kind,
    matches: &mut MatchCounts,
) -> TestTally {
    let mut tally = TestTally::default();
    for test in tests {
        let status = results.status(test, matches);
        let met = match spec.eval_type {
            EvalType::PassAndFail => status.is_some_and(|status| kind.is_met_by(status)),
            EvalType::FailOnly => status != Some(TestStatus::Failed),
        };
        if met {
            tally.success.push(test.clone());
        } else {
            tally.failure.push(test.clone());
        }
    }
    tally
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
    match log.test_exit {
        Some(code) if code != 0 && !results.any_failed() => Err(format!(
            "the tests ended with exit code {code}, but the log shows no failed test"
        )),
        _ => Ok(()),
    }
}

/// Why a log that says "resolved" is not believed.
fn tampering(
    spec: &GradingSpec,
    log: &LogParts,
    evidence: &Evidence<'_>,
    results: &Results<'_>,
) -> Option<String> {
    if log.repeated_marks {
        return Some("the log holds a mark of the script twice".to_owned());
    }
    if let (Some(logged), Some(seen)) = (log.script_exit, evidence.exit_code)
        && logged != seen
    {
        return Some(format!(
            "the script ended with exit code {seen}, but the log says {logged}"
        ));
    }
    let expected = spec.fail_to_pass.iter().chain(&spec.pass_to_pass);
    expected
        .into_iter()
        .find(|test| results.ever_failed(test))
        .map(|test| format!("`{test}` is reported both as passed and as failed"))
}
