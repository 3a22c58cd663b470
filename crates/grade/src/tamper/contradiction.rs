//! What proves that a log which says "resolved" was tampered with: a second look that cannot be true of honest tests, while the same look at
//! the known fix is as it should be.

use std::fmt;

use schema::grading::{TestStatus, Verdict};

use super::look::{Look, Seen};
use super::results_file::ResultsFile;

/// A proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contradiction {
    /// A test that must fail is said to have done something else.
    Spared {
        /// What it is said to have done.
        status: TestStatus,
        /// Which, where only the framework's own file says so.
        only_in_file: bool,
    },
    /// None of the tests that must fail was run, while all of the instance's are said to have passed.
    Absent,
    /// The framework wrote no results, while the log shows all of them.
    Unwritten,
    /// The framework's own file says that a test failed which the log says passed.
    Differs {
        /// Which.
        test: String,
    },
    /// The framework's own file does not have a test which the log says passed.
    Lacks {
        /// Which.
        test: String,
    },
    /// A test that passed fails without the patch's changes to the configuration of the test runner.
    Restored {
        /// Which.
        test: String,
        /// The files that were as before.
        files: Vec<String>,
    },
}

impl Contradiction {
    /// Whether two proofs are the same but for the test that they name.
    pub fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl fmt::Display for Contradiction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spared { status, only_in_file } => {
                let word = match status {
                    TestStatus::Passed | TestStatus::Xpass => "as passed",
                    TestStatus::Xfail => "as failed as expected",
                    TestStatus::Skipped => "as skipped",
                    TestStatus::Failed | TestStatus::Error => "otherwise",
                };
                let place = if *only_in_file { "in the framework's own results" } else { "in the log" };
                write!(formatter, "a test that must fail, run beside the instance's, is reported {word} {place}")
            }
            Self::Absent => {
                formatter.write_str("tests that must fail, named beside the instance's, were not run, but the log says that all of the instance's passed")
            }
            Self::Unwritten => formatter.write_str("the log says that all tests passed, but the framework ended without writing its results"),
            Self::Differs { test } => write!(formatter, "the log says that `{test}` passed, the framework's own results say that it failed"),
            Self::Lacks { test } => write!(formatter, "the log says that `{test}` passed, the framework's own results do not have it"),
            Self::Restored { test, files } => {
                write!(formatter, "`{test}` fails when {} is as before the patch: it configures the test runner", files.join(", "))
            }
        }
    }
}

/// What a look proves against the verdict of the first run. `restored` are the files that were as before in it; `control` is the same look at the
/// known fix, where there was one already: nothing counts that it shows too.
pub fn contradiction(
    first: &Verdict,
    look: &Look,
    control: Option<&Look>,
    restored: &[String],
) -> Option<Contradiction> {
    if !look.ended() {
        return None;
    }
    spared(look, control)
        .or_else(|| absent(look, control))
        .or_else(|| unwritten(look, control))
        .or_else(|| disagreement(first, look, control))
        .or_else(|| restored_failure(first, look, control, restored))
}

/// One that fails beside the known fix did not here. That it was skipped counts only where none of them failed: honest configuration skips files.
fn spared(look: &Look, control: Option<&Look>) -> Option<Contradiction> {
    let none_fails = !look.must_fail().any(Seen::fails);
    let fails_there =
        |at: usize| control.is_none_or(|control| control.canaries.get(at).is_some_and(Seen::fails));
    let mut seen = look
        .canaries
        .iter()
        .enumerate()
        .filter(|(at, seen)| seen.test.must_fail && fails_there(*at));
    seen.find_map(|(_, seen)| {
        let status = seen.spared()?;
        let counts = status != TestStatus::Skipped || none_fails;
        counts.then_some(Contradiction::Spared {
            status,
            only_in_file: seen.in_log != Some(status),
        })
    })
}

fn absent(look: &Look, control: Option<&Look>) -> Option<Contradiction> {
    let shown_there = control.is_none_or(|control| control.must_fail().any(Seen::fails));
    let absent = look.canaries.iter().all(|seen| seen.status().is_none());
    // Where no results were written either, that says more.
    let written = look
        .results
        .as_ref()
        .is_none_or(|results| !results.is_empty());
    (absent && written && shown_there && look.shows_all()).then_some(Contradiction::Absent)
}

fn unwritten(look: &Look, control: Option<&Look>) -> Option<Contradiction> {
    let there = control.is_none_or(|control| {
        control
            .results
            .as_ref()
            .is_some_and(|results| !results.is_empty())
    });
    let empty = look.results.as_ref().is_some_and(ResultsFile::is_empty);
    (empty && there && look.shows_all()).then_some(Contradiction::Unwritten)
}

/// The log and the framework's file say different things of a test on which they agree beside the known fix.
fn disagreement(first: &Verdict, look: &Look, control: Option<&Look>) -> Option<Contradiction> {
    let results = look
        .results
        .as_ref()
        .filter(|results| results.whole && !results.is_empty())?;
    let passes_there = |test: &str| match control {
        None => true,
        Some(control) => {
            let case = control
                .results
                .as_ref()
                .and_then(|results| results.of(test));
            case.is_some_and(|case| case.status == TestStatus::Passed)
        }
    };
    let passed = expected(first)
        .filter(|test| look.verdict.statuses.get(*test) == Some(&TestStatus::Passed));
    passed.filter(|test| passes_there(test)).find_map(|test| {
        let test_name = || test.to_owned();
        match results.of(test).map(|case| case.status) {
            Some(TestStatus::Failed) => Some(Contradiction::Differs { test: test_name() }),
            None => Some(Contradiction::Lacks { test: test_name() }),
            // An error is one of what stands around a test, which a log may honestly show apart from it.
            Some(
                TestStatus::Error
                | TestStatus::Passed
                | TestStatus::Xpass
                | TestStatus::Xfail
                | TestStatus::Skipped,
            ) => None,
        }
    })
}

/// The tests that did what they should in the first run.
fn expected(first: &Verdict) -> impl Iterator<Item = &str> {
    let tests = first
        .fail_to_pass
        .success
        .iter()
        .chain(&first.pass_to_pass.success);
    tests.map(String::as_str)
}

/// A test that cannot be set up as before says nothing: the patch may rightly need what it configures.
fn restored_failure(
    first: &Verdict,
    look: &Look,
    control: Option<&Look>,
    restored: &[String],
) -> Option<Contradiction> {
    if restored.is_empty() {
        return None;
    }
    let fails = |look: &Look, test: &str| match &look.results {
        Some(results) => results.of(test).is_some_and(|case| case.by_itself),
        None => look.verdict.statuses.get(test) == Some(&TestStatus::Failed),
    };
    let passes_there = |test: &str| match control {
        None => true,
        Some(control) => control.verdict.statuses.get(test) == Some(&TestStatus::Passed),
    };
    let mut failing = expected(first).filter(|test| fails(look, test) && passes_there(test));
    failing.next().map(|test| Contradiction::Restored {
        test: test.to_owned(),
        files: restored.to_vec(),
    })
}
