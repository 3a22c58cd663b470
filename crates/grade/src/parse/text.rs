//! Text as the official parsers, which are written in Python, see it.
//!
//! Python counts the separators U+001C to U+001F as white space, which Unicode (and so Rust) does not; its `\d` are all decimal digits, its `\w`
//! all letters and numbers and the underscore.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// White space as Python's `str.split`, `str.strip` and `\s` have it.
pub(super) fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

/// The same, for a byte of which nothing else is known: white space that is not ASCII begins with a byte above 127.
fn may_be_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | 0x1c..=b' ' | 0x80..)
}

/// Whether a text may hold white space that is no plain space.
fn may_hold_other_space(text: &str) -> bool {
    any_byte(text, |byte| byte != b' ' && may_be_space(byte))
}

/// Whether any byte of a text is such a one. Looks at all of them, many at a time, which for a line is quicker than stopping at the first.
pub(super) fn any_byte(text: &str, is: impl Fn(u8) -> bool) -> bool {
    text.bytes().fold(false, |found, byte| found | is(byte))
}

/// Python's `str.strip()`.
pub(super) fn strip(text: &str) -> &str {
    strip_start(strip_end(text))
}

/// Python's `str.lstrip()`.
pub(super) fn strip_start(text: &str) -> &str {
    match text.as_bytes().first() {
        Some(byte) if may_be_space(*byte) => text.trim_start_matches(is_space),
        _ => text,
    }
}

/// Python's `str.rstrip()`.
pub(super) fn strip_end(text: &str) -> &str {
    match text.as_bytes().last() {
        Some(byte) if may_be_space(*byte) => text.trim_end_matches(is_space),
        _ => text,
    }
}

/// Python's `str.split()`.
pub(super) fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// The first of a text's [`words`], and what follows it.
pub(super) fn first_word(text: &str) -> Option<(&str, &str)> {
    let text = strip_start(text);
    let space = memchr::memchr(b' ', text.as_bytes()).unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(space)?;
    if may_hold_other_space(word) {
        let end = text.find(is_space).unwrap_or(text.len());
        return text
            .split_at_checked(end)
            .filter(|(word, _)| !word.is_empty());
    }
    (!word.is_empty()).then_some((word, rest))
}

/// The last of a text's [`words`], and what is before it.
pub(super) fn last_word(text: &str) -> Option<(&str, &str)> {
    let text = strip_end(text);
    let start = memchr::memrchr(b' ', text.as_bytes()).map_or(0, |space| space + 1);
    let (before, word) = text.split_at_checked(start)?;
    if may_hold_other_space(word) {
        let word = text.rsplit(is_space).next()?;
        return text
            .strip_suffix(word)
            .map(|before| (before, word))
            .filter(|(_, word)| !word.is_empty());
    }
    (!word.is_empty()).then_some((before, word))
}

/// `" ".join(text.split())`, borrowed where that is the text itself.
pub(super) fn single_spaced(text: &str) -> Cow<'_, str> {
    let text = strip(text);
    let bytes = text.as_bytes();
    let mut spaces = memchr::memchr_iter(b' ', bytes);
    let is_single = spaces.all(|at| bytes.get(at + 1) != Some(&b' '));
    if is_single && !may_hold_other_space(text) {
        return Cow::Borrowed(text);
    }
    let mut after_space = false;
    for character in text.chars() {
        let space = is_space(character);
        if space && (after_space || character != ' ') {
            return Cow::Owned(words(text).collect::<Vec<_>>().join(" "));
        }
        after_space = space;
    }
    Cow::Borrowed(text)
}

