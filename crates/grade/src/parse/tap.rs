//! The Test Anything Protocol, versions 12 to 14.

use schema::grading::TestStatus;

use super::Parsed;

/// How much deeper each level of subtests is indented.
const INDENT: usize = 4;

/// How many times its own length a log may grow by the names of parents that subtests are named with. Real ones stay below twice; without a
/// limit a hostile log of short lines below one long name would grow hundredfold.
const MAX_GROWTH: usize = 8;

/// Reads TAP. A subtest is named `parent > child`, and by its own name alone as well.
pub(super) fn parse(log: &str) -> Parsed {
    let mut reader = Reader {
        room: log.len().saturating_mul(MAX_GROWTH),
        ..Reader::default()
    };
    for line in log.lines() {
        reader.read(line);
    }
    reader.finish()
}

#[derive(Default)]
struct Reader {
    parsed: Parsed,
    /// Names of the subtests that are open, outermost first.
    open: Vec<String>,
    /// Whether each open subtest is closed by a brace.
    braced: Vec<bool>,
    /// Indentation of the YAML block that we are in.
    yaml: Option<usize>,
    /// Tests that the plan announces at the top level.
    planned: Option<usize>,
    /// Tests seen at the top level.
    seen: usize,
    bailed_out: bool,
    /// Bytes that names of parents may still take.
    room: usize,
}

/// A result line, taken apart.
struct Point<'a> {
    ok: bool,
    /// Number, empty where there is none.
    number: &'a str,
    /// Everything after the number.
    text: &'a str,
}

impl Reader {
    fn read(&mut self, line: &str) {
        self.read_officially(line);
        let text = line.trim_start();
        let indent = line.len() - text.len();
        let text = text.trim_end();
        if let Some(yaml) = self.yaml {
            // A block that is never closed ends where its indentation does.
            let left = !text.is_empty() && indent < yaml;
            if left || (indent == yaml && text == "...") {
                self.yaml = None;
            }
            if !left {
                return;
            }
        }
        if text == "---" && indent > 0 {
            self.yaml = Some(indent);
        } else if let Some(name) = text.strip_prefix("# Subtest: ") {
            self.open_subtest(indent / INDENT, name);
        } else if text == "}" {
            self.close_brace();
        } else if let Some(reason) = text.strip_prefix("Bail out!") {
            self.bail_out(reason.trim());
        } else if let Some(point) = Point::read(text) {
            self.seen += usize::from(indent == 0);
            self.read_point(&point, indent / INDENT);
        } else if indent == 0 {
            self.read_plan(text);
        }
    }

    /// The official harness takes any line with a number, and all that follows the number as the name.
    fn read_officially(&mut self, line: &str) {
        let point = Point::read(line.trim());
        if let Some(point) =
            point.filter(|point| !point.number.is_empty() && !point.text.is_empty())
        {
            let status = if point.ok {
                TestStatus::Passed
            } else {
                TestStatus::Failed
            };
            self.parsed.found_officially(point.text, status);
        }
    }

    /// A subtest's comment stands at the depth of its parent's line, or one deeper in version 14's bare form.
    fn open_subtest(&mut self, depth: usize, name: &str) {
        self.truncate(depth);
        self.open.push(unescape(name));
        self.braced.push(false);
    }

    fn close_brace(&mut self) {
        while let Some(braced) = self.braced.pop() {
            self.open.pop();
            if braced {
                break;
            }
        }
    }

    fn truncate(&mut self, depth: usize) {
        self.open.truncate(depth);
        self.braced.truncate(depth);
    }

    fn bail_out(&mut self, reason: &str) {
        if !self.bailed_out {
            self.parsed
                .notes
                .push(format!("the tests bailed out: {reason}"));
        }
        self.bailed_out = true;
    }

