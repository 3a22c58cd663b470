//! Logs that the harness of another dataset left.

use std::ops::Range;

use schema::grading::{Criterion, LogShape};

use super::{
    END, LogParts, PATCH_FAILED, START, TESTS_TIMED_OUT, in_both_forms, logged_exit, occurrences,
    officially_between, read_official,
};

/// Takes apart a log that the harness of a dataset left, as that harness reads it.
pub fn read_foreign(log: &[u8], criterion: Criterion) -> LogParts {
    match criterion {
        Criterion::SweBench => read_official(log),
        Criterion::SweSmith => read_smith(log),
        Criterion::SweBenchLive
        | Criterion::SweBenchPro
        | Criterion::MultiSweBench
        | Criterion::R2eGym => read_whole(log),
    }
}

/// Takes apart a log of SWE-smith's harness: what the shell traced of the marks is around the tests' output, and nothing else counts.
fn read_smith(log: &[u8]) -> LogParts {
    let refusals = [PATCH_FAILED, TESTS_TIMED_OUT];
    let tests = |text: &str| {
        let refused = refusals
            .iter()
            .any(|refusal| occurrences(text, refusal).next().is_some());
        if refused {
            return None;
        }
        traced(text).or_else(|| marked(text))
    };
    with_shape(in_both_forms(log, tests))
}

/// Takes apart a log of a harness that puts no marks in it. A log of this program has some.
fn read_whole(log: &[u8]) -> LogParts {
    let tests = |text: &str| marked(text).or(Some(0..text.len()));
    let mut parts = with_shape(in_both_forms(log, tests));
    if parts.official_tests().map(str::len) == Some(parts.official_whole().len()) {
        parts.shape = LogShape::Whole;
    }
    parts
}

/// The parts with the shape that follows from whether the tests' output was found, and the tests' exit code.
fn with_shape(mut parts: LogParts) -> LogParts {
    parts.shape = match parts.official_tests() {
        Some(_) => LogShape::Marked,
        None => LogShape::Unreadable,
    };
    parts.test_exit = logged_exit(parts.official_whole());
    parts
}

/// What is between the marks as a shell traces them.
fn traced(text: &str) -> Option<Range<usize>> {
    let trace = |mark: &str| format!("+ : '{mark}'");
    let (start, end) = (trace(START), trace(END));
    let from = occurrences(text, &start).next()? + start.len();
    let until = occurrences(text, &end).next()?;
    (from <= until).then_some(from..until)
}

/// What is between the marks, where both are there.
fn marked(text: &str) -> Option<Range<usize>> {
    occurrences(text, END).next()?;
    officially_between(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::TEST_EXIT;

    #[test]
    fn logs_of_other_harnesses_are_read_as_those_do() {
        let traced = format!("+ : '{START}'\nPASSED a\n+ : '{END}'\nPASSED b\n");
        let printed = format!("x\n{START} n\nPASSED a\n{END} n\n{TEST_EXIT} n: 3\n");
        for (log, criterion, tests, shape) in [
            (
                &*traced,
                Criterion::SweSmith,
                Some("\nPASSED a\n"),
                LogShape::Marked,
            ),
            (
                "Applied patch\nPASSED a",
                Criterion::SweSmith,
                None,
                LogShape::Unreadable,
            ),
            (
                "PASSED a",
                Criterion::R2eGym,
                Some("PASSED a"),
                LogShape::Whole,
            ),
            ("PASSED a", Criterion::SweBench, None, LogShape::Unreadable),
            ("{}", Criterion::SweBenchPro, Some("{}"), LogShape::Whole),
            ("", Criterion::MultiSweBench, Some(""), LogShape::Whole),
            (
                &*printed,
                Criterion::SweBenchLive,
                Some(" n\nPASSED a\n"),
                LogShape::Marked,
            ),
        ] {
            let parts = read_foreign(log.as_bytes(), criterion);
            assert_eq!(
                (parts.tests(), parts.shape),
                (tests, shape),
                "{log} {criterion:?}"
            );
        }
        let refused = format!("{traced}>>>>> Reset Failed");
        assert!(
            read_foreign(refused.as_bytes(), Criterion::SweSmith)
                .tests()
                .is_some()
        );
        let refused = format!("{traced}{PATCH_FAILED}");
        assert_eq!(
            read_foreign(refused.as_bytes(), Criterion::SweSmith).tests(),
            None
        );
    }
}
