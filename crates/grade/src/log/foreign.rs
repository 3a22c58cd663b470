//! Logs that the harness of another dataset left.

use schema::grading::{Criterion, LogShape};

use super::marks::{Cut, Marks};
use super::{LogParts, read_official};

/// Takes apart a log that the harness of a dataset left, as that harness reads it.
pub fn read_foreign(log: &[u8], criterion: Criterion) -> LogParts {
    match criterion {
        Criterion::SweBench => read_official(log),
        Criterion::SweSmith => with_shape(LogParts::new(log, Cut::Smith)),
        Criterion::SweBenchLive
        | Criterion::SweBenchPro
        | Criterion::MultiSweBench
        | Criterion::R2eGym => read_whole(log),
    }
}

/// Takes apart a log of a harness that puts no marks in it. A log of this program has some.
fn read_whole(log: &[u8]) -> LogParts {
    let mut parts = with_shape(LogParts::new(log, Cut::OfficialOrWhole));
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
    parts.test_exit = Marks::of(parts.official_whole()).test_exit;
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{END, PATCH_FAILED, START, TEST_EXIT};

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