    fn read_point(&mut self, point: &Point<'_>, depth: usize) {
        let depth = depth.min(self.open.len());
        self.truncate(depth);
        let (text, opens) = match point.text.strip_suffix('{') {
            Some(text) if text.is_empty() || text.ends_with(' ') => (text.trim_end(), true),
            _ => (point.text, false),
        };
        let (description, directive) = split_directive(text);
        let description = description.strip_prefix("- ").unwrap_or(description).trim();
        let name = match description {
            "" | "-" => point.number.to_owned(),
            description => unescape(description),
        };
        let status = status(point.ok, directive);
        if !name.is_empty() {
            if depth > 0 {
                self.found_below_parents(&name, status);
            }
            self.parsed.found(name.clone(), status);
        }
        if opens {
            self.open.push(name);
            self.braced.push(true);
        }
    }

    fn found_below_parents(&mut self, name: &str, status: TestStatus) {
        let parents: usize = self.open.iter().map(|parent| parent.len() + 3).sum();
        let Some(room) = self.room.checked_sub(parents) else {
            return;
        };
        self.room = room;
        self.parsed
            .found(format!("{} > {name}", self.open.join(" > ")), status);
    }

    /// `1..N`.
    fn read_plan(&mut self, text: &str) {
        let count = text
            .strip_prefix("1..")
            .and_then(|rest| rest.split_whitespace().next())
            .and_then(|count| count.parse::<usize>().ok());
        if let Some(count) = count {
            self.planned = Some(self.planned.unwrap_or(0).saturating_add(count));
        }
    }

    fn finish(mut self) -> Parsed {
        if let Some(planned) = self.planned.filter(|planned| *planned != self.seen) {
            let seen = self.seen;
            self.parsed
                .notes
                .push(format!("{planned} tests were planned and {seen} ran"));
        }
        self.parsed
    }
}

impl<'a> Point<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (ok, rest) = match line.strip_prefix("not ok") {
            Some(rest) => (false, rest),
            None => (true, line.strip_prefix("ok")?),
        };
        if !rest.is_empty() && !rest.starts_with(' ') {
            return None;
        }
        let rest = rest.trim_start();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, text) = rest.split_at(digits);
        if !text.is_empty() && !text.starts_with(' ') {
            return Some(Self {
                ok,
                number: "",
                text: rest,
            });
        }
        Some(Self {
            ok,
            number,
            text: text.trim_start(),
        })
    }
}

/// What a comment behind a description says about the test.
#[derive(Clone, Copy)]
enum Directive {
    Skip,
    Todo,
}

/// Takes the comments that mean something off a description: directives, and the time that some producers write. Other `#` belong to it.
fn split_directive(text: &str) -> (&str, Option<Directive>) {
    let mut description = text;
    let mut directive = None;
    for (at, _) in text.rmatch_indices('#') {
        let (before, comment) = text.split_at(at);
        let escaped = before
            .bytes()
            .rev()
            .take_while(|byte| *byte == b'\\')
            .count()
            % 2
            == 1;
        if escaped || !(before.is_empty() || before.ends_with(' ')) {
            continue;
        }
        let comment = comment.trim_start_matches('#').trim_start();
        if starts_with(comment, "skip") {
            directive = Some(Directive::Skip);
        } else if starts_with(comment, "todo") {
            directive = Some(Directive::Todo);
        } else if !starts_with(comment, "time=") {
            continue;
        }
        description = before.trim_end();
    }
    (description, directive)
}

