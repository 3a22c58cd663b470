//! A text file as the edit tool sees it: characters to work on, and the exact bytes that they stand for.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Bytes of one line that are shown.
const LINE_BYTES: usize = 2_000;

/// Occurrences of a text that are looked for. Looking for all that overlap takes the product of both lengths in a file of one character.
pub(super) const MAX_PLACES: usize = 32;

/// Content of a text file.
#[derive(Debug)]
pub(super) struct Text {
    bytes: Vec<u8>,
    /// The characters where they are not the bytes themselves: a file that is not UTF-8 is taken byte for byte (ISO 8859-1), so that what
    /// is not touched comes out as it was, whatever the encoding.
    decoded: Option<String>,
}

impl Text {
    /// Takes the bytes of a file.
    ///
    /// # Errors
    /// Why it is no text, to be put after its name.
    pub(super) fn read(bytes: Vec<u8>) -> Result<Self, &'static str> {
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            return Err(
                "is in UTF-16, which this tool does not edit; convert it with `iconv` in the shell.",
            );
        }
        if bytes.contains(&0) {
            return Err(
                "is a binary file; use the shell (`file`, `xxd`, `strings`) to look at it.",
            );
        }
        let decoded = match std::str::from_utf8(&bytes) {
            Ok(_) => None,
            Err(_) => Some(bytes.iter().copied().map(char::from).collect()),
        };
        Ok(Self { bytes, decoded })
    }

    pub(super) fn as_str(&self) -> &str {
        match &self.decoded {
            Some(decoded) => decoded,
            // Checked when it was read.
            None => std::str::from_utf8(&self.bytes).unwrap_or_default(),
        }
    }

    /// Bytes of a changed text in the file's encoding; `None` when it cannot hold them.
    pub(super) fn encode(&self, changed: &str) -> Option<Vec<u8>> {
        match self.decoded {
            None => Some(changed.as_bytes().to_vec()),
            Some(_) => changed.chars().map(|c| u8::try_from(c).ok()).collect(),
        }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Lines without their ends; a final line feed begins no line.
    pub(super) fn lines(&self) -> impl Iterator<Item = &str> {
        self.as_str().lines()
    }

    /// What a reader of the numbered lines cannot see.
    pub(super) fn notes(&self) -> Vec<&'static str> {
        let text = self.as_str();
        let mut notes = Vec::new();
        if self.decoded.is_some() {
            notes.push(
                "not in UTF-8: shown as ISO 8859-1; bytes that you do not touch stay as they are",
            );
        }
        if text.contains("\r\n") {
            notes.push(if self.is_crlf() {
                "the lines end in CRLF, and stay so"
            } else {
                "some lines end in CRLF"
            });
        }
        if !text.is_empty() && !text.ends_with('\n') {
            notes.push("no line feed at the end of the file");
        }
        notes
    }

    /// Whether every line ends in CRLF.
    fn is_crlf(&self) -> bool {
        let text = self.as_str();
        text.contains('\n') && text.matches('\n').count() == text.matches("\r\n").count()
    }

    /// The texts of a replacement in the line ends of the file: models write plain line feeds.
    pub(super) fn in_its_line_ends<'a>(
        &self,
        old: &'a str,
        new: &'a str,
    ) -> (Cow<'a, str>, Cow<'a, str>) {
        let plain = |text: &str| text.contains('\n') && !text.contains('\r');
        let crlf_old =
            if plain(old) && !self.as_str().contains(old) && self.as_str().contains("\r\n") {
                Some(old.replace('\n', "\r\n")).filter(|old| self.as_str().contains(old.as_str()))
            } else {
                None
            };
        let convert_new = plain(new) && (crlf_old.is_some() || self.is_crlf());
        (
            crlf_old.map_or(Cow::Borrowed(old), Cow::Owned),
            if convert_new {
                Cow::Owned(new.replace('\n', "\r\n"))
            } else {
                Cow::Borrowed(new)
            },
        )
    }

    /// Where `old` occurs, up to [`MAX_PLACES`], overlapping ones included: they are just as ambiguous.
    pub(super) fn places(&self, old: &str) -> Vec<usize> {
        let text = self.as_str();
        let step = old.chars().next().map_or(1, char::len_utf8);
        let mut places = Vec::new();
        let mut from = 0;
        while places.len() < MAX_PLACES
            && let Some(found) = text.get(from..).and_then(|rest| rest.find(old))
        {
            places.push(from + found);
            from += found + step;
        }
        places
    }

    /// Number of the line that holds a position, from 1.
    pub(super) fn line_of(&self, place: usize) -> usize {
        self.as_str()[..place].matches('\n').count() + 1
    }

    /// The text with `length` bytes at `place` replaced.
    pub(super) fn replaced(&self, place: usize, length: usize, new: &str) -> String {
        let text = self.as_str();
        [&text[..place], new, &text[place + length..]].concat()
    }

    /// The text with lines inserted after line `after`, which exists or is 0.
    ///
    /// A missing line feed is added where one is needed to keep lines apart; a file without one at its end gets none there.
    pub(super) fn inserted(&self, after: usize, new: &str) -> String {
        let text = self.as_str();
        let line_end = if self.is_crlf() { "\r\n" } else { "\n" };
        let new = if line_end == "\r\n" && !new.contains('\r') {
            Cow::Owned(new.replace('\n', "\r\n"))
        } else {
            Cow::Borrowed(new)
        };
        let place = self.start_of_line_after(after);
        let (before, rest) = text.split_at(place);
        let joint = if before.is_empty() || before.ends_with('\n') || before == "\u{feff}" {
            ""
        } else {
            line_end
        };
        if rest.is_empty() && !joint.is_empty() {
            let new = new.strip_suffix('\n').unwrap_or(&new);
            let new = new.strip_suffix('\r').unwrap_or(new);
            return [before, joint, new].concat();
        }
        let end = if new.ends_with('\n') { "" } else { line_end };
        [before, joint, &*new, end, rest].concat()
    }

    fn start_of_line_after(&self, line: usize) -> usize {
        let text = self.as_str();
        if line == 0 {
            // A byte order mark stays first.
            return if text.starts_with('\u{feff}') {
                '\u{feff}'.len_utf8()
            } else {
                0
            };
        }
        text.match_indices('\n')
            .nth(line - 1)
            .map_or(text.len(), |(position, _)| position + 1)
    }
}

