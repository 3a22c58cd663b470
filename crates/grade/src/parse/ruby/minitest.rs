//! minitest's verbose lines: `Class#test. = 0.01 s = .`.
//!
//! Rules of `parse_log_minitest`, the same in SWE-bench 4.1.0 and 5.0.2. The outcome is the last `.`, `F` or `E` of the line that an `=` stands
//! before; the name ends at the last `. ` before that `=`.

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::{each_stripped, present};
use crate::parse::result::Parsed;

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    each_stripped(log, test)
}

pub(super) fn test(line: &str) -> Option<(&str, TestStatus)> {
    let equals = line.rfind('=')?;
    // The last `=` may stand behind all outcomes.
    let outcome = line.rfind(['.', 'F', 'E'])?;
    let equals = if equals < outcome {
        equals
    } else {
        line.get(..outcome)?.rfind('=')?
    };
    let name = present(line.get(..equals)?.rsplit_once(". ")?.0)?;
    let passed = line.as_bytes().get(outcome) == Some(&b'.');
    let status = if passed {
        TestStatus::Passed
    } else {
        TestStatus::Failed
    };
    Some((name, status))
}

#[cfg(test)]
mod tests {
    use super::*;
    use TestStatus::{Failed, Passed};

    #[test]
    fn outcomes_and_names() {
        for (line, expected) in [
            ("A#test_b. = 0.01 s = .", Some(("A#test_b", Passed))),
            ("A#test_b. = 0.01 s = F", Some(("A#test_b", Failed))),
            ("A#test_b. = 0.01 s = S", Some(("A#test_b", Passed))),
            ("A. b. c = . =", Some(("A. b", Passed))),
            ("A. b = c", None),
            (". = .", None),
        ] {
            assert_eq!(test(line), expected, "{line}");
        }
    }
}
