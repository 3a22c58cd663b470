//! Django's own runner (`runtests.py --verbosity 2`).
//!
//! Rules of `parse_log_django`, the same in SWE-bench 4.1.0 and 5.0.2. A test is named by its first line of documentation where it has one, so
//! names repeat. Output may come between a name and its `ok`.

use std::sync::LazyLock;

use regex::Regex;
use schema::grading::TestStatus::{self, Error, Failed, Passed, Skipped};

use crate::parse::context::Context;
use crate::parse::lines::{Ahead, Places, numbered, split};
use crate::parse::result::Parsed;
use crate::parse::text::{strip, words};

/// A test whose name holds its own status line.
const VERSION: &str = "--version is equivalent to version";

/// The start of a line that a migration's progress is glued to.
const GLUED: &str = "Applying sites.0002_alter_domain_unique...test_no_migrations";

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut reader = Reader {
        parsed: Parsed::with_whole_names(),
        previous: None,
        version: Ahead::of(log, VERSION),
        dots: Ahead::of(log, " ... "),
    };
    for (number, line) in numbered(log) {
        reader.read(strip(line), number);
    }
    interrupted(log, &mut reader.parsed);
    reader.parsed
}

struct Reader<'a> {
    parsed: Parsed<'a>,
    /// The last name that a status was to follow.
    previous: Option<&'a str>,
    /// Where [`VERSION`] stands.
    version: Ahead<'a>,
    /// Where what parts names from statuses stands.
    dots: Ahead<'a>,
}

impl<'a> Reader<'a> {
    fn read(&mut self, line: &'a str, number: usize) {
        if self.version.find(line).is_some() {
            self.found(VERSION, Passed, number);
        }
        let line = if let Some(at) = self.dots.find(line) {
            self.read_dotted(line, at, number)
        } else {
            self.read_heading(line, number, "FAIL:", Failed);
            self.read_heading(line, number, "ERROR:", Error);
            line
        };
        if line.starts_with("ok")
            && let Some(name) = self.previous
        {
            self.found(name, Passed, number);
        }
    }

