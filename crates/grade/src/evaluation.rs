//! What the official harness makes of results, to the letter, in each of its generations.

use schema::grading::{EvalType, Harness, OfficialVerdict, Resolution, TestStatus, TestTally};

use crate::parse::Word;
use crate::status_map::StatusMap;

/// The tests that an instance is judged by, and how.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// Tests that must pass after the patch and failed before.
    pub fail_to_pass: &'a [String],
    /// Tests that must still pass.
    pub pass_to_pass: &'a [String],
    /// How the tests' results count.
    pub eval_type: EvalType,
    /// Whose rules.
    pub harness: Harness,
}

/// What a list of tests asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// The tests failed before, so one that is skipped did not turn.
    MustTurn,
    /// The tests passed before, so one that is skipped did not break.
    MustStay,
}

/// Sorts the expected tests by what they did, in the dataset's order, and says how far that resolves the issue.
pub fn evaluate(map: &StatusMap<'_>, expected: &Expected<'_>) -> OfficialVerdict {
    let fail_to_pass = tally(map, expected.fail_to_pass, expected, Kind::MustTurn);
    let pass_to_pass = tally(map, expected.pass_to_pass, expected, Kind::MustStay);
    OfficialVerdict {
        harness: expected.harness,
        log_readable: true,
        resolution: resolution(&fail_to_pass, &pass_to_pass),
        fail_to_pass,
        pass_to_pass,
    }
}

/// How far these lists resolve an issue. A list without tests asks for nothing.
pub fn resolution(fail_to_pass: &TestTally, pass_to_pass: &TestTally) -> Resolution {
    if !pass_to_pass.failure.is_empty() {
        return Resolution::No;
    }
    if fail_to_pass.failure.is_empty() {
        Resolution::Full
    } else if fail_to_pass.success.is_empty() {
        Resolution::No
    } else {
        Resolution::Partial
    }
}

fn tally(map: &StatusMap<'_>, tests: &[String], expected: &Expected<'_>, kind: Kind) -> TestTally {
    let mut tally = TestTally::default();
    for test in tests {
        match met(map, test, expected, kind) {
            Some(true) => tally.success.push(test.clone()),
            Some(false) => tally.failure.push(test.clone()),
            None => {}
        }
    }
    tally
}

/// Whether a test did what it should; `None` when its status is one that officially counts for nothing.
fn met(map: &StatusMap<'_>, test: &str, expected: &Expected<'_>, kind: Kind) -> Option<bool> {
    match expected.eval_type {
        EvalType::FailOnly => Some(map.get(test) != Some(&Word::Status(TestStatus::Failed))),
        EvalType::PassAndFail => match expected.harness {
            Harness::V4 => match map.get(test) {
                None => Some(false),
                Some(word) => counts(word, None),
            },
            Harness::V5 => match map.get(test).or_else(|| map.get_cut(test)) {
                None => Some(false),
                Some(word) => counts(word, Some(matches!(kind, Kind::MustStay))),
            },
        },
    }
}

