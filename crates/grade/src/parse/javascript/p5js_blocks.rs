//! Blocks of other output among p5.js's tests.

use std::collections::HashMap;

use crate::parse::lines::numbered;
use crate::parse::text::{is_word, strip_end};

/// What is left of a log.
pub(super) struct Rest {
    pub(super) text: String,
    /// The log's line that each line begins in.
    lines: Vec<usize>,
}

impl Rest {
    /// The log's line that a line of the text begins in; lines are counted from 1.
    pub(super) fn line(&self, number: usize) -> usize {
        let index = number.saturating_sub(1);
        self.lines.get(index).copied().unwrap_or_default()
    }
}

/// Takes out blocks of JSON: from a line that ends with an opening bracket to one that is the closing one, and lines that are whole.
pub(super) fn without_json(text: &str) -> Rest {
    let (mut in_object, mut in_list) = (false, false);
    let (mut kept, mut lines) = (String::with_capacity(text.len()), Vec::new());
    for (number, raw) in numbered(text) {
        let line = strip_end(raw);
        let inside = in_object || in_list;
        if line.ends_with('{') {
            in_object = true;
        } else if line.ends_with('[') {
            in_list = true;
        } else if line == "}" && in_object {
            in_object = false;
        } else if line == "]" && in_list {
            in_list = false;
        } else if !inside && !is_whole(line) {
            if !lines.is_empty() {
                kept.push('\n');
            }
            lines.push(number);
            kept.push_str(raw);
        }
    }
    Rest { text: kept, lines }
}

fn is_whole(line: &str) -> bool {
    (line.starts_with('{') && line.ends_with('}')) || (line.starts_with('[') && line.ends_with(']'))
}

/// Rounds after which text that keeps forming new blocks is left as it is.
const MAX_ROUNDS: usize = 16;

/// Takes out blocks of XML, from `<tag>` to its `</tag>`, until there are none. Tags that are opened more often than closed stay.
pub(super) fn without_xml(mut rest: Rest) -> Rest {
    for _ in 0..MAX_ROUNDS {
        match without_outer(&rest) {
            Some(shorter) => rest = shorter,
            None => break,
        }
    }
    rest
}

/// What is left while parts are taken out from left to right.
struct Cutting<'r> {
    from: &'r Rest,
    /// How much of the text was looked at, and how many line ends are in that.
    at: usize,
    line_ends: usize,
    left: Rest,
}

impl<'r> Cutting<'r> {
    fn of(from: &'r Rest) -> Self {
        Self {
            from,
            at: 0,
            line_ends: 0,
            left: Rest {
                text: String::new(),
                lines: from.lines.first().copied().into_iter().collect(),
            },
        }
    }

    /// Keeps what is before a place.
    fn keep(&mut self, until: usize) {
        let part = self.from.text.get(self.at..until).unwrap_or_default();
        self.left.text.push_str(part);
        let first = self.line_ends + 1;
        self.pass(until);
        let lines = self.from.lines.get(first..=self.line_ends);
        self.left.lines.extend_from_slice(lines.unwrap_or_default());
    }

    /// Leaves out what is before a place.
    fn pass(&mut self, until: usize) {
        let part = self.from.text.get(self.at..until).unwrap_or_default();
        self.line_ends += memchr::memchr_iter(b'\n', part.as_bytes()).count();
        self.at = until;
    }
}

/// Takes out all blocks of one reading from left to right; `None` when there are none.
fn without_outer(rest: &Rest) -> Option<Rest> {
    let text = &*rest.text;
    let tags = tags(text);
    let mut last_end: HashMap<&str, usize> = HashMap::new();
    for tag in tags.iter().filter(|tag| !tag.opens) {
        last_end.insert(tag.name, tag.end);
    }
    let mut cutting = Cutting::of(rest);
    let mut at = 0;
    while let Some(tag) = tags.get(at) {
        at += 1;
        let closes = |last: &&usize| **last > tag.end;
        let Some(last) = last_end.get(tag.name).filter(closes) else {
            continue;
        };
        if !tag.opens || tag.start < cutting.at {
            continue;
        }
        let (end, still_open) = block_end(tags.get(at - 1..).unwrap_or_default(), tag.name, *last);
        cutting.keep(tag.start);
        for _ in 0..still_open {
            let again = text.get(tag.start..tag.end).unwrap_or_default();
            cutting.left.text.push_str(again);
        }
        cutting.pass(end);
    }
    (cutting.at > 0).then(|| {
        cutting.keep(text.len());
        cutting.left
    })
}

/// Where the block of a tag ends, and how many of its tags are open there, given the tags from its first one on.
fn block_end(tags: &[Tag<'_>], name: &str, last: usize) -> (usize, usize) {
    let mut open = 0;
    for tag in tags.iter().filter(|tag| tag.name == name) {
        if tag.opens {
            open += 1;
        } else {
            open -= 1;
            if open == 0 || tag.end == last {
                return (tag.end, open);
            }
        }
    }
    (last, open)
}

/// `<name>` or `</name>`.
struct Tag<'a> {
    name: &'a str,
    start: usize,
    end: usize,
    opens: bool,
}

fn tags(text: &str) -> Vec<Tag<'_>> {
    let mut tags = Vec::new();
    for start in memchr::memchr_iter(b'<', text.as_bytes()) {
        let rest = text.get(start + 1..).unwrap_or_default();
        let (inside, opens) = match rest.strip_prefix('/') {
            Some(inside) => (inside, false),
            None => (rest, true),
        };
        let after = inside.trim_start_matches(is_word);
        let name = inside.get(..inside.len() - after.len()).unwrap_or_default();
        if !name.is_empty() && after.starts_with('>') {
            tags.push(Tag {
                name,
                start,
                end: text.len() - after.len() + 1,
                opens,
            });
        }
    }
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_json() {
        for (text, left, lines) in [
            ("a\nx {\nb\n}\nc\n[1]\n{}\nd", "a\nc\nd", &[1, 5, 8][..]),
            ("a\n x: [\nb\n ]\nc\n]\nd", "a\nd", &[1, 7]),
            ("{}", "", &[]),
        ] {
            let rest = without_json(text);
            assert_eq!((&*rest.text, &*rest.lines), (left, lines), "{text}");
        }
    }

    #[test]
    fn blocks_of_xml() {
        for (text, rest) in [
            ("a<b>c</b>d", "ad"),
            ("a<b><b>c</b>d</b>e", "ae"),
            ("a<b><b>c</b>d", "a<b>d"),
            ("a<b>c<d>e</b>f</d>g", "af</d>g"),
            ("a</b>c<b>d", "a</b>c<b>d"),
            ("<a>x<b></b>", "<a>x"),
            ("<a x=1>y</a>", "<a x=1>y</a>"),
            ("<<a>b></a>c", "<c"),
        ] {
            assert_eq!(without_xml(without_json(text)).text, rest, "{text}");
        }
    }

    #[test]
    fn lines_are_those_of_the_log() {
        for (text, left, lines) in [
            ("a\n<b>\n</b>c\nd", "a\nc\nd", &[1, 2, 4][..]),
            ("<b>\n\n</b>\nd\n<b>x</b>e", "\nd\ne", &[1, 4, 5]),
            ("a<b>\n<b>\n</b>c\n", "a<b>c\n", &[1, 4]),
            (
                "<<a>\nb></a>\n\nc</<d>\n</d>b>\ne",
                "<\n\nc</b>\ne",
                &[1, 3, 4, 6],
            ),
        ] {
            let rest = without_xml(without_json(text));
            assert_eq!((&*rest.text, &*rest.lines), (left, lines), "{text:?}");
        }
    }
}
