//! Runners whose every line stands alone.

use std::borrow::Cow;

use super::sets::{Set, Sets};
use super::{by_lines, pull_request};
use crate::parse::context::Context;
use crate::parse::pattern::pattern;
use crate::parse::result::Parsed;
use crate::parse::text::{python_lines, strip};

pattern!(MAKE_PASS, r"^PASS: (\S+)$");
pattern!(MAKE_FAIL, r"^FAIL: (\S+)$");
pattern!(MAKE_SKIP, r"^SKIP: (\S+)$");

/// automake's lines `PASS: tests/x` (jq).
pub(in crate::parse) fn parse_automake<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    by_lines(
        log,
        &[
            (&MAKE_PASS, Set::Passed),
            (&MAKE_FAIL, Set::Failed),
            (&MAKE_SKIP, Set::Skipped),
        ],
    )
}

/// What the tests of zstd's older pull requests say once when all of them passed.
const ZSTD: [(std::ops::RangeInclusive<u64>, &str); 2] = [
    (
        1831..=2703,
        "make[1]: Leaving directory '/home/zstd/doc/educational_decoder'",
    ),
    (1230..=1748, "PASS: all POOL tests"),
];

/// zstd: automake's lines; all tests are one in older pull requests.
pub(in crate::parse) fn parse_zstd<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    let number = pull_request(context);
    let mut old = ZSTD.iter();
    let Some((_, said)) = old.find(|(numbers, _)| numbers.contains(&number)) else {
        return parse_automake(log, context);
    };
    let mut sets = Sets::default();
    let set = match log.matches(said).count() {
        1 => Set::Passed,
        _ => Set::Failed,
    };
    sets.add(set, Cow::Borrowed("all tests"), 0);
    sets.into_parsed()
}

pattern!(GTEST_PASS, r"^\[       OK \] (\S+?)( \(.+\))?$");
pattern!(GTEST_FAIL, r"^\[  FAILED  \] (\S+?)( \(.+\))?$");
pattern!(
    COLOURED_PASS,
    r"^\x1b\[0;32m\[       OK \] \x1b\[0m(\S+?)( \(.+\))?$"
);
pattern!(
    COLOURED_FAIL,
    r"^\x1b\[0;31m\[  FAILED  \] \x1b\[0m(\S+?)( \(.+\))?$"
);
pattern!(PONY_PASS, r"^\x1b\[92m---- Passed: (\S+?)\x1b\[0m$");
pattern!(PONY_FAIL, r"^\x1b\[91m\*\*\*\* FAILED: (\S+?)\x1b\[0m$");

/// `GoogleTest`, with its colours and without, and ponytest (ponyc, cpp-httplib).
pub(in crate::parse) fn parse_gtest<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    by_lines(
        log,
        &[
            (&GTEST_PASS, Set::Passed),
            (&COLOURED_PASS, Set::Passed),
            (&PONY_PASS, Set::Passed),
            (&GTEST_FAIL, Set::Failed),
            (&COLOURED_FAIL, Set::Failed),
            (&PONY_FAIL, Set::Failed),
        ],
    )
}

pattern!(
    CTEST_PASS,
    r"^\d+/\d+\s*Test\s*#\d+:\s*(.*?)\s*\.+\s*Passed"
);
pattern!(
    CTEST_FAIL,
    r"^\d+/\d+\s*Test\s*#\d+:\s*(.*?)\s*\.+\s*\*+Failed$"
);

/// ctest (fmt, json, simdjson): a failure counts where nothing follows the word.
pub(in crate::parse) fn parse_ctest<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    by_lines(
        log,
        &[(&CTEST_PASS, Set::Passed), (&CTEST_FAIL, Set::Failed)],
    )
}

pattern!(CATCH_CHECK_PASS, r"^-- performing test (.+) - success$");
pattern!(CATCH_CHECK_FAIL, r"^-- performing test (.+) - failed$");
pattern!(CATCH_CHECK_SKIP, r"^-- performing test (.+) - skipped$");
pattern!(
    CATCH_PASS,
    r"^\d+/\d+ test\s+#\d+: (.+) \.+\s+ passed\s+.+$"
);
pattern!(
    CATCH_FAIL,
    r"^\d+/\d+ test\s+#\d+: (.+) \.+\*\*\*failed\s+.+$"
);

/// Catch2: ctest and the checks of `CMake`, all in lower case.
pub(in crate::parse) fn parse_catch2<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let patterns = [
        (&CATCH_CHECK_PASS, Set::Passed),
        (&CATCH_PASS, Set::Passed),
        (&CATCH_CHECK_FAIL, Set::Failed),
        (&CATCH_FAIL, Set::Failed),
        (&CATCH_CHECK_SKIP, Set::Skipped),
    ];
    let mut sets = Sets::default();
    for (at, line) in python_lines(log).enumerate() {
        let line = strip(line).to_lowercase();
        for (pattern, set) in patterns {
            if let Some(name) = pattern.first(&line) {
                sets.add(set, Cow::Owned(name.to_owned()), at + 1);
            }
        }
    }
    sets.into_parsed()
}

pattern!(CARGO_PASS, r"^test (\S+) ... ok");
pattern!(CARGO_FAIL, r"^test (\S+) ... FAILED");
pattern!(CARGO_SKIP, r"^test (\S+) ... ignored");

/// `cargo test`.
pub(in crate::parse) fn parse_cargo<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    by_lines(
        log,
        &[
            (&CARGO_PASS, Set::Passed),
            (&CARGO_FAIL, Set::Failed),
            (&CARGO_SKIP, Set::Skipped),
        ],
    )
}

pattern!(MOCHA_PASS, r"^✔ (.+?)(?:\s\(\d*\.?\d*\s*\w+\))?$");
pattern!(MOCHA_FAIL, r"^\d+\) (.+?)(?:\s\(\d*\.?\d*\s*\w+\))?$");

/// mocha's list (axios, some of express).
pub(in crate::parse) fn parse_mocha<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    by_lines(
        log,
        &[(&MOCHA_PASS, Set::Passed), (&MOCHA_FAIL, Set::Failed)],
    )
}

pattern!(VITEST_PASS, r"^✓ (.+?)(?:\s*\d*\.?\d+\s*(?:ms|s|m))?$");
pattern!(VITEST_FAIL, r"^× (.+?)(?:\s*\d*\.?\d+\s*(?:ms|s|m))?$");

/// vitest (svelte, Vue).
pub(in crate::parse) fn parse_vitest<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    by_lines(
        log,
        &[(&VITEST_PASS, Set::Passed), (&VITEST_FAIL, Set::Failed)],
    )
}

pattern!(
    INSOMNIA_PASS,
    r"^✓ (.+?)(?:\s\(\d+\s+tests\))?(?:\s*\(?\d*\.?\d+\s*\w+\)?)?$"
);
pattern!(INSOMNIA_FILE, r"^PASS (.+?)(?:\s\(\d*\.?\d+\s*\w+\))?$");
pattern!(INSOMNIA_FAIL, r"^FAIL (.+?)(?:\s\(\d*\.?\d+\s*\w+\))?$");

/// insomnia: vitest's and jest's files.
pub(in crate::parse) fn parse_insomnia<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    by_lines(
        log,
        &[
            (&INSOMNIA_PASS, Set::Passed),
            (&INSOMNIA_FILE, Set::Passed),
            (&INSOMNIA_FAIL, Set::Failed),
        ],
    )
}
