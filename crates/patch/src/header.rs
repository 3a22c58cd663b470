//! The headers of one file's section, and the paths that they name.

use crate::cursor::Cursor;
use crate::error::ParseError;
use crate::file::{Change, Paths};
use crate::path::{PatchPath, unquote};

/// What a `---` or `+++` line names where there is no file.
const NO_FILE: &[u8] = b"/dev/null";

/// How `diff -N` stamps a file that is not there: the epoch, east and west of Greenwich.
const EPOCH_STAMPS: [&[u8]; 2] = [b"1970-01-01 ", b"1969-12-31 "];

/// Git's extended header lines, by how they begin. `rename old` and `rename new` are the forms of its first year.
const KEYWORDS: [(&[u8], Keyword); 13] = [
    (b"old mode ", Keyword::OldMode),
    (b"new mode ", Keyword::NewMode),
    (b"new file mode ", Keyword::Added),
    (b"deleted file mode ", Keyword::Deleted),
    (b"rename from ", Keyword::From(Move::Rename)),
    (b"rename old ", Keyword::From(Move::Rename)),
    (b"copy from ", Keyword::From(Move::Copy)),
    (b"rename to ", Keyword::To),
    (b"rename new ", Keyword::To),
    (b"copy to ", Keyword::To),
    (b"index ", Keyword::Index),
    (b"similarity index ", Keyword::Similarity),
    (b"dissimilarity index ", Keyword::Similarity),
];

#[derive(Debug, Clone, Copy)]
enum Keyword {
    OldMode,
    NewMode,
    Added,
    Deleted,
    From(Move),
    To,
    Index,
    Similarity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Move {
    Rename,
    Copy,
}

/// Everything that the header lines of a section said.
#[derive(Debug, Default)]
pub(crate) struct Header {
    /// Names of the `diff --git` line, prefixes included.
    git: Option<(Vec<u8>, Vec<u8>)>,
    minus: Option<Name>,
    plus: Option<Name>,
    moved: Option<Move>,
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
    added: bool,
    deleted: bool,
    pub(crate) old_mode: Option<u32>,
    pub(crate) new_mode: Option<u32>,
}

/// A name of a `---` or `+++` line.
#[derive(Debug)]
struct Name {
    /// As written, prefix included; `None` for `/dev/null`.
    path: Option<Vec<u8>>,
    /// Whether there is no file on this side.
    absent: bool,
}

impl Header {
    /// Reads a section's header from its `diff --git` line on, to where its content starts.
    pub(crate) fn read_git(cursor: &mut Cursor<'_>, names: &[u8]) -> Result<Self, ParseError> {
        let mut header = Self {
            git: git_names(names),
            ..Self::default()
        };
        cursor.advance();
        while let Some(line) = cursor.peek_header() {
            let Some((keyword, value)) = keyword(line) else {
                break;
            };
            header.take(cursor, keyword, value)?;
            cursor.advance();
        }
        if names_files(cursor) {
            header.read_names(cursor);
        }
        Ok(header)
    }

    /// Reads the header of a section that has no `diff --git` line; the cursor is at its `---` line.
    pub(crate) fn read_plain(cursor: &mut Cursor<'_>) -> Self {
        let mut header = Self::default();
        header.read_names(cursor);
        header
    }

    fn read_names(&mut self, cursor: &mut Cursor<'_>) {
        self.minus = cursor
            .peek_header()
            .and_then(|line| Name::read(line, b"--- "));
        cursor.advance();
        self.plus = cursor
            .peek_header()
            .and_then(|line| Name::read(line, b"+++ "));
        cursor.advance();
    }

