//! Reads a patch.

use std::ops::Range;

use crate::cursor::Cursor;
use crate::error::ParseError;
use crate::file::{Content, FilePatch, Hunk, Patch};
use crate::header::{Header, names_files};

/// Reads a patch: git diffs, and unified diffs without git's headers, with anything between the files' sections (blank lines, a mail's text,
/// a commit's message, a signature).
///
/// # Errors
/// A section that `git apply` would refuse as corrupt, and a text that is not blank but holds no diff. An empty or blank text is an empty patch.
pub fn parse(input: &[u8]) -> Result<Patch, ParseError> {
    let mut cursor = Cursor::new(input);
    let mut files = Vec::new();
    while let Some(line) = cursor.peek_header() {
        if let Some(names) = line.strip_prefix(b"diff --git ") {
            let start = cursor.clone();
            let header = Header::read_git(&mut cursor, names)?;
            files.push(read_section(&mut cursor, &start, &header)?);
        } else if is_plain_section(&cursor) {
            let start = cursor.clone();
            let header = Header::read_plain(&mut cursor);
            files.push(read_section(&mut cursor, &start, &header)?);
        } else if line.starts_with(b"diff --cc ") || line.starts_with(b"diff --combined ") {
            return Err(cursor.combined_error());
        } else if line.starts_with(b"@@ -") && parse_hunk_header(line).is_some() {
            return Err(cursor.hunk_error("a hunk without a file's header before it"));
        } else {
            cursor.advance();
        }
    }
    if files.is_empty() && !input.iter().all(u8::is_ascii_whitespace) {
        return Err(ParseError::NoDiff);
    }
    Ok(Patch { files })
}

/// Whether a section without git's headers starts here: its names, and a hunk right after them. Anything less may be prose.
fn is_plain_section(cursor: &Cursor<'_>) -> bool {
    names_files(cursor)
        && cursor
            .ahead()
            .ahead()
            .peek()
            .is_some_and(|line| line.starts_with(b"@@ -"))
}

/// Reads the content that follows a header.
fn read_section(
    cursor: &mut Cursor<'_>,
    start: &Cursor<'_>,
    header: &Header,
) -> Result<FilePatch, ParseError> {
    let mut tally = Tally::default();
    let mut hunks = Vec::new();
    let content = match cursor.peek_header() {
        Some(b"GIT binary patch") => {
            read_binary(cursor)?;
            Content::BinaryData
        }
        Some(line) if is_binary_notice(line) => {
            cursor.advance();
            Content::BinaryNotice
        }
        Some(line) if line.starts_with(b"@@ -") => {
            while cursor.peek().is_some_and(|line| line.starts_with(b"@@ -")) {
                hunks.push(read_hunk(cursor, &mut tally)?);
            }
            Content::Text
        }
        Some(_) | None => Content::None,
    };
    let paths = header
        .paths()
        .ok_or_else(|| start.header_error("the header does not tell which file it is about"))?;
    Ok(FilePatch {
        change: header.change(&paths, content != Content::None),
        paths,
        old_mode: header.old_mode,
        new_mode: header.new_mode,
        content,
        hunks,
        added: tally.added,
        removed: tally.removed,
        range: start.offset()..cursor.offset(),
    })
}

fn is_binary_notice(line: &[u8]) -> bool {
    (line.starts_with(b"Binary files ") || line.starts_with(b"Files "))
        && line.ends_with(b" differ")
}

#[derive(Default)]
struct Tally {
    added: usize,
    removed: usize,
}

