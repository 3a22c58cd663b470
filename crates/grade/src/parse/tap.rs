//! The Test Anything Protocol, versions 12 to 14.

use schema::grading::TestStatus;

use super::context::Context;
use super::lines::numbered;
use super::result::Parsed;
use super::suites::Room;
use super::text::{after_digits, strip};

/// How much deeper each level of subtests is indented.
const INDENT: usize = 4;

/// Reads TAP. A subtest is named `parent > child`, and by its own name alone as well.
pub(super) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut reader = Reader {
        parsed: Parsed::with_whole_names(),
        room: Room::of(log),
        line: 0,
        open: Vec::new(),
        braced: Vec::new(),
        yaml: None,
        planned: None,
        seen: 0,
        bailed_out: false,
    };
    for (number, line) in numbered(log) {
        reader.line = number;
        reader.read(line);
    }
    reader.finish()
}

struct Reader<'a> {
    parsed: Parsed<'a>,
    /// Number of the line that is read.
    line: usize,
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
    room: Room,
}

/// A result line, taken apart.
struct Point<'a> {
    ok: bool,
    /// Number, empty where there is none.
    number: &'a str,
    /// Everything after the number.
    text: &'a str,
}

impl<'a> Reader<'a> {
    fn read(&mut self, line: &'a str) {
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

    /// Rules of `parse_log_tap`, the same in SWE-bench 4.1.0 and 5.0.2: any line with a number and a name, which is all that follows.
    fn read_officially(&mut self, line: &'a str) {
        let line = strip(line);
        let (rest, status) = match line.strip_prefix("ok ") {
            Some(rest) => (rest, TestStatus::Passed),
            None => match line.strip_prefix("not ok ") {
                Some(rest) => (rest, TestStatus::Failed),
                None => return,
            },
        };
        let name = after_digits(rest).and_then(|rest| rest.strip_prefix(' '));
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            self.parsed.found(name, status, self.line);
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
            self.parsed.found_whole(name.clone(), status, self.line);
        }
        if opens {
            self.open.push(name);
            self.braced.push(true);
        }
    }

    fn found_below_parents(&mut self, name: &str, status: TestStatus) {
        let names = self.open.iter().map(String::as_str);
        let names = names.chain(std::iter::once(name));
        match self.room.join(names, " > ") {
            Some(name) => self.parsed.found_whole(name, status, self.line),
            None => self.parsed.out_of_room(),
        }
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

    fn finish(mut self) -> Parsed<'a> {
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
        let parsed = parse(log, &Context::default());
        let tests = parsed.tests().iter();
        tests
            .map(|test| (test.name.to_string(), test.word.status().unwrap()))
            .collect()
    }

    fn notes(log: &str) -> Vec<String> {
        parse(log, &Context::default()).notes
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
        let parsed = parse(&log, &Context::default());
        let tests = parsed.tests();
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
        assert_eq!(notes("1..3\nok 1 a\n"), ["3 tests were planned and 1 ran"]);
        assert_eq!(
            notes("ok 1 a\nBail out! no disk\n"),
            ["the tests bailed out: no disk"]
        );
        assert!(notes("ok 1 a\n1..1\n").is_empty());
    }

    #[test]
    fn official_names_are_all_that_follows_the_number() {
        let log = "  ok 1 - a # SKIP x\nnot ok 2 b\nok 3\nok 4  c\nok  5 d\n";
        let parsed = parse(log, &Context::default());
        let names: Vec<_> = parsed
            .official
            .iter()
            .map(|test| (&*test.name, test.word.status().unwrap()))
            .collect();
        assert_eq!(
            names,
            [("- a # SKIP x", Passed), ("b", Failed), (" c", Passed)]
        );
    }
}