    /// Reads `name ... status`, given where the dots are. Gives the line without what is glued to it.
    fn read_dotted(&mut self, line: &'a str, dots: usize, number: usize) -> &'a str {
        self.previous = line.get(..dots);
        let line = self.read_passed(line, number);
        if let Some((name, _)) = split(line, " ... skipped") {
            self.found(name, Skipped, number);
        }
        for (end, start, status) in [
            (" ... FAIL", "FAIL:", Failed),
            (" ... ERROR", "ERROR:", Error),
        ] {
            if line.ends_with(end)
                && let Some((name, _)) = split(line, end)
            {
                self.found(name, status, number);
            }
            self.read_heading(line, number, start, status);
        }
        line
    }

    /// Reads `name ... ok`. Gives the line without what is glued to it.
    fn read_passed(&mut self, line: &'a str, number: usize) -> &'a str {
        let ends = [" ... ok", " ... OK", " ...  OK"];
        let Some(end) = ends.into_iter().find(|end| line.ends_with(end)) else {
            return line;
        };
        let glued = line
            .starts_with(GLUED)
            .then(|| split(line, "..."))
            .flatten();
        let line = glued.map_or(line, |(_, rest)| strip(rest));
        self.found(line.strip_suffix(end).unwrap_or(line), Passed, number);
        line
    }

    /// Reads the heading `FAIL: name (class)`, of which officially only the first word counts.
    fn read_heading(&mut self, line: &'a str, number: usize, start: &str, status: TestStatus) {
        if let Some(rest) = line.strip_prefix(start) {
            match words(line).nth(1) {
                Some(name) => self.parsed.found(name, status, number),
                None => self
                    .parsed
                    .breaks_officially(number, "a heading without a name"),
            }
            if !strip(rest).is_empty() {
                self.parsed.found_whole(strip(rest), status, number);
            }
        }
    }

    fn found(&mut self, name: &'a str, status: TestStatus, number: usize) {
        self.parsed.found(name, status, number);
        self.parsed.found_whole(name, status, number);
    }
}

/// Reads tests whose `ok` stands on a line of its own, below output that is known to come between.
fn interrupted<'a>(log: &'a str, parsed: &mut Parsed<'a>) {
    static FORMS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
        // Name, dots, then: what the output begins with, what it may hold, what it ends with.
        let dots = r"(?m)^(.*?)[\s\x1c-\x1f]\.\.\.[\s\x1c-\x1f]";
        [
            (
                " silenced).\nok",
                r"Testing against Django installed in (?s:.*?) silenced\)\.\nok$",
            ),
            ("/\nok", r"Internal Server Error: /.*/\nok$"),
            (
                "(0 silenced)\nok",
                r"System check identified no issues \(0 silenced\)\nok$",
            ),
        ]
        .into_iter()
        .filter_map(|(end, form)| Some((end, Regex::new(&format!("{dots}{form}")).ok()?)))
        .collect()
    });
    for (end, form) in FORMS.iter() {
        // Most logs have none, and that is quick to see.
        if memchr::memmem::find(log.as_bytes(), end.as_bytes()).is_none() {
            continue;
        }
        let mut places = Places::of(log);
        for name in form.captures_iter(log).filter_map(|found| found.get(1)) {
            let number = places.line(name.start());
            parsed.found(name.as_str(), Passed, number);
            parsed.found_whole(name.as_str(), Passed, number);
        }
    }
    // Officially these come last.
    if let Some(whole) = &mut parsed.whole {
        whole.sort_by_key(|test| test.line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn official(log: &str) -> Vec<(String, String)> {
        let parsed = parse(log, &Context::default());
        let results = parsed.official.iter();
        results
            .map(|test| (test.name.to_string(), test.word.to_string()))
            .collect()
    }

    fn assert_official(log: &str, expected: &[(&str, &str)]) {
        let expected: Vec<(String, String)> = expected
            .iter()
            .map(|(name, word)| ((*name).to_owned(), (*word).to_owned()))
            .collect();
        assert_eq!(official(log), expected, "{log}");
    }

    #[test]
    fn lines_with_a_status() {
        assert_official(
            "test_a (x.T) ... ok\nDocs of b. ... OK\n  test_c (x.T) ...  OK\ntest_d (x.T) ... skipped 'why'\ntest_e (x.T) ... FAIL\ntest_f (x.T) ... ERROR\ntest_g (x.T) ... expected failure\n",
            &[
                ("test_a (x.T)", "PASSED"),
                ("Docs of b.", "PASSED"),
                ("test_c (x.T)", "PASSED"),
                ("test_d (x.T)", "SKIPPED"),
                ("test_e (x.T)", "FAILED"),
                ("test_f (x.T)", "ERROR"),
            ],
        );
    }

    #[test]
    fn headings_name_the_test_alone() {
        let log = "FAIL: test_a (x.T)\nERROR: test_b (x.T)\nFAIL:\n";
        assert_official(log, &[("test_a", "FAILED"), ("test_b", "ERROR")]);
        let parsed = parse(log, &Context::default());
        assert_eq!(parsed.tests()[0].name, "test_a (x.T)");
        assert!(parsed.official_failure.is_some());
    }

    #[test]
    fn output_between_a_name_and_its_status() {
        assert_official(
            "test_a (x.T) ... Some output\nok\n",
            &[("test_a (x.T)", "PASSED")],
        );
        assert_official(
            "test_a (x.T) ... Internal Server Error: /a/\nok\n",
            &[("test_a (x.T)", "PASSED"), ("test_a (x.T)", "PASSED")],
        );
        assert_official(
            "test_a (x.T) ... Testing against Django installed in '/x' up to 2 processes\nSystem check identified no issues (3 silenced).\nok\n",
            &[("test_a (x.T)", "PASSED"), ("test_a (x.T)", "PASSED")],
        );
        assert_official(
            &format!("{GLUED} (x.T) ... ok"),
            &[("test_no_migrations (x.T)", "PASSED")],
        );
    }
}
