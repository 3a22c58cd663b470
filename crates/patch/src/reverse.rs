//! Turns a patch round, so that it undoes what it did.

use crate::error::ReverseError;
use crate::file::{Change, Content, FilePatch};
use crate::parse::parse;

/// The patch that undoes `input`. What stands between the sections of files is left out.
///
/// # Errors
/// Those of [`parse`], and a section that does not say what it takes away: a copy, a notice that binary files differ, or binary content
/// without the content before.
pub fn reverse(input: &[u8]) -> Result<Vec<u8>, ReverseError> {
    let patch = parse(input)?;
    let mut reversed = Vec::with_capacity(input.len());
    // What was done last is undone first: a file that became a link is two sections.
    for file in patch.files.iter().rev() {
        let whole = |reason| ReverseError::Lossy {
            path: file.path().to_str_lossy().into_owned(),
            reason,
        };
        if file.change == Change::Copied {
            return Err(whole("a copy"));
        }
        let from = reversed.len();
        section(input, file, &mut reversed).map_err(whole)?;
        if reversed.len() > from && !reversed.ends_with(b"\n") {
            reversed.push(b'\n');
        }
    }
    Ok(reversed)
}

fn section(input: &[u8], file: &FilePatch, out: &mut Vec<u8>) -> Result<(), &'static str> {
    let bytes = |from: usize, to: usize| input.get(from..to).unwrap_or_default();
    let body = match (file.content, file.hunks.first()) {
        (Content::BinaryNotice, _) => return Err("a notice without content"),
        (Content::Text, Some(hunk)) => hunk.range.start,
        (Content::BinaryData, _) => {
            let text = bytes(file.range.start, file.range.end);
            let at = find(text, b"GIT binary patch").ok_or("no binary content")?;
            file.range.start + at
        }
        (Content::Text | Content::None, _) => file.range.end,
    };
    header(bytes(file.range.start, body), file, out);
    match file.content {
        Content::BinaryData => binary(bytes(body, file.range.end), out)?,
        Content::Text => {
            for hunk in &file.hunks {
                self::hunk(bytes(hunk.range.start, hunk.range.end), out);
            }
        }
        Content::None | Content::BinaryNotice => {}
    }
    Ok(())
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len())
        .position(|window| window == wanted)
}

/// Header lines that come in pairs, which change places.
const PAIRS: [(&[u8], &[u8]); 3] = [
    (b"old mode ", b"new mode "),
    (b"rename from ", b"rename to "),
    (b"--- ", b"+++ "),
];

fn header(text: &[u8], file: &FilePatch, out: &mut Vec<u8>) {
    let mut first: Option<&[u8]> = None;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let one = PAIRS.iter().find_map(|(one, _)| line.strip_prefix(*one));
        let other = PAIRS.iter().find_map(|(one, other)| {
            let value = line.strip_prefix(*other)?;
            Some((*one, *other, value))
        });
        if let Some(value) = one {
            first = Some(value);
        } else if let (Some((one, other, value)), Some(before)) = (other, first.take()) {
            let renamed = one == b"rename from ";
            let prefixes = if renamed { [b' '; 2] } else { *b"ab" };
            line_of(out, one, value, prefixes[0]);
            line_of(out, other, before, prefixes[1]);
        } else if line.starts_with(b"diff --git ") && file.change == Change::Renamed {
            git_line(text, out);
        } else if let Some(mode) = line.strip_prefix(b"new file ") {
            line_of(out, b"deleted file ", mode, b' ');
        } else if let Some(mode) = line.strip_prefix(b"deleted file ") {
            line_of(out, b"new file ", mode, b' ');
        } else if let Some(ids) = line.strip_prefix(b"index ") {
            index_line(out, ids);
        } else {
            out.extend_from_slice(line);
        }
    }
}

/// A line of a header; the name in it gets the prefix of its new side, where it has the usual one of a diff.
fn line_of(out: &mut Vec<u8>, keyword: &[u8], value: &[u8], prefix: u8) {
    let at = out.len() + keyword.len();
    out.extend_from_slice(keyword);
    out.extend_from_slice(value);
    let quote = usize::from(value.first() == Some(&b'"'));
    let usual = matches!(value.get(quote..quote + 2), Some([b'a' | b'b', b'/']));
    if let (true, b'a' | b'b', Some(letter)) = (usual, prefix, out.get_mut(at + quote)) {
        *letter = prefix;
    }
}

