//! A log's bytes as text.

use std::borrow::Cow;

/// Makes a log clean text, once for all parsers: what is not UTF-8 is replaced, terminal sequences are dropped, every line end is `\n` (a lone
/// carriage return too, as a progress bar writes it).
pub fn clean(log: &[u8]) -> String {
    let text = with_plain_newlines(log);
    without_sequences(&text).unwrap_or(text)
}

/// Replaces what is not UTF-8, and makes every line end `\n`, as Python reads text files.
pub(super) fn with_plain_newlines(log: &[u8]) -> String {
    // Looking for what is not UTF-8 takes longer than finding that there is none.
    let text = str::from_utf8(log).map_or_else(|_| String::from_utf8_lossy(log), Cow::Borrowed);
    let mut returns = memchr::memchr_iter(b'\r', text.as_bytes()).peekable();
    if returns.peek().is_none() {
        return text.into_owned();
    }
    let mut plain = String::with_capacity(text.len());
    let mut from = 0;
    for at in returns {
        plain.push_str(text.get(from..at).unwrap_or_default());
        from = at + 1;
        // The newline of a pair is taken with what follows it.
        if text.as_bytes().get(from) != Some(&b'\n') {
            plain.push('\n');
        }
    }
    plain.push_str(text.get(from..).unwrap_or_default());
    plain
}

/// Drops terminal sequences; `None` when there are none.
pub(super) fn without_sequences(text: &str) -> Option<String> {
    let first = memchr::memchr(ESCAPE, text.as_bytes())?;
    let mut cleaned = String::with_capacity(text.len());
    let (before, mut rest) = text.split_at_checked(first)?;
    cleaned.push_str(before);
    while let Some(after) = rest.strip_prefix('\u{1b}') {
        let after = after_escape(after);
        let next = memchr::memchr(ESCAPE, after.as_bytes()).unwrap_or(after.len());
        let (before, from) = after.split_at_checked(next)?;
        cleaned.push_str(before);
        rest = from;
    }
    Some(cleaned)
}

/// What terminal sequences begin with.
const ESCAPE: u8 = 0x1b;

/// What follows a terminal sequence, given the text after its escape character.
fn after_escape(text: &str) -> &str {
    let mut characters = text.chars();
    match characters.next() {
        // Control sequence: parameters, then one final character.
        Some('[') => {
            let body = characters.as_str();
            let end = body.find(|c: char| !(' '..='?').contains(&c));
            match end {
                Some(end) if matches!(body.as_bytes().get(end), Some(b'@'..=b'~')) => {
                    body.get(end + 1..).unwrap_or_default()
                }
                Some(end) => body.get(end..).unwrap_or_default(),
                None => "",
            }
        }
        // Operating system command (titles, links): up to a bell or a string terminator, within its line.
        Some(']') => {
            let body = characters.as_str();
            match body.find(['\u{7}', '\u{1b}', '\n']) {
                Some(end) if body[end..].starts_with('\u{7}') => &body[end + 1..],
                Some(end) if body[end..].starts_with("\u{1b}\\") => &body[end + 2..],
                Some(end) => &body[end..],
                None => "",
            }
        }
        // Character sets: one more character.
        Some('(' | ')' | '#') => {
            characters.next();
            characters.as_str()
        }
        Some('\n') | None => text,
        Some(_) => characters.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_become_clean_text() {
        for (log, text) in [
            (&b"plain"[..], "plain"),
            (b"a\r\nb\rc\n", "a\nb\nc\n"),
            (b"\x1b[32mPASSED\x1b[0m x\x1b[K", "PASSED x"),
            (b"\x1b]0;title\x07x\x1b]8;;http://x\x1b\\y", "xy"),
            (b"\x1b(Bx\x1b=y\x1b", "xy"),
            (b"\x1b[38;5;1", ""),
            (b"\x1b]never ends\nx", "\nx"),
            (b"bad \xff byte", "bad \u{fffd} byte"),
        ] {
            assert_eq!(clean(log), text);
        }
    }
}