/// Whether a status counts as passed; `skipped` is what one that was skipped counts as.
fn counts(word: &Word<'_>, skipped: Option<bool>) -> Option<bool> {
    match word {
        Word::Status(TestStatus::Passed | TestStatus::Xfail) => Some(true),
        Word::Status(TestStatus::Failed | TestStatus::Error) => Some(false),
        Word::Status(TestStatus::Skipped) => skipped,
        // No official parser has a word for a test that should have failed.
        Word::Status(TestStatus::Xpass) | Word::Other(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::parse::TestResult;

    const STATUSES: [TestStatus; 5] = [
        TestStatus::Passed,
        TestStatus::Failed,
        TestStatus::Error,
        TestStatus::Skipped,
        TestStatus::Xfail,
    ];

    fn result(name: &'static str, word: Word<'static>) -> TestResult<'static> {
        TestResult {
            name: Cow::Borrowed(name),
            word,
            line: 1,
        }
    }

    /// Whether the only test of each list succeeded.
    fn judge(
        results: &[TestResult<'_>],
        eval_type: EvalType,
        harness: Harness,
    ) -> [Option<bool>; 2] {
        let tests = ["a".to_owned()];
        let expected = Expected {
            fail_to_pass: &tests,
            pass_to_pass: &tests,
            eval_type,
            harness,
        };
        let verdict = evaluate(&StatusMap::new(results), &expected);
        [verdict.fail_to_pass, verdict.pass_to_pass].map(|tally| {
            match (tally.success.len(), tally.failure.len()) {
                (1, 0) => Some(true),
                (0, 1) => Some(false),
                (0, 0) => None,
                other => panic!("{other:?}"),
            }
        })
    }

    #[test]
    fn every_status_in_both_generations() {
        let both = |met| [met, met];
        for status in STATUSES {
            let results = [result("a", Word::Status(status))];
            let (four, five) = match status {
                TestStatus::Passed | TestStatus::Xfail => (both(Some(true)), both(Some(true))),
                TestStatus::Failed | TestStatus::Error => (both(Some(false)), both(Some(false))),
                // Generation 4 forgets skipped tests.
                TestStatus::Skipped => (both(None), [Some(false), Some(true)]),
                TestStatus::Xpass => unreachable!(),
            };
            let judge = |harness| judge(&results, EvalType::PassAndFail, harness);
            assert_eq!(
                (judge(Harness::V4), judge(Harness::V5)),
                (four, five),
                "{status:?}"
            );
        }
        for harness in [Harness::V4, Harness::V5] {
            assert_eq!(
                judge(&[], EvalType::PassAndFail, harness),
                both(Some(false))
            );
            let odd = [result("a", Word::Other("ERROR:".into()))];
            assert_eq!(judge(&odd, EvalType::PassAndFail, harness), both(None));
        }
    }

    #[test]
    fn failures_alone_count_where_only_they_are_told() {
        for harness in [Harness::V4, Harness::V5] {
            let judge = |results: &[_]| judge(results, EvalType::FailOnly, harness);
            assert_eq!(judge(&[]), [Some(true); 2]);
            for status in STATUSES {
                let met = Some(status != TestStatus::Failed);
                assert_eq!(judge(&[result("a", Word::Status(status))]), [met; 2]);
            }
        }
    }

    #[test]
    fn the_last_word_on_a_name_counts() {
        let results = [
            result("a", Word::Status(TestStatus::Failed)),
            result("a", Word::Status(TestStatus::Passed)),
        ];
        let judged = judge(&results, EvalType::PassAndFail, Harness::V5);
        assert_eq!(judged, [Some(true); 2]);
    }

    #[test]
    fn cut_names_stand_for_tests_that_agree() {
        use TestStatus::{Failed, Passed, Skipped, Xfail};
        let results = [
            result("t[c 2]", Word::Status(Skipped)),
            result("t[a 1]", Word::Status(Passed)),
            result("t[a 2]", Word::Status(Xfail)),
            result("t[b 1]", Word::Status(Passed)),
            result("t[b 2]", Word::Status(Failed)),
            result("t[c 1]", Word::Status(Failed)),
        ];
        let map = StatusMap::new(&results);
        let status = |name| map.get_cut(name).and_then(Word::status);
        assert_eq!(status("t[a"), Some(Passed));
        assert_eq!(status("t[b"), None);
        assert_eq!(status("t[c"), Some(Skipped), "the first in the log's order");
        assert_eq!(status("t"), None);
        assert_eq!(status("t[d"), None);
    }

    #[test]
    fn resolutions() {
        let tally = |success: usize, failure: usize| TestTally {
            success: vec![String::new(); success],
            failure: vec![String::new(); failure],
        };
        for (turned, stayed, expected, value) in [
            ((0, 0), (0, 0), Resolution::Full, 1.0),
            ((2, 0), (1, 0), Resolution::Full, 1.0),
            ((1, 3), (1, 0), Resolution::Partial, 0.25),
            ((0, 1), (1, 0), Resolution::No, 0.0),
            ((1, 1), (1, 1), Resolution::No, 0.5),
            ((2, 0), (9, 1), Resolution::No, 1.0),
        ] {
            let (turned, stayed) = (tally(turned.0, turned.1), tally(stayed.0, stayed.1));
            assert_eq!(resolution(&turned, &stayed), expected);
            assert!((turned.share() - value).abs() < f64::EPSILON);
        }
    }
}