/// `diff --git` for a rename the other way, its names from the lines of the rename.
fn git_line(text: &[u8], out: &mut Vec<u8>) {
    let value = |keyword: &[u8]| {
        let mut lines = text.split(|byte| *byte == b'\n');
        lines.find_map(|line| line.strip_prefix(keyword))
    };
    let named = |name: &[u8], prefix: &[u8]| match name.strip_prefix(b"\"") {
        Some(rest) => [b"\"", prefix, rest].concat(),
        None => [prefix, name].concat(),
    };
    let (old, new) = (value(b"rename from "), value(b"rename to "));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let line = [
        &b"diff --git "[..],
        &named(new, b"a/"),
        b" ",
        &named(old, b"b/"),
        b"\n",
    ];
    out.extend_from_slice(&line.concat());
}

/// `index <old>..<new> <mode>`.
fn index_line(out: &mut Vec<u8>, ids: &[u8]) {
    let end = ids.iter().position(u8::is_ascii_whitespace);
    let (both, rest) = ids.split_at(end.unwrap_or(ids.len()));
    out.extend_from_slice(b"index ");
    match find(both, b"..") {
        Some(dots) => {
            out.extend_from_slice(both.get(dots + 2..).unwrap_or_default());
            out.extend_from_slice(b"..");
            out.extend_from_slice(both.get(..dots).unwrap_or_default());
        }
        None => out.extend_from_slice(both),
    }
    out.extend_from_slice(rest);
}

/// A hunk: its spans change places, what was added is taken away, and each run begins with what is taken away, as git writes it.
fn hunk(text: &[u8], out: &mut Vec<u8>) {
    let mut lines = text.split_inclusive(|byte| *byte == b'\n').peekable();
    if let Some(line) = lines.next() {
        hunk_header(line, out);
    }
    let (mut gone, mut come) = (Vec::new(), Vec::new());
    while let Some(line) = lines.next() {
        let (side, sign) = match line.first() {
            Some(b'+') => (&mut gone, b'-'),
            Some(b'-') => (&mut come, b'+'),
            _ => {
                out.append(&mut gone);
                out.append(&mut come);
                out.extend_from_slice(line);
                continue;
            }
        };
        side.push(sign);
        side.extend_from_slice(line.get(1..).unwrap_or_default());
        if !line.ends_with(b"\n") {
            side.push(b'\n');
        }
        // The note that a line has no end belongs to it.
        if let Some(note) = lines.next_if(|next| next.starts_with(b"\\")) {
            side.extend_from_slice(note);
            if !note.ends_with(b"\n") {
                side.push(b'\n');
            }
        }
    }
    out.append(&mut gone);
    out.append(&mut come);
}

/// `@@ -<old> +<new> @@`, then anything.
fn hunk_header(line: &[u8], out: &mut Vec<u8>) {
    let spans = || {
        let rest = line.strip_prefix(b"@@ -")?;
        let middle = find(rest, b" +")?;
        let end = find(rest, b" @@")?;
        Some((
            rest.get(..middle)?,
            rest.get(middle + 2..end)?,
            rest.get(end..)?,
        ))
    };
    match spans() {
        Some((old, new, rest)) => {
            out.extend_from_slice(&[&b"@@ -"[..], new, b" +", old, rest].concat());
        }
        None => out.extend_from_slice(line),
    }
}

/// `GIT binary patch`, the content after, the content before: the two blocks change places.
fn binary(text: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    let mut lines = text.split_inclusive(|byte| *byte == b'\n');
    out.extend_from_slice(lines.next().unwrap_or_default());
    for line in lines.filter(|line| !line.trim_ascii().is_empty()) {
        let starts = line.starts_with(b"literal ") || line.starts_with(b"delta ");
        match blocks.last_mut() {
            Some(block) if !starts => block.extend_from_slice(line),
            _ => blocks.push(line.to_vec()),
        }
    }
    let [after, before] = &*blocks else {
        return Err("binary content without the content before");
    };
    for block in [before, after] {
        out.extend_from_slice(block);
        if !block.ends_with(b"\n") {
            out.push(b'\n');
        }
        out.push(b'\n');
    }
    Ok(())
}
