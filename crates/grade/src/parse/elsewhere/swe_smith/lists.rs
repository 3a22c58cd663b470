//! Runners of Go, Rust, PHP and C# whose every line stands alone.

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::{after_word, each_stripped, numbered, present};
use crate::parse::pattern::pattern;
use crate::parse::result::Parsed;
use crate::parse::text::{is_space, python_lines, strip, strip_start, words};

pattern!(GO_PACKAGE, r"^FAIL:?\s?(.+?)\s");

/// `go test -v`: `--- PASS: Name`, and packages that failed.
pub(in crate::parse) fn parse_go<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    each_stripped(log, |line| {
        let words = [
            ("--- PASS: ", TestStatus::Passed),
            ("--- FAIL: ", TestStatus::Failed),
            ("--- SKIP: ", TestStatus::Skipped),
        ];
        if let Some((rest, status)) = after_word(line, &words) {
            return Some((present(rest.split(is_space).next()?)?, status));
        }
        Some((GO_PACKAGE.first(line)?, TestStatus::Failed))
    })
}

/// `cargo test`: what stands before the last ` ... ` of a line with `... ok` or `... FAILED`.
pub(in crate::parse) fn parse_cargo<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    for (at, line) in python_lines(log).enumerate() {
        let line = line.strip_prefix("test ").unwrap_or(line);
        let status = if line.contains("... ok") {
            TestStatus::Passed
        } else if line.contains("... FAILED") {
            TestStatus::Failed
        } else {
            continue;
        };
        let name = line.rsplit_once(" ... ").map_or(line, |(name, _)| name);
        parsed.found(strip(name), status, at + 1);
    }
    parsed
}

/// `phpunit --testdox`: marks, without the suites above them.
pub(in crate::parse) fn parse_phpunit<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    for (number, line) in numbered(log) {
        let marks = [
            ("✔", TestStatus::Passed),
            ("✘", TestStatus::Failed),
            ("↩", TestStatus::Skipped),
        ];
        if let Some((name, status)) = after_word(strip_start(line), &marks)
            && !name.is_empty()
        {
            parsed.found(strip(name), status, number);
        }
    }
    parsed
}

/// `dotnet test`: the second word of a line that begins with a result; a line of one word breaks the original off.
pub(in crate::parse) fn parse_dotnet<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    for (number, line) in numbered(log) {
        let results = [
            ("Passed", TestStatus::Passed),
            ("Failed", TestStatus::Failed),
            ("Skipped", TestStatus::Skipped),
        ];
        let line = strip(line);
        if let Some((_, status)) = after_word(line, &results) {
            match words(line).nth(1) {
                Some(name) => parsed.found(name, status, number),
                None => parsed.breaks_officially(number, "a result without a name"),
            }
        }
    }
    parsed
}
