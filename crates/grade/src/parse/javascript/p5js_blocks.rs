//! Blocks of other output among p5.js's tests.

use std::collections::HashMap;

use crate::parse::text::{is_word, strip_end};

/// Takes out blocks of JSON: from a line that ends with an opening bracket to one that is the closing one, and lines that are whole.
pub(super) fn without_json(text: &str) -> String {
    let (mut in_object, mut in_list) = (false, false);
    let mut kept = String::with_capacity(text.len());
    let mut first = true;
    for raw in text.split('\n') {
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
            if !first {
                kept.push('\n');
            }
            first = false;
            kept.push_str(raw);
        }
    }
    kept
}

fn is_whole(line: &str) -> bool {
    (line.starts_with('{') && line.ends_with('}')) || (line.starts_with('[') && line.ends_with(']'))
}

/// Rounds after which text that keeps forming new blocks is left as it is.
const MAX_ROUNDS: usize = 16;

/// Takes out blocks of XML, from `<tag>` to its `</tag>`, until there are none. Tags that are opened more often than closed stay.
pub(super) fn without_xml(mut text: String) -> String {
    for _ in 0..MAX_ROUNDS {
        match without_outer(&text) {
            Some(shorter) => text = shorter,
            None => break,
        }
    }
    text
}

/// Takes out all blocks of one reading from left to right; `None` when there are none.
fn without_outer(text: &str) -> Option<String> {
    let tags = tags(text);
    let mut last_end: HashMap<&str, usize> = HashMap::new();
    for tag in tags.iter().filter(|tag| !tag.opens) {
        last_end.insert(tag.name, tag.end);
    }
    let mut kept = String::new();
    let mut from = 0;
    let mut at = 0;
    while let Some(tag) = tags.get(at) {
        at += 1;
        let closes = |last: &&usize| **last > tag.end;
        let Some(last) = last_end.get(tag.name).filter(closes) else {
            continue;
        };
        if !tag.opens || tag.start < from {
            continue;
        }
        let (end, still_open) = block_end(tags.get(at - 1..).unwrap_or_default(), tag.name, *last);
        kept.push_str(text.get(from..tag.start).unwrap_or_default());
        for _ in 0..still_open {
            kept.push_str(text.get(tag.start..tag.end).unwrap_or_default());
        }
        from = end;
    }
    (from > 0).then(|| {
        kept.push_str(text.get(from..).unwrap_or_default());
        kept
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
        assert_eq!(without_json("a\nx {\nb\n}\nc\n[1]\n{}\nd"), "a\nc\nd");
        assert_eq!(without_json("a\n x: [\nb\n ]\nc\n]\nd"), "a\nd");
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
            assert_eq!(without_xml(text.to_owned()), rest, "{text}");
        }
    }
}
