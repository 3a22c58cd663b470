//! Gradle's tasks and tests, and Go's, where a test that failed stays so.

use std::borrow::Cow;

use super::sets::{Set, Sets};
use crate::parse::context::Context;
use crate::parse::pattern::{Pattern, pattern};
use crate::parse::result::Parsed;
use crate::parse::text::{python_lines, strip};

pattern!(TASK_DONE, r"^> Task :(\S+)$");
pattern!(TASK_CURRENT, r"^> Task :(\S+) UP-TO-DATE$");
pattern!(TASK_CACHED, r"^> Task :(\S+) FROM-CACHE$");
pattern!(TASK_FAILED, r"^> Task :(\S+) FAILED$");
pattern!(TASK_SKIPPED, r"^> Task :(\S+) SKIPPED$");
pattern!(TASK_EMPTY, r"^> Task :(\S+) NO-SOURCE$");
pattern!(TEST_PASSED, r"^(.+ > .+) PASSED$");
pattern!(TEST_FAILED, r"^(.+ > .+) FAILED$");
pattern!(TEST_SKIPPED, r"^(.+ > .+) SKIPPED$");

const GRADLE: [(&Pattern, Set); 9] = [
    (&TASK_DONE, Set::Passed),
    (&TASK_CURRENT, Set::Passed),
    (&TASK_CACHED, Set::Passed),
    (&TEST_PASSED, Set::Passed),
    (&TASK_FAILED, Set::Failed),
    (&TEST_FAILED, Set::Failed),
    (&TASK_SKIPPED, Set::Skipped),
    (&TASK_EMPTY, Set::Skipped),
    (&TEST_SKIPPED, Set::Skipped),
];

/// Whether a line begins or ends as one that a pattern of [`GRADLE`] matches, which is quicker to see than whether one does.
fn may_be_gradles(line: &str) -> bool {
    let ends = ["PASSED", "FAILED", "SKIPPED"];
    line.starts_with("> Task :")
        || (line.ends_with('D') && ends.iter().any(|end| line.ends_with(end)))
}

/// logstash and mockito: what is skipped is so, whatever else is said of it.
pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut sets = Sets::default();
    for (at, line) in python_lines(log).enumerate() {
        if !may_be_gradles(line) {
            continue;
        }
        for (pattern, set) in GRADLE {
            // What comes from a cache is known to jib's rules alone.
            if std::ptr::eq(pattern, &raw const TASK_CACHED) {
                continue;
            }
            let Some(name) = pattern.first(line) else {
                continue;
            };
            match set {
                Set::Passed if sets.has(Set::Failed, name) => continue,
                Set::Failed => sets.remove(Set::Passed, name),
                Set::Passed | Set::Skipped => {}
            }
            sets.add(set, Cow::Borrowed(name), at + 1);
        }
    }
    sets.into_parsed()
}

/// jib: the last word counts, but for a failure.
pub(in crate::parse) fn parse_jib<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    lasting(log, &GRADLE, may_be_gradles, |name| name)
}

pattern!(GO_PASS, r"^--- PASS: (\S+)");
pattern!(GO_FAIL, r"^--- FAIL: (\S+)");
pattern!(GO_PACKAGE, r"^FAIL:?\s?(.+?)\s");
pattern!(GO_SKIP, r"^--- SKIP: (\S+)");

const GO: [(&Pattern, Set); 4] = [
    (&GO_PASS, Set::Passed),
    (&GO_FAIL, Set::Failed),
    (&GO_PACKAGE, Set::Failed),
    (&GO_SKIP, Set::Skipped),
];

/// The same for [`GO`].
fn may_be_gos(line: &str) -> bool {
    line.starts_with("--- ") || line.starts_with("FAIL")
}

/// `go test -v` (cli).
pub(in crate::parse) fn parse_go<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    lasting(log, &GO, may_be_gos, |name| name)
}

/// The same where a subtest counts as what it is a part of (grpc-go, go-zero).
pub(in crate::parse) fn parse_go_bases<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    lasting(log, &GO, may_be_gos, |name| {
        name.rsplit_once('/').map_or(name, |(base, _)| base)
    })
}

/// A failure takes a test out of the other sets, a pass out of the skipped; only what failed can be skipped after that. `base` is the name under
/// which a test is kept; it is looked for under its own. `may_match` turns lines away that no pattern matches.
fn lasting<'a>(
    log: &'a str,
    patterns: &[(&Pattern, Set)],
    may_match: impl Fn(&str) -> bool,
    base: impl Fn(&'a str) -> &'a str,
) -> Parsed<'a> {
    let mut sets = Sets::default();
    for (at, line) in python_lines(log).enumerate() {
        let line = strip(line);
        if !may_match(line) {
            continue;
        }
        for (pattern, set) in patterns {
            let Some(name) = pattern.first(line) else {
                continue;
            };
            match set {
                Set::Passed if sets.has(Set::Failed, name) => continue,
                Set::Passed => sets.remove(Set::Skipped, name),
                Set::Failed => {
                    sets.remove(Set::Passed, name);
                    sets.remove(Set::Skipped, name);
                }
                Set::Skipped => {
                    if sets.has(Set::Passed, name) || !sets.has(Set::Failed, name) {
                        continue;
                    }
                }
            }
            sets.add(*set, Cow::Borrowed(base(name)), at + 1);
        }
    }
    sets.into_parsed()
}
