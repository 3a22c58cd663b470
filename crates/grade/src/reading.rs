//! A log as a parser reads it, in the forms that there are.

use std::sync::LazyLock;

use regex::Regex;
use schema::grading::{Criterion, Harness, TestStatus};

use crate::log::LogParts;
use crate::parse::{Context, Parsed, Parser, TestResult, Word};
use crate::status_map::StatusMap;

/// What a parser finds in a log.
#[derive(Debug)]
pub struct Reading<'l> {
    log: &'l LogParts,
    harness: Harness,
    /// Of the form that official parsers see.
    official: Parsed<'l>,
    /// Of the clean form, where it is another one.
    clean: Option<Parsed<'l>>,
}

impl<'l> Reading<'l> {
    /// Reads the tests' output; of an official log in which there is no result, all of it.
    pub fn new(log: &'l LogParts, parser: Parser, context: &Context<'_>) -> Self {
        let read = |tests: Option<&'l str>, whole: &'l str| {
            let parsed = parser(tests.unwrap_or(whole), context);
            if parsed.official.is_empty() && log.official && tests.is_some() {
                return parser(whole, context);
            }
            parsed
        };
        let clean = log.has_sequences().then(|| read(log.tests(), log.whole()));
        Self {
            log,
            harness: context.harness,
            official: read(log.official_tests(), log.official_whole()),
            clean,
        }
    }

    /// The last word on each test, by official names.
    pub fn map(&self) -> StatusMap<'_> {
        StatusMap::new(self.official())
    }

    /// All results by official names, in the log's order.
    pub fn official(&self) -> &[TestResult<'l>] {
        &self.official.official
    }

    /// All results by whole names, in the log's order.
    pub fn tests(&self) -> &[TestResult<'l>] {
        self.clean.as_ref().unwrap_or(&self.official).tests()
    }

    /// What is odd about the log.
    pub fn notes(&self) -> Vec<String> {
        let parsed = self.clean.as_ref().unwrap_or(&self.official);
        let failure = self.official.official_failure.iter();
        let failure = failure.map(|reason| format!("the official parser breaks off: {reason}"));
        parsed.notes.iter().cloned().chain(failure).collect()
    }

    /// Whether the harness whose rules are asked for takes the log for one of a run of the tests. All need the marks, where there are some.
    /// Generation 5 of SWE-bench's also asks for a result or a sign that tests ran, and for a failure where the tests' exit code is one.
    pub fn is_officially_readable(&self, criterion: Criterion) -> bool {
        if self.log.official_tests().is_none() {
            return false;
        }
        match (criterion, self.harness) {
            (
                Criterion::SweBenchLive
                | Criterion::SweBenchPro
                | Criterion::MultiSweBench
                | Criterion::SweSmith
                | Criterion::R2eGym,
                _,
            )
            | (Criterion::SweBench, Harness::V4) => true,
            (Criterion::SweBench, Harness::V5) if self.official().is_empty() => {
                ran_silently(self.log.official_whole())
            }
            (Criterion::SweBench, Harness::V5) => {
                let failed = self.log.test_exit.is_some_and(|code| code != 0);
                !failed || self.shows_failure()
            }
        }
    }

    fn shows_failure(&self) -> bool {
        self.map()
            .iter()
            .any(|(_, word)| matches!(word, Word::Status(TestStatus::Failed | TestStatus::Error)))
    }
}

/// Whether a log tells that tests ran, though no parser finds one: totals that are not zero, in the words of the runners that print only
/// failures (and `': ok`, as `OpenLayers` ends a rendered case).
pub(crate) fn ran_silently(log: &str) -> bool {
    static TOTALS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let totals = [
            r"Executed [1-9]\d* of \d",
            r"TOTAL: [1-9]\d* (?:SUCCESS|FAILED)",
            r"[1-9]\d* passing",
            r"Tests:[\s\x1c-\x1f]+[1-9]",
            r"Test Suites:[\s\x1c-\x1f]+(?:\d+ [\p{L}\p{N}_]+, )*[1-9]\d* total",
            r"^# tests [1-9]",
            r"[1-9]\d* specs?, \d+ failure",
            r"': ok$",
        ];
        Regex::new(&format!("(?m){}", totals.join("|"))).ok()
    });
    TOTALS.as_ref().is_some_and(|totals| totals.is_match(log))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_that_tests_ran() {
        for log in [
            "Executed 10 of 12 SUCCESS",
            "TOTAL: 3 SUCCESS",
            "  12 passing (1s)",
            "Tests:       4 passed",
            "Test Suites: 1 skipped, 2 passed, 3 total",
            "x\n# tests 4\n",
            "10 specs, 0 failures",
            "case 'a': ok\n",
        ] {
            assert!(ran_silently(log), "{log}");
        }
        for log in [
            "Executed 0 of 0",
            "TOTAL: 0 SUCCESS",
            "0 passing",
            "Tests: 0 total",
            "Test Suites: 0 total",
            "x # tests 4",
            "0 specs, 0 failures",
            "': ok then",
        ] {
            assert!(!ran_silently(log), "{log}");
        }
    }
}