fn starts_with(text: &str, word: &str) -> bool {
    text.as_bytes()
        .get(..word.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
}

fn status(ok: bool, directive: Option<Directive>) -> TestStatus {
    match (directive, ok) {
        (Some(Directive::Skip), _) => TestStatus::Skipped,
        (Some(Directive::Todo), false) => TestStatus::Xfail,
        (Some(Directive::Todo), true) => TestStatus::Xpass,
        (None, true) => TestStatus::Passed,
        (None, false) => TestStatus::Failed,
    }
}

/// Takes version 14's escapes out of a description.
fn unescape(text: &str) -> String {
    text.replace("\\#", "#").replace("\\\\", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;
    use TestStatus::{Failed, Passed, Skipped, Xfail, Xpass};

    fn tests(log: &str) -> Vec<(String, TestStatus)> {
        let tests = parse(log).tests.into_iter();
        tests.map(|test| (test.name, test.status)).collect()
    }

    fn assert_tests(log: &str, expected: &[(&str, TestStatus)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(name, status)| ((*name).to_owned(), *status))
            .collect();
        assert_eq!(tests(log), expected);
    }

    #[test]
    fn lines_of_version_12() {
        assert_tests(
            "1..5\nok 1 - adds\nnot ok 2 - subtracts\nok 3\nok\nok 5 5 is odd\nokay then\nnot okay\n# ok 6\n",
            &[
                ("adds", Passed),
                ("subtracts", Failed),
                ("3", Passed),
                ("5 is odd", Passed),
            ],
        );
    }

    #[test]
    fn directives() {
        assert_tests(
            "ok 1 a # SKIP no network\nnot ok 2 b # TODO later\nok 3 c # todo\nok 4 d # skipped: x\nok 5 issue #6\nok 6 e \\# TODO\nok 7 f # time=12.5ms\nok 8 # SKIP all\n",
            &[
                ("a", Skipped),
                ("b", Xfail),
                ("c", Xpass),
                ("d", Skipped),
                ("issue #6", Passed),
                ("e # TODO", Passed),
                ("f", Passed),
                ("8", Skipped),
            ],
        );
    }

    #[test]
    fn subtests_of_version_14() {
        assert_tests(
            "TAP version 14\n# Subtest: parent\n    # Subtest: child\n    ok 1 - child\n      ---\n      duration_ms: 1\n      note: |\n        not ok 9 - quoted\n      ...\n    not ok 2 - other\n    1..2\nnot ok 1 - parent\n1..1\n",
            &[
                ("parent > child", Passed),
                ("child", Passed),
                ("parent > other", Failed),
                ("other", Failed),
                ("parent", Failed),
            ],
        );
        assert_tests(
            "ok 1 - buffered {\n    ok 1 - inner # time=1ms\n    1..1\n}\nok 2 - after\n",
            &[
                ("buffered", Passed),
                ("buffered > inner", Passed),
                ("inner", Passed),
                ("after", Passed),
            ],
        );
    }

    #[test]
    fn long_names_of_parents_do_not_blow_a_log_up() {
        let parent = "p".repeat(100_000);
        let log = format!("# Subtest: {parent}\n{}", "    ok 1 a\n".repeat(10_000));
        let tests = parse(&log).tests;
        let alone = tests.iter().filter(|test| test.name == "a").count();
        assert_eq!(alone, 10_000);
        let bytes: usize = tests.iter().map(|test| test.name.len()).sum();
        assert!(bytes < 10 * log.len(), "{bytes} of {}", log.len());
    }

    #[test]
    fn a_block_without_end_swallows_nothing_after_it() {
        assert_tests(
            "ok 1 - a\n  ---\n  x: 1\nnot ok 2 - b\n",
            &[("a", Passed), ("b", Failed)],
        );
    }

    #[test]
    fn plans_and_bail_out_are_noted() {
        assert_eq!(
            parse("1..3\nok 1 a\n").notes,
            ["3 tests were planned and 1 ran"]
        );
        assert_eq!(
            parse("ok 1 a\nBail out! no disk\n").notes,
            ["the tests bailed out: no disk"]
        );
        assert!(parse("ok 1 a\n1..1\n").notes.is_empty());
    }

    #[test]
    fn official_names_are_all_that_follows_the_number() {
        let parsed = parse("  ok 1 - a # SKIP x\nnot ok 2 b\nok 3\n");
        let names: Vec<_> = parsed
            .official
            .iter()
            .map(|test| (test.name.as_str(), test.status))
            .collect();
        assert_eq!(names, [("- a # SKIP x", Passed), ("b", Failed)]);
    }
}