/// Reads a hunk by the counts of its header, so that content which looks like a header stays content.
fn read_hunk(cursor: &mut Cursor<'_>, tally: &mut Tally) -> Result<Hunk, ParseError> {
    let start = cursor.offset();
    let ([old_start, old_lines], [new_start, new_lines]) = cursor
        .peek()
        .and_then(parse_hunk_header)
        .ok_or_else(|| cursor.hunk_error("a hunk header that cannot be read"))?;
    cursor.advance();
    let (mut old_left, mut new_left) = (old_lines, new_lines);
    while old_left > 0 || new_left > 0 {
        let line = cursor
            .peek()
            .ok_or_else(|| cursor.hunk_error("the patch ends inside a hunk"))?;
        let (old, new) = match line.first() {
            // An editor that strips trailing spaces leaves an empty line of context empty.
            Some(b' ') | None => (1, 1),
            Some(b'\r') if line.len() == 1 => (1, 1),
            Some(b'-') => (1, 0),
            Some(b'+') => (0, 1),
            Some(b'\\') => (0, 0),
            Some(_) => return Err(cursor.hunk_error("a hunk has fewer lines than its header says")),
        };
        let too_long = || cursor.hunk_error("a hunk has more lines than its header says");
        old_left = old_left.checked_sub(old).ok_or_else(too_long)?;
        new_left = new_left.checked_sub(new).ok_or_else(too_long)?;
        tally.added += usize::from(new > old);
        tally.removed += usize::from(old > new);
        cursor.advance();
    }
    if cursor.peek().is_some_and(|line| line.starts_with(b"\\ ")) {
        cursor.advance();
    }
    Ok(Hunk {
        old_start,
        old_lines,
        new_start,
        new_lines,
        range: Range {
            start,
            end: cursor.offset(),
        },
    })
}

/// `@@ -<start>[,<lines>] +<start>[,<lines>] @@`, then anything.
fn parse_hunk_header(line: &[u8]) -> Option<([u32; 2], [u32; 2])> {
    let rest = line.strip_prefix(b"@@ -")?;
    let (old, rest) = parse_span(rest)?;
    let (new, rest) = parse_span(rest.strip_prefix(b" +")?)?;
    rest.starts_with(b" @@").then_some((old, new))
}

fn parse_span(text: &[u8]) -> Option<([u32; 2], &[u8])> {
    let (start, rest) = parse_number(text)?;
    match rest.strip_prefix(b",") {
        Some(rest) => {
            let (lines, rest) = parse_number(rest)?;
            Some(([start, lines], rest))
        }
        None => Some(([start, 1], rest)),
    }
}

fn parse_number(text: &[u8]) -> Option<(u32, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = text.split_at_checked(digits)?;
    let number = std::str::from_utf8(number).ok()?.parse().ok()?;
    Some((number, rest))
}

/// `GIT binary patch`, then the content after and, mostly, the content before, each up to a blank line.
fn read_binary(cursor: &mut Cursor<'_>) -> Result<(), ParseError> {
    cursor.advance();
    if !starts_binary_block(cursor) {
        return Err(cursor.binary_error());
    }
    read_binary_block(cursor)?;
    if starts_binary_block(cursor) {
        read_binary_block(cursor)?;
    }
    Ok(())
}

fn starts_binary_block(cursor: &Cursor<'_>) -> bool {
    cursor.peek_header().is_some_and(|line| {
        [&b"literal "[..], b"delta "]
            .iter()
            .filter_map(|kind| line.strip_prefix(*kind))
            .any(|size| !size.is_empty() && size.iter().all(u8::is_ascii_digit))
    })
}

fn read_binary_block(cursor: &mut Cursor<'_>) -> Result<(), ParseError> {
    cursor.advance();
    while let Some(line) = cursor.peek_header() {
        if line.is_empty() {
            cursor.advance();
            return Ok(());
        }
        if !is_binary_line(line) {
            return Err(cursor.binary_error());
        }
        cursor.advance();
    }
    Ok(())
}

/// A letter for 1 to 52 bytes, then five base-85 characters for every four of them.
fn is_binary_line(line: &[u8]) -> bool {
    let bytes = match line.first() {
        Some(letter @ b'A'..=b'Z') => usize::from(letter - b'A') + 1,
        Some(letter @ b'a'..=b'z') => usize::from(letter - b'a') + 27,
        _ => return false,
    };
    line.len() == 1 + bytes.div_ceil(4) * 5
}