    fn take(
        &mut self,
        cursor: &Cursor<'_>,
        keyword: Keyword,
        value: &[u8],
    ) -> Result<(), ParseError> {
        let mode = || {
            octal(value).ok_or_else(|| cursor.header_error("a file mode is not an octal number"))
        };
        let path =
            || whole_name(value).ok_or_else(|| cursor.header_error("a quoted path is broken"));
        match keyword {
            Keyword::OldMode => self.old_mode = Some(mode()?),
            Keyword::NewMode => self.new_mode = Some(mode()?),
            Keyword::Added => {
                self.added = true;
                self.new_mode = Some(mode()?);
            }
            Keyword::Deleted => {
                self.deleted = true;
                self.old_mode = Some(mode()?);
            }
            Keyword::From(moved) => {
                self.moved = Some(moved);
                self.from = Some(path()?);
            }
            Keyword::To => self.to = Some(path()?),
            Keyword::Index => self.take_index(value),
            Keyword::Similarity => {}
        }
        Ok(())
    }

    /// `index <old>..<new> <mode>`: the mode is there when it did not change.
    fn take_index(&mut self, value: &[u8]) {
        let mode = value
            .iter()
            .position(|byte| *byte == b' ')
            .and_then(|at| value.get(at + 1..))
            .and_then(octal);
        if mode.is_some() {
            self.old_mode = mode;
            self.new_mode = mode;
        }
    }

    /// Where the file is before and after. `None` when the header names no file.
    pub(crate) fn paths(&self) -> Option<Paths> {
        let moved = self.moved.and(self.from.as_deref().zip(self.to.as_deref()));
        let (old, new) = match moved {
            Some(names) => names,
            None => self
                .written_names()
                .map(|(old, new)| without_prefixes(old, new))?,
        };
        if old.is_empty() || new.is_empty() {
            return None;
        }
        let absent = |name: &Option<Name>| name.as_ref().is_some_and(|name| name.absent);
        match (
            self.added || absent(&self.minus),
            self.deleted || absent(&self.plus),
        ) {
            (true, true) => None,
            (true, false) => Some(Paths::Added(PatchPath::new(new))),
            (false, true) => Some(Paths::Deleted(PatchPath::new(old))),
            (false, false) => Some(Paths::Both {
                old: PatchPath::new(old),
                new: PatchPath::new(new),
            }),
        }
    }

    /// The two names as written; a side that has no file takes the other's name.
    fn written_names(&self) -> Option<(&[u8], &[u8])> {
        if let Some((old, new)) = &self.git {
            return Some((old, new));
        }
        let minus = self.minus.as_ref().and_then(|name| name.path.as_deref());
        let plus = self.plus.as_ref().and_then(|name| name.path.as_deref());
        Some((minus.or(plus)?, plus.or(minus)?))
    }

    /// What happens to the file; `has_content` tells whether content follows the header.
    pub(crate) fn change(&self, paths: &Paths, has_content: bool) -> Change {
        match (paths, self.moved) {
            (Paths::Added(_), _) => Change::Added,
            (Paths::Deleted(_), _) => Change::Deleted,
            (Paths::Both { .. }, Some(Move::Rename)) => Change::Renamed,
            (Paths::Both { .. }, Some(Move::Copy)) => Change::Copied,
            (Paths::Both { .. }, None) if !has_content && self.old_mode != self.new_mode => {
                Change::ModeChanged
            }
            (Paths::Both { .. }, None) => Change::Modified,
        }
    }
}

impl Name {
    fn read(line: &[u8], marker: &[u8]) -> Option<Self> {
        let text = line.strip_prefix(marker)?;
        if text.starts_with(b"\"") {
            let path = unquote(text).map(|(path, _)| path)?;
            return Some(Self {
                path: Some(path),
                absent: false,
            });
        }
        // A tab ends the name: git puts one after a name with spaces, `diff -u` puts a time stamp after it.
        let (path, stamp) = match text.iter().position(|byte| *byte == b'\t') {
            Some(tab) => text.split_at(tab),
            None => (text, &b""[..]),
        };
        if path == NO_FILE {
            return Some(Self {
                path: None,
                absent: true,
            });
        }
        let stamp = stamp.strip_prefix(b"\t").unwrap_or(stamp);
        Some(Self {
            path: Some(path.to_vec()),
            absent: EPOCH_STAMPS.iter().any(|epoch| stamp.starts_with(epoch)),
        })
    }
}

/// Whether the cursor is at a `---` line that a `+++` line follows.
pub(crate) fn names_files(cursor: &Cursor<'_>) -> bool {
    let starts = |cursor: &Cursor<'_>, marker: &[u8]| {
        cursor.peek().is_some_and(|line| line.starts_with(marker))
    };
    starts(cursor, b"--- ") && starts(&cursor.ahead(), b"+++ ")
}

