//! Evaluation scripts for rows that carry none.
//!
//! They do what those of the official harness's generation 4.1 do, in the same order: prepare, install (the patch may have changed what is
//! built), put the tests in their places, and only then run them, between marks. Installation comes first so that nothing which the patch
//! makes it do can touch the tests. `docs/design/datasets.md` lists where they differ.

use std::fmt::Write;

use crate::directives::quoted;
use crate::log::{END, START, TEST_EXIT};
use crate::spec::TestPaths;

/// What is the same on every machine: the time zone, which the official images have too, and the order of Python's sets. Nothing here changes what
/// tests print or skip (`NO_COLOR` and `CI` do both). Set-up commands come after it, and may say otherwise.
const ENVIRONMENT: &str = "export TZ=UTC PYTHONHASHSEED=0\n";

/// What a script is made of; commands are lines of shell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Recipe {
    /// Whether an unset variable is an error, as the official scripts have it.
    pub(crate) strict: bool,
    /// Run first.
    pub(crate) setup: Vec<String>,
    /// Installs the project again.
    pub(crate) install: Vec<String>,
    /// Run when the tests are in their places.
    pub(crate) build: Vec<String>,
    /// Runs the tests, or prints what they did: its output is what the parser reads.
    pub(crate) test: Vec<String>,
}

/// The tests that a script puts into their places.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tests<'a> {
    pub(crate) patch: &'a str,
    pub(crate) paths: &'a TestPaths,
    pub(crate) base_commit: Option<&'a str>,
}

impl Recipe {
    /// The script.
    pub(crate) fn script(&self, tests: Option<Tests<'_>>) -> String {
        let mut script = String::from("#!/bin/bash\n");
        script.push_str(if self.strict {
            "set -uxo pipefail\n"
        } else {
            "set -x\n"
        });
        script.push_str(ENVIRONMENT);
        lines(&mut script, &self.setup);
        lines(&mut script, &self.install);
        if let Some(tests) = tests.filter(|tests| !tests.patch.trim().is_empty()) {
            tests.place(&mut script);
        }
        lines(&mut script, &self.build);
        let _ = writeln!(script, ": '{START}'");
        lines(&mut script, &self.test);
        let _ = write!(
            script,
            "patchmill_tests=$?\n: '{END}'\n{{ set +x; }} 2>/dev/null\n\
             printf '\\n{TEST_EXIT}: %s\\n' \"$patchmill_tests\"\nexit \"$patchmill_tests\"\n"
        );
        script
    }
}

impl Tests<'_> {
    /// Undoes what happened to the test files, then applies the test patch: with git where there is one, else with patch.
    fn place(&self, script: &mut String) {
        let words = |paths: &mut dyn Iterator<Item = &patch::PatchPath>| -> Vec<String> {
            paths.map(|path| quoted(&path.to_str_lossy())).collect()
        };
        let restore = words(&mut self.paths.restore.iter()).join(" ");
        let remove = words(&mut self.paths.remove.iter()).join(" ");
        // Directories of other owners, as images have them, are refused by git unless they are named.
        script.push_str("git config --global --add safe.directory \"$PWD\"\n");
        if !restore.is_empty() {
            let head = format!("git checkout HEAD -- {restore}\n");
            let _ = match self.base_commit {
                // An image may hold the commit's files without the commit.
                Some(base) => write!(
                    script,
                    "git checkout {} -- {restore} || {head}",
                    quoted(base)
                ),
                None => write!(script, "{head}"),
            };
        }
        if !remove.is_empty() {
            let _ = writeln!(script, "rm -rf -- {remove}");
        }
        let text = here_document("cat", self.patch);
        let _ = write!(
            script,
            "patchmill_test_patch() {{\n{text}}}\n\
             patchmill_test_patch | git apply --verbose - \\\n    || patchmill_test_patch | patch --batch --forward -p1 \\\n    \
             || {{ echo 'the test patch does not apply'; exit 1; }}\n"
        );
    }
}

/// `command` with `text` as its input, ending in one newline.
pub(crate) fn here_document(command: &str, text: &str) -> String {
    let mut end = String::from("PATCHMILL_END_OF_TEXT");
    while text.lines().any(|line| line == end) {
        end.push('_');
    }
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    format!("{command} <<'{end}'\n{text}{newline}{end}\n")
}

fn lines(script: &mut String, lines: &[String]) {
    for line in lines.iter().filter(|line| !line.trim().is_empty()) {
        script.push_str(line.trim_end());
        script.push('\n');
    }
}
