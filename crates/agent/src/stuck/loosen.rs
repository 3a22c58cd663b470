//! Reading an output without what changes from run to run although nothing else does.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Words that make a number before them a duration.
const UNITS: [&str; 12] = [
    "s", "ms", "us", "ns", "sec", "secs", "second", "seconds", "min", "minutes", "h", "hours",
];

/// Digest of an output without durations, clock times, dates, addresses, process ids and names below `/tmp`.
pub(super) fn digest(content: &str) -> u64 {
    let mut reading = Reading {
        hasher: DefaultHasher::new(),
        kept: content,
    };
    let (mut rest, mut last_word) = (content, "");
    while let Some(first) = rest.chars().next() {
        if let Some(name) = rest.strip_prefix("/tmp/") {
            let after = name.trim_start_matches(|c: char| c.is_alphanumeric() || "._-".contains(c));
            reading.leave_out(name, after, "name");
            rest = after;
            continue;
        }
        let word = leading_word(rest);
        let after = &rest[word.len().max(first.len_utf8())..];
        if let Some(stand_in) = volatile(word, last_word, after) {
            reading.leave_out(rest, after, stand_in);
        }
        if !word.is_empty() {
            last_word = word;
        }
        rest = after;
    }
    reading.leave_out("", "", "");
    reading.hasher.finish()
}

/// What is kept is hashed in long pieces: outputs have thousands of characters, and few volatile words.
struct Reading<'a> {
    hasher: DefaultHasher,
    /// What was read and not hashed yet, and all that follows.
    kept: &'a str,
}

impl<'a> Reading<'a> {
    /// Hashes up to `from`, then `stand_in`, and goes on at `to`; both are ends of what is read.
    fn leave_out(&mut self, from: &'a str, to: &'a str, stand_in: &str) {
        self.kept[..self.kept.len() - from.len()].hash(&mut self.hasher);
        stand_in.hash(&mut self.hasher);
        self.kept = to;
    }
}

fn leading_word(text: &str) -> &str {
    let end = text
        .find(|c: char| !(c.is_alphanumeric() || "_.:-".contains(c)))
        .unwrap_or(text.len());
    &text[..end]
}

/// What stands for a word that says nothing lasting.
fn volatile(word: &str, before: &str, after: &str) -> Option<&'static str> {
    let word = word.trim_end_matches([':', '.']);
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if word.strip_prefix("0x").is_some_and(is_hex) {
        return Some("address");
    }
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if word.contains(':')
        && word
            .split([':', '.', 'T', 'Z', '-'])
            .all(|part| part.is_empty() || digits(part))
    {
        return Some("time");
    }
    if let [year, month, day] = word.split('-').collect::<Vec<_>>()[..]
        && (year.len(), month.len(), day.len()) == (4, 2, 2)
        && [year, month, day].into_iter().all(digits)
    {
        return Some("date");
    }
    let number_end = word
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(word.len());
    let (_, unit) = word.split_at(number_end);
    let next = after
        .strip_prefix(' ')
        .map(leading_word)
        .unwrap_or_default();
    let next = next.trim_end_matches(['.', ':']);
    if UNITS.contains(&unit) || (unit.is_empty() && UNITS.contains(&next)) {
        return Some("duration");
    }
    if unit.is_empty() && before.trim_end_matches(':').eq_ignore_ascii_case("pid") {
        return Some("pid");
    }
    None
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The words of an error's last line, names and numbers left out.
pub(super) fn error_class(content: &str) -> Vec<&str> {
    let line = content
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('['))
        .unwrap_or_default();
    line.split_whitespace()
        .map(|word| word.trim_matches(|c: char| c.is_ascii_punctuation()))
        .filter(|word| !word.is_empty() && word.chars().all(char::is_alphabetic))
        .take(8)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_by_itself_is_left_out() {
        for (a, b) in [
            ("3 passed in 0.12s", "3 passed in 1.50s"),
            ("took 12 ms", "took 9 ms"),
            ("at 12:00:01.5 ok", "at 23:59:59 ok"),
            ("2024-01-01T10:00:00Z x", "2025-12-31T11:01:02Z x"),
            ("<Foo at 0x7f00aa>", "<Foo at 0x7fffbb>"),
            ("/tmp/pytest-1/a.txt", "/tmp/pytest-22/a.txt"),
            ("pid 12", "pid 345"),
        ] {
            assert_eq!(digest(a), digest(b), "{a} | {b}");
        }
    }

    #[test]
    fn what_says_something_is_kept() {
        for (a, b) in [
            ("3 passed", "4 passed"),
            ("line 12", "line 13"),
            ("41%", "42%"),
            ("/tmp/a/x", "/tmp/a/y"),
            ("v1.2.3", "v1.2.4"),
        ] {
            assert_ne!(digest(a), digest(b), "{a} | {b}");
        }
    }
}

#[cfg(test)]
mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_can_be_read(text in "(\\PC|[0-9:./ -]|/tmp/|0x|pid|ms){0,60}") {
            digest(&text);
            error_class(&text);
        }
    }
}