/// Python's `str.splitlines()`, for text whose line ends are newlines.
pub(super) fn python_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_terminator(|character| {
        matches!(
            character,
            '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    })
}

/// How many characters of white space a text begins with.
pub(super) fn indentation(text: &str) -> usize {
    let indent = text.len() - strip_start(text).len();
    text.get(..indent).map_or(0, |space| space.chars().count())
}

/// The text after one character of white space.
pub(super) fn after_space(text: &str) -> Option<&str> {
    let mut characters = text.chars();
    characters
        .next()
        .is_some_and(is_space)
        .then_some(characters.as_str())
}

/// The text before the one character of white space at its end.
pub(super) fn before_space(text: &str) -> Option<&str> {
    let mut characters = text.chars();
    characters
        .next_back()
        .is_some_and(is_space)
        .then_some(characters.as_str())
}

/// What Python's `\d` matches.
pub(super) fn is_digit(character: char) -> bool {
    static DIGIT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\d$").ok());
    character.is_ascii_digit()
        || (!character.is_ascii() && matches(&DIGIT, character.encode_utf8(&mut [0; 4])))
}

/// What Python's `\w` matches.
pub(super) fn is_word(character: char) -> bool {
    static WORD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{L}\p{N}]$").ok());
    character.is_ascii_alphanumeric()
        || character == '_'
        || (!character.is_ascii() && matches(&WORD, character.encode_utf8(&mut [0; 4])))
}

fn matches(regex: &LazyLock<Option<Regex>>, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// The text after the digits that it begins with, of which there must be some.
pub(super) fn after_digits(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(is_digit);
    (rest.len() < text.len()).then_some(rest)
}

/// The text before the digits that it ends with, of which there must be some.
pub(super) fn before_digits(text: &str) -> Option<&str> {
    let rest = text.trim_end_matches(is_digit);
    (rest.len() < text.len()).then_some(rest)
}

/// Takes ` (12 ms)` off the end, in the forms that jest and redis write: something must stand before it.
pub(super) fn without_duration(text: &str) -> &str {
    let name = || {
        let inside = text.strip_suffix("s)")?;
        let inside = inside.strip_suffix('m').unwrap_or(inside);
        let before = before_digits(strip_end(inside))?.strip_suffix('(')?;
        before_space(before).filter(|name| !name.is_empty())
    };
    name().unwrap_or(text)
}

/// Drops terminal sequences as the official harness does it for the parsers that care: one letter after the escape character, or a control
/// sequence. What is cut off stays.
pub(super) fn without_escapes(text: &str) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(0x1b, text.as_bytes()) else {
        return Cow::Borrowed(text);
    };
    let mut cleaned = String::with_capacity(text.len());
    let mut from = 0;
    let mut search = first;
    while let Some(at) = memchr::memchr(0x1b, text.as_bytes().get(search..).unwrap_or_default()) {
        let escape = search + at;
        let length = escape_length(text.as_bytes().get(escape + 1..).unwrap_or_default());
        if length > 0 {
            cleaned.push_str(text.get(from..escape).unwrap_or_default());
            from = escape + 1 + length;
        }
        search = escape + 1 + length;
    }
    cleaned.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(cleaned)
}

/// Bytes that belong to a sequence after its escape character, 0 where it is none. All of them are ASCII.
fn escape_length(after: &[u8]) -> usize {
    match after.first() {
        Some(b'@'..=b'Z' | b'\\'..=b'_') => 1,
        Some(b'[') => {
            let run = |from: usize, within: std::ops::RangeInclusive<u8>| {
                let bytes = after.get(from..).unwrap_or_default();
                from + bytes
                    .iter()
                    .take_while(|byte| within.contains(byte))
                    .count()
            };
            let end = run(run(1, b'0'..=b'?'), b' '..=b'/');
            match after.get(end) {
                Some(b'@'..=b'~') => end + 1,
                _ => 0,
            }
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_what_python_has() {
        assert_eq!(strip("\u{1c}\u{85} a\u{3000}\u{1f}"), "a");
        assert_eq!(strip("\u{200b}a"), "\u{200b}a");
        assert_eq!(
            words(" a\u{1d}b\u{a0}\u{2028}c ").collect::<Vec<_>>(),
            ["a", "b", "c"]
        );
        assert_eq!(single_spaced(" a  b\tc "), "a b c");
        assert!(matches!(single_spaced(" a b "), Cow::Borrowed("a b")));
        for text in [
            "",
            " ",
            "a",
            " ä\u{1d}b c",
            "ab\u{2028}c d",
            "ä",
            "\u{3000}x y",
        ] {
            let first = first_word(text).map(|(word, _)| word);
            assert_eq!(first, words(text).next(), "{text:?}");
            let last = last_word(text).map(|(_, word)| word);
            assert_eq!(last, words(text).next_back(), "{text:?}");
        }
        assert_eq!(indentation("\u{2003} x"), 2);
    }

    #[test]
    fn digits_and_word_characters_are_what_python_has() {
        assert!(is_digit('7') && is_digit('٣') && !is_digit('²') && !is_digit('½'));
        assert!(is_word('ä') && is_word('²') && is_word('_') && is_word('字'));
        assert!(!is_word('\u{301}') && !is_word('\u{200d}') && !is_word('-'));
    }

    #[test]
    fn durations_are_taken_off() {
        for (text, name) in [
            ("a (12 ms)", "a"),
            ("a (1s)", "a"),
            ("a  (1s)", "a "),
            ("a (s)", "a (s)"),
            ("a(1s)", "a(1s)"),
            (" (1s)", " (1s)"),
            ("a (1 h)", "a (1 h)"),
        ] {
            assert_eq!(without_duration(text), name, "{text}");
        }
    }

    #[test]
    fn terminal_sequences_are_dropped_as_officially() {
        for (text, clean) in [
            ("a\u{1b}[32mb\u{1b}[0m", "ab"),
            ("a\u{1b}Mb", "ab"),
            ("a\u{1b}[12", "a\u{1b}[12"),
            ("\u{1b}\u{1b}[1;2 qx", "\u{1b}x"),
            ("\u{1b}[äb", "\u{1b}[äb"),
            ("\u{1b}(B", "\u{1b}(B"),
        ] {
            assert_eq!(without_escapes(text), clean, "{text:?}");
        }
    }
}