/// Lines `first` to `last` (from 1) with their numbers, as many as fit into `budget` bytes, and the last one shown.
pub(super) fn numbered_range<'a>(
    lines: impl Iterator<Item = &'a str>,
    first: usize,
    last: usize,
    budget: usize,
) -> (String, usize) {
    let mut shown = String::new();
    let mut end = first.saturating_sub(1);
    for (position, line) in lines.enumerate().skip(first - 1).take(last + 1 - first) {
        let (line, cut) = match line.char_indices().nth(LINE_BYTES) {
            Some((at, _)) => (&line[..at], " [… line cut]"),
            None => (line, ""),
        };
        if !shown.is_empty() && shown.len() + line.len() + 8 > budget {
            break;
        }
        end = position + 1;
        let _ = writeln!(shown, "{end:6}\t{line}{cut}");
    }
    (shown, end)
}

/// Lines of a text with their numbers.
pub(super) fn numbered(text: &str, first: usize, last: usize, budget: usize) -> String {
    if last < first {
        return String::new();
    }
    numbered_range(text.lines(), first, last, budget).0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(content: &str) -> Text {
        Text::read(content.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn bytes_that_are_not_utf_8_survive() {
        let latin = Text::read(b"caf\xe9 = 1\n\xff\x80\n".to_vec()).unwrap();
        let place = latin.places("caf\u{e9}")[0];
        let changed = latin.replaced(place, "caf\u{e9}".len(), "th\u{e9}");
        assert_eq!(latin.encode(&changed).unwrap(), b"th\xe9 = 1\n\xff\x80\n");
        assert_eq!(latin.encode("\u{20ac}"), None);
    }

    #[test]
    fn line_ends_follow_the_file() {
        let dos = text("a\r\nb\r\nc\r\n");
        let (old, new) = dos.in_its_line_ends("a\nb", "x\ny");
        assert_eq!((&*old, &*new), ("a\r\nb", "x\r\ny"));
        let (old, new) = dos.in_its_line_ends("b", "x\ny");
        assert_eq!((&*old, &*new), ("b", "x\r\ny"));
        assert_eq!(dos.inserted(1, "n"), "a\r\nn\r\nb\r\nc\r\n");
        let mixed = text("a\r\nb\nc\n");
        let (old, new) = mixed.in_its_line_ends("b", "x\ny");
        assert_eq!((&*old, &*new), ("b", "x\ny"));
    }

    #[test]
    fn insertion_keeps_lines_apart_and_the_missing_final_line_feed() {
        assert_eq!(text("a\nb\n").inserted(0, "n"), "n\na\nb\n");
        assert_eq!(text("a\nb\n").inserted(1, "n\n"), "a\nn\nb\n");
        assert_eq!(text("a\nb\n").inserted(2, "n"), "a\nb\nn\n");
        assert_eq!(text("a\nb").inserted(2, "n\n"), "a\nb\nn");
        assert_eq!(text("a\nb").inserted(1, "n"), "a\nn\nb");
        assert_eq!(text("").inserted(0, "n"), "n\n");
        assert_eq!(text("\u{feff}a\n").inserted(0, "n"), "\u{feff}n\na\n");
    }

    #[test]
    fn overlapping_places_count() {
        assert_eq!(text("aaa").places("aa"), [0, 1]);
        assert_eq!(text("x\ny\nx\n").places("x"), [0, 4]);
        assert_eq!(text("x\ny\nx\n").line_of(4), 3);
    }

    #[test]
    fn a_file_of_one_character_is_searched_in_bounded_time() {
        let places = text(&"a".repeat(1 << 20)).places(&"a".repeat(1 << 19));
        assert_eq!(places.len(), MAX_PLACES);
    }

    #[test]
    fn what_is_no_text_is_refused() {
        assert!(Text::read(b"a\0b".to_vec()).unwrap_err().contains("binary"));
        assert!(
            Text::read(b"\xff\xfea\0".to_vec())
                .unwrap_err()
                .contains("UTF-16")
        );
    }
}

#[cfg(test)]
mod properties {
    use proptest::prelude::*;

    use super::*;

    fn content() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            4 => "[a-c \t]{0,4}".prop_map(String::into_bytes),
            2 => Just(b"\n".to_vec()),
            2 => Just(b"\r\n".to_vec()),
            1 => "[\u{e4}\u{20ac}]".prop_map(String::into_bytes),
            1 => (128..=255_u8).prop_map(|byte| vec![byte]),
        ];
        prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn what_is_not_changed_is_the_same_bytes(bytes in content(), line in 0..8_usize) {
            let Ok(text) = Text::read(bytes.clone()) else {
                return Ok(());
            };
            prop_assert_eq!(text.encode(text.as_str()), Some(bytes.clone()));
            let after = line.min(text.lines().count());
            let inserted = text.encode(&text.inserted(after, "NEW")).unwrap_or_default();
            let place = inserted.windows(3).position(|window| window == b"NEW");
            let (before, rest) = inserted.split_at(place.unwrap_or_default());
            prop_assert!(bytes.starts_with(before) || bytes == before.trim_ascii_end() || before.starts_with(&bytes));
            let rest = &rest[3..];
            let rest = rest.strip_prefix(b"\r").unwrap_or(rest);
            prop_assert!(bytes.ends_with(rest.strip_prefix(b"\n").unwrap_or(rest)));
        }

        #[test]
        fn a_replacement_can_be_replaced_back(bytes in content(), at in 0..20_usize) {
            let Ok(text) = Text::read(bytes.clone()) else {
                return Ok(());
            };
            let Some((place, c)) = text.as_str().char_indices().nth(at) else {
                return Ok(());
            };
            let changed = text.encode(&text.replaced(place, c.len_utf8(), "NEW")).unwrap_or_default();
            let Ok(changed) = Text::read(changed) else {
                return Ok(());
            };
            // A file that was not UTF-8 may be, without the byte that made it so: then the bytes are still the same.
            let position = changed.places("NEW")[0];
            let back = changed.replaced(position, 3, c.encode_utf8(&mut [0; 4]));
            if text.decoded.is_some() == changed.decoded.is_some() {
                prop_assert_eq!(changed.encode(&back), Some(bytes));
            }
        }
    }
}
