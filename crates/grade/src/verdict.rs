//! What the results of the tests say about a patch.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use schema::grading::{
    EvalType, GradingSpec, LogShape, MatchCounts, OfficialVerdict, PatchApplication, TestStatus,
    TestTally, Verdict,
};

use crate::log::LogParts;
use crate::parse::{Parsed, Parser, TestResult, UnknownParser, parser};

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

/// Says what came of a patch, by the official harness's rules: resolved when every `FAIL_TO_PASS` and `PASS_TO_PASS` test passed, or failed as
/// expected; a test that the log does not show failed; a skipped test is no fix, and no regression either.
///
/// Beyond them, a patch that the official rules call resolved is not when the log was tampered with: a test reported both as passed and as
/// failed, marks that occur twice, an exit code that is not the one in the log.
///
/// # Errors
/// The specification names a parser that we do not have.
pub fn verdict(spec: &GradingSpec, evidence: &Evidence<'_>) -> Result<Verdict, UnknownParser> {
    let parser = parser(&spec.log_parser)?;
    let mut verdict = Verdict {
        resolved: false,
        official_resolved: false,
        tamper_reason: None,
        application: evidence.application,
        timed_out: evidence.timed_out,
        log_readable: false,
        log_shape: LogShape::default(),
        official: OfficialVerdict::default(),
        matches: MatchCounts::default(),
        exit_code: evidence.exit_code,
        fail_to_pass: all_failed(&spec.fail_to_pass),
        pass_to_pass: all_failed(&spec.pass_to_pass),
        statuses: BTreeMap::new(),
        note: None,
    };
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
    verdict.exit_code = log.exit_code().or(evidence.exit_code);
    let parsed = read_tests(log, parser);
    let results = Results::new(&parsed);
    verdict.statuses.clone_from(&results.worst);
    verdict.fail_to_pass = tally(spec, &spec.fail_to_pass, &results, Kind::MustTurn);
    verdict.pass_to_pass = tally(spec, &spec.pass_to_pass, &results, Kind::MustStay);
    if let Err(note) = readable(log, evidence, &parsed, &results) {
        verdict.note = Some(note);
        return Ok(verdict);
    }
    verdict.log_readable = true;
    let notes = parsed.notes.join("; ");
    verdict.note = (!notes.is_empty()).then_some(notes);
    verdict.official_resolved =
        verdict.fail_to_pass.failure.is_empty() && verdict.pass_to_pass.failure.is_empty();
    if verdict.official_resolved {
        verdict.tamper_reason = tampering(spec, log, evidence, &results);
        verdict.resolved = verdict.tamper_reason.is_none();
    }
    Ok(verdict)
}

/// What a list of tests asks for.
#[derive(Clone, Copy)]
enum Kind {
    /// The tests failed before, so one that is skipped did not turn.
    MustTurn,
    /// The tests passed before, so one that is skipped did not break.
    MustStay,
}

impl Kind {
    fn is_met_by(self, status: TestStatus) -> bool {
        match status {
            TestStatus::Passed | TestStatus::Xfail => true,
            TestStatus::Skipped => matches!(self, Self::MustStay),
            TestStatus::Failed | TestStatus::Error | TestStatus::Xpass => false,
        }
    }
}

/// The results of a log, ready to be asked for tests by the names of a dataset.
struct Results {
    /// By the official parser's names; the last result of a name counts.
    official: BTreeMap<String, TestStatus>,
    /// The same names; the worst result counts.
    official_worst: BTreeMap<String, TestStatus>,
    /// By whole names; the worst result counts.
    worst: BTreeMap<String, TestStatus>,
    /// By whole names with single spaces; the worst result counts.
    spaced: HashMap<String, TestStatus>,
}

impl Results {
    fn new(parsed: &Parsed) -> Self {
        let mut spaced = HashMap::new();
        for test in &parsed.tests {
            let status = spaced
                .entry(single_spaced(&test.name))
                .or_insert(test.status);
            *status = worse(*status, test.status);
        }
        let last = |test: &TestResult| (test.name.clone(), test.status);
        Self {
            official: parsed.official.iter().map(last).collect(),
            official_worst: worst(&parsed.official),
            worst: worst(&parsed.tests),
            spaced,
        }
    }

