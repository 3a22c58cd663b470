//! The Test Anything Protocol, versions 12 to 14.

use schema::grading::TestStatus;

use super::Parsed;

/// How much deeper each level of subtests is indented.
const INDENT: usize = 4;

/// Reads TAP. A subtest is named `parent > child`, and by its own name alone as well.
pub(super) fn parse(log: &str) -> Parsed {
    let mut reader = Reader::default();
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
            if indent == yaml && text == "..." {
                self.yaml = None;
            }
            return;
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
        if depth == 0 {
            self.seen += 1;
        }
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
                self.parsed
                    .found(format!("{} > {name}", self.open.join(" > ")), status);
            }
            self.parsed.found(name.clone(), status);
        }
        if opens {
            self.open.push(name);
            self.braced.push(true);
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

/// What follows an unescaped ` #`.
enum Directive {
    Skip,
    Todo,
}

/// The description, and the directive after it. Other comments after a ` # time=` are dropped.
fn split_directive(text: &str) -> (&str, Option<Directive>) {
    let mut search_end = text.len();
    while let Some(at) = text.get(..search_end).and_then(|text| text.rfind('#')) {
        search_end = at;
        let (description, comment) = text.split_at(at);
        let escaped = description
            .bytes()
            .rev()
            .take_while(|byte| *byte == b'\\')
            .count()
            % 2
            == 1;
        if escaped || !(description.is_empty() || description.ends_with(' ')) {
            continue;
        }
        let comment = comment
            .trim_start_matches('#')
            .trim_start()
            .to_ascii_lowercase();
        let directive = if comment.starts_with("skip") {
            Some(Directive::Skip)
        } else if comment.starts_with("todo") {
            Some(Directive::Todo)
        } else if comment.starts_with("time=") {
            None
        } else {
            continue;
        };
        let (description, earlier) = split_directive(description.trim_end());
        return (description, directive.or(earlier));
    }
    (text, None)
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
