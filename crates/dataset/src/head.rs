//! The start of a text file: what tells the formats apart.

use std::io::{BufRead, Read};
use std::path::Path;

use crate::compression;
use crate::error::Error;
use crate::position::Position;
use crate::row;

/// The first line that is not blank: what tells the formats apart.
pub(crate) struct Head {
    /// That line with its end, a byte order mark cut off.
    pub(crate) line: Vec<u8>,
    /// Its number, from 1.
    pub(crate) line_number: u64,
    /// Its first byte that is not white space.
    pub(crate) first: Option<u8>,
    /// Whether nothing but blank lines follows, as far as it is buffered.
    is_last: bool,
}

impl Head {
    pub(crate) fn read(file: &mut impl BufRead, limit: usize) -> std::io::Result<Self> {
        let mut line_number = 0;
        loop {
            let mut line = Vec::new();
            // One byte more than a row may have, so that the reader that follows sees that it is too large.
            file.by_ref()
                .take(limit as u64 + 1)
                .read_until(b'\n', &mut line)?;
            line_number += 1;
            if line_number == 1 && line.starts_with(b"\xef\xbb\xbf") {
                line.drain(..3);
            }
            let first = line
                .iter()
                .copied()
                .find(|byte| !byte.is_ascii_whitespace());
            if first.is_some() || line.is_empty() {
                let is_last = file.fill_buf()?.iter().all(u8::is_ascii_whitespace);
                return Ok(Self {
                    line,
                    line_number,
                    first,
                    is_last,
                });
            }
        }
    }

    /// Where the text begins that readers get.
    pub(crate) fn start(&self) -> Position {
        Position {
            line: self.line_number,
            indent: 0,
        }
    }

    pub(crate) fn column(&self) -> u64 {
        let blank = self
            .line
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        blank as u64 + 1
    }

    /// What separates the fields, where the file is a table: its name says so, or its first line names fields that rows have.
    pub(crate) fn delimiter(&self, name: &Path) -> Option<u8> {
        if matches!(self.first, Some(b'{' | b'[')) {
            return None;
        }
        if has_extension(name, &["tsv"]) {
            return Some(b'\t');
        }
        let names_fields = || {
            let line = String::from_utf8_lossy(&self.line);
            let names: Vec<&str> = line
                .trim_end()
                .split(',')
                .map(|name| name.trim_matches('"'))
                .collect();
            names.len() > 1 && row::is_row(names.into_iter())
        };
        (has_extension(name, &["csv"]) || names_fields()).then_some(b',')
    }

    /// Whether the file has one row a line. A file that starts with `{` may also be one document, over one line or many.
    pub(crate) fn is_one_of_lines(&self, path: &Path) -> bool {
        let by_extension = has_extension(path, &["jsonl", "ndjson"]);
        let complete = match serde_json::from_slice::<serde::de::IgnoredAny>(&self.line) {
            Ok(_) => true,
            // A line that stops short is the start of a document; in a .jsonl file it is more likely a row that was cut.
            Err(error) if error.is_eof() => by_extension && self.line.trim_ascii() != b"{",
            Err(_) => by_extension,
        };
        complete && (by_extension || !self.is_last)
    }
}

pub(crate) fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().is_some_and(|found| {
        extensions
            .iter()
            .any(|wanted| found.eq_ignore_ascii_case(wanted))
    })
}

/// Names the formats that people hand over by mistake.
pub(crate) fn refuse_foreign(path: &Path, head: &Head) -> Result<(), Error> {
    let (found, hint) = match head.line.as_slice() {
        line if compression::is_compressed(line) => ("compressed twice", "unpack it once"),
        line if line.starts_with(b"PK\x03\x04") => ("a ZIP archive", "unpack it first"),
        line if line.starts_with(b"PAR1") => (
            "a compressed Parquet file",
            "unpack it first: Parquet compresses its own pages",
        ),
        line if line.starts_with(b"version https://git-lfs") => (
            "a Git LFS pointer",
            "fetch the file itself with git lfs pull",
        ),
        line if line.starts_with(b"\xff\xfe") || line.starts_with(b"\xfe\xff") => (
            "UTF-16 text",
            "convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8",
        ),
        line if line.trim_ascii_start().starts_with(b"<") => (
            "HTML or XML",
            "the download may have brought an error page instead of the file",
        ),
        _ => return Ok(()),
    };
    Err(Error::UnsupportedFormat {
        path: path.into(),
        found,
        hint,
    })
}
