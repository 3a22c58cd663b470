//! Text from outside (ids, commands, model output, error bodies) made safe to show: it can neither move the cursor nor hide itself.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character could change how a terminal shows the text around it.
fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{200b}'..='\u{200f}' // zero width, direction marks
            | '\u{2028}'..='\u{202e}' // line separators, direction overrides
            | '\u{2060}'..='\u{206f}' // invisible operators, direction isolates
            | '\u{feff}' // zero width no-break space
            | '\u{fff9}'..='\u{fffb}' // annotations
            | '\u{e0000}'..='\u{e007f}') // tags
}

/// Text for one line: every hostile character, line breaks and tabs too, as an escape.
pub fn line(text: &str) -> Cow<'_, str> {
    escape(text, false)
}

/// Text of several lines: line feeds and tabs stay.
pub fn block(text: &str) -> Cow<'_, str> {
    escape(text, true)
}

fn escape(text: &str, several_lines: bool) -> Cow<'_, str> {
    let keeps = |c: char| several_lines && matches!(c, '\n' | '\t');
    if !text.chars().any(|c| is_hostile(c) && !keeps(c)) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !is_hostile(c) || keeps(c) => safe.push(c),
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            c if u32::from(c) < 0x100 => {
                let _ = write!(safe, "\\x{:02x}", u32::from(c));
            }
            c => {
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    Cow::Owned(safe)
}

/// At most `width` characters of one line, the cut marked by `…`.
pub fn short(text: &str, width: usize) -> String {
    let safe = line(text);
    if safe.chars().count() <= width {
        return safe.into_owned();
    }
    let kept: String = safe.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::{block, line, short};

    #[test]
    fn hostile_text_cannot_reach_the_terminal() {
        assert_eq!(line("a\x1b[2Jb\r\n\tc"), "a\\x1b[2Jb\\r\\n\\tc");
        let direction = line("x\u{202e}y\u{9b}z\u{200b}");
        assert_eq!(direction, "x\\u{202e}y\\x9bz\\u{200b}");
        assert_eq!(block("a\n\tb\x07"), "a\n\tb\\x07");
        assert!(matches!(line("plain é 漢"), std::borrow::Cow::Borrowed(_)));
    }

    #[test]
    fn long_text_is_cut_with_a_mark() {
        assert_eq!(short("abcdef", 6), "abcdef");
        assert_eq!(short("abcdefg", 6), "abcde…");
        assert_eq!(short("\n\n\n\n", 4), "\\n\\…");
    }
}