    /// What a test did: by its official name, its whole name, its name cut inside a parameter (many names in datasets are), its name up to
    /// white space.
    fn status(&self, name: &str) -> Option<TestStatus> {
        self.official
            .get(name)
            .or_else(|| self.worst.get(name))
            .copied()
            .or_else(|| cut_name(&self.official, name))
            .or_else(|| cut_name(&self.worst, name))
            .or_else(|| self.spaced.get(&single_spaced(name)).copied())
    }

    /// Whether a test is reported as failed, whatever else it is reported as.
    fn ever_failed(&self, name: &str) -> bool {
        [&self.official_worst, &self.worst]
            .iter()
            .filter_map(|results| results.get(name))
            .any(|status| is_failure(*status))
    }

    fn any_failed(&self) -> bool {
        [&self.official, &self.worst]
            .iter()
            .any(|results| results.values().any(|status| is_failure(*status)))
    }
}

/// The status of a name that ends inside its parameter, where all tests that begin with it agree on passing.
fn cut_name(results: &BTreeMap<String, TestStatus>, name: &str) -> Option<TestStatus> {
    if name.matches('[').count() <= name.matches(']').count() {
        return None;
    }
    let mut candidates = results
        .range::<str, _>((Bound::Included(name), Bound::Unbounded))
        .take_while(|(candidate, _)| candidate.starts_with(name))
        .map(|(_, status)| *status);
    let first = candidates.next()?;
    candidates
        .all(|status| Kind::MustTurn.is_met_by(status) == Kind::MustTurn.is_met_by(first))
        .then_some(first)
}

fn single_spaced(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn worst(results: &[TestResult]) -> BTreeMap<String, TestStatus> {
    let mut worst: BTreeMap<String, TestStatus> = BTreeMap::new();
    for test in results {
        match worst.get_mut(&test.name) {
            Some(status) => *status = worse(*status, test.status),
            None => drop(worst.insert(test.name.clone(), test.status)),
        }
    }
    worst
}

fn worse(one: TestStatus, other: TestStatus) -> TestStatus {
    std::cmp::max_by_key(one, other, |status| badness(*status))
}

fn badness(status: TestStatus) -> u8 {
    match status {
        TestStatus::Passed => 0,
        TestStatus::Xfail => 1,
        TestStatus::Skipped => 2,
        TestStatus::Xpass => 3,
        TestStatus::Error => 4,
        TestStatus::Failed => 5,
    }
}

fn is_failure(status: TestStatus) -> bool {
    match status {
        TestStatus::Failed | TestStatus::Error => true,
        TestStatus::Passed | TestStatus::Skipped | TestStatus::Xfail | TestStatus::Xpass => false,
    }
}

fn all_failed(tests: &[String]) -> TestTally {
    TestTally {
        success: Vec::new(),
        failure: tests.to_vec(),
    }
}

fn tally(spec: &GradingSpec, tests: &[String], results: &Results, kind: Kind) -> TestTally {
    let mut tally = TestTally::default();
    for test in tests {
        let status = results.status(test);
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

fn read_tests(log: &LogParts, parser: Parser) -> Parsed {
    let parsed = parser(log.tests().unwrap_or(&log.whole));
    if parsed.official.is_empty() && log.official {
        return parser(&log.whole);
    }
    parsed
}

/// Whether the log is that of a run of the tests; why not, for people.
fn readable(
    log: &LogParts,
    evidence: &Evidence<'_>,
    parsed: &Parsed,
    results: &Results,
) -> Result<(), String> {
    if evidence.timed_out {
        return Err("the tests were stopped because their time was over".to_owned());
    }
    if log.tests().is_none() {
        return Err("the script did not get to the end of the tests".to_owned());
    }
    if parsed.official.is_empty() && parsed.tests.is_empty() {
        return Err("no test result in the log".to_owned());
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
    results: &Results,
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