fn keyword(line: &[u8]) -> Option<(Keyword, &[u8])> {
    KEYWORDS
        .iter()
        .find_map(|(start, keyword)| line.strip_prefix(*start).map(|value| (*keyword, value)))
}

/// A path that takes the whole rest of its line.
fn whole_name(text: &[u8]) -> Option<Vec<u8>> {
    if text.starts_with(b"\"") {
        unquote(text).map(|(path, _)| path)
    } else {
        Some(text.to_vec())
    }
}

fn octal(text: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(text).ok()?;
    u32::from_str_radix(text.trim_ascii_end(), 8).ok()
}

/// The two names of a `diff --git` line. `None` when spaces leave open where the first ends; other headers tell then.
fn git_names(text: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    if text.starts_with(b"\"") {
        let (old, rest) = unquote(text)?;
        return Some((old, whole_name(rest.strip_prefix(b" ")?)?));
    }
    // A name with a quote in it is always quoted, so the first quote opens the second name.
    if let Some(quote) = text.iter().position(|byte| *byte == b'"') {
        let (old, new) = text.split_at(quote);
        return Some((old.strip_suffix(b" ")?.to_vec(), unquote(new)?.0));
    }
    let at = same_name_split(text).or_else(|| only_space(text))?;
    let (old, new) = text.split_at(at);
    Some((old.to_vec(), new.strip_prefix(b" ")?.to_vec()))
}

/// Where to split a line that names the same file twice: after a prefix each (`a/x b/x`), or as it is (`x x`).
fn same_name_split(text: &[u8]) -> Option<usize> {
    let first_slash = text.iter().position(|byte| *byte == b'/');
    let mut slash = None;
    for (at, byte) in text.iter().enumerate().rev() {
        match (byte, first_slash, slash) {
            (b'/', _, _) => slash = Some(at),
            (b' ', Some(first), Some(slash)) => {
                let old = text.get(first + 1..at);
                let new = text.get(slash + 1..);
                // Equal lengths occur at one space at most, so the whole search is linear.
                if old.map(<[u8]>::len) == new.map(<[u8]>::len) && old == new {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    let middle = text.len() / 2;
    let (old, new) = text.split_at(middle);
    (new.strip_prefix(b" ") == Some(old)).then_some(middle)
}

fn only_space(text: &[u8]) -> Option<usize> {
    let mut spaces = text.iter().enumerate().filter(|(_, byte)| **byte == b' ');
    let (at, _) = spaces.next()?;
    spaces.next().is_none().then_some(at)
}

/// Takes the prefixes of a diff (`a/`, `b/`, and the others that git has) off its names, where it has any.
fn without_prefixes<'a>(old: &'a [u8], new: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    if let (Some(bare_old), Some(bare_new)) = (without_letter(old), without_letter(new)) {
        let usual = |name: &[u8]| name.starts_with(b"a/") || name.starts_with(b"b/");
        if old.first() != new.first() || usual(old) {
            return (bare_old, bare_new);
        }
    }
    if old == new {
        return (old, new);
    }
    match (without_first_part(old), without_first_part(new)) {
        (Some(bare_old), Some(bare_new)) if bare_old == bare_new => (bare_old, bare_new),
        _ => (old, new),
    }
}

/// `a b` are the usual prefixes; `c i o w 1 2` are those of `diff.mnemonicPrefix`.
fn without_letter(name: &[u8]) -> Option<&[u8]> {
    match name {
        [
            b'a' | b'b' | b'c' | b'i' | b'o' | b'w' | b'1' | b'2',
            b'/',
            rest @ ..,
        ] => Some(rest),
        _ => None,
    }
}

fn without_first_part(name: &[u8]) -> Option<&[u8]> {
    let slash = name.iter().position(|byte| *byte == b'/')?;
    name.get(slash + 1..)
}
