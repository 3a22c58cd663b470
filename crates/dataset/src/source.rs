//! From a file to the raw text of its rows, by content first and by extension where content leaves it open.

use std::fs::File;
use std::io::{BufRead, BufReader, Chain, Cursor, Read};
use std::path::{Path, PathBuf};

use crate::array::Elements;
use crate::error::Error;
use crate::position::Position;
use crate::{LoadOptions, document};

/// The text of one row and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawRow {
    /// Where it starts.
    pub(crate) start: Position,
    /// One JSON value.
    pub(crate) bytes: Vec<u8>,
    /// Its key, where the rows are the members of an object.
    pub(crate) key: Option<String>,
}

/// What was read to find out the format, then the rest.
pub(crate) type Input = Chain<Cursor<Vec<u8>>, BufReader<File>>;

/// Raw rows of a file.
#[derive(Debug)]
pub(crate) enum Source {
    Lines(Lines),
    Elements(Elements<Input>),
    Document(std::vec::IntoIter<RawRow>),
}

impl Source {
    pub(crate) fn open(path: &Path, options: &LoadOptions) -> Result<Self, Error> {
        let mut file = BufReader::new(open_file(path)?);
        let head = Head::read(&mut file, options.max_row_bytes)
            .map_err(|source| read_error(path, source))?;
        let place = Place {
            path: path.into(),
            limit: options.max_row_bytes,
        };
        refuse_foreign(path, &head)?;
        let Some(first) = head.first else {
            return Err(Error::Empty { path: path.into() });
        };
        let rest = Cursor::new(head.line.clone()).chain(file);
        match first {
            b'[' => Ok(Self::Elements(Elements::new(rest, place, head.start()))),
            b'{' if head.is_one_of_lines(path) => Ok(Self::Lines(Lines {
                input: rest,
                line: head.line_number,
                place,
            })),
            b'{' => Ok(Self::Document(
                document::rows(rest, &place, head.start(), options.split.as_deref())?.into_iter(),
            )),
            _ => Err(Error::Malformed {
                path: path.into(),
                line: head.line_number,
                column: head.column(),
                problem: "expected a JSON object or array".into(),
                hint: Some(
                    "a dataset has one JSON object for each issue: an array in .json, one a line in .jsonl",
                ),
            }),
        }
    }
}

impl Iterator for Source {
    type Item = Result<RawRow, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::Elements(elements) => elements.next(),
            Self::Document(rows) => rows.next().map(Ok),
        }
    }
}

/// What every reader needs for its errors.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    /// Bytes that one row may have.
    pub(crate) limit: usize,
}

impl Place {
    pub(crate) fn read(&self, source: std::io::Error) -> Error {
        read_error(&self.path, source)
    }

    pub(crate) fn huge(&self, line: u64) -> Error {
        Error::HugeRow {
            path: self.path.clone(),
            line,
            limit: self.limit,
        }
    }

    pub(crate) fn malformed(
        &self,
        at: Position,
        problem: impl Into<String>,
        hint: &'static str,
    ) -> Error {
        Error::Malformed {
            path: self.path.clone(),
            line: at.line,
            column: at.indent + 1,
            problem: problem.into(),
            hint: Some(hint),
        }
    }
}

/// The first line that is not blank: what tells the formats apart.
struct Head {
    /// That line with its end, a byte order mark cut off.
    line: Vec<u8>,
    /// Its number, from 1.
    line_number: u64,
    /// Its first byte that is not white space.
    first: Option<u8>,
    /// Whether nothing but blank lines follows, as far as it is buffered.
    is_last: bool,
}

impl Head {
    fn read(file: &mut BufReader<File>, limit: usize) -> std::io::Result<Self> {
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
    fn start(&self) -> Position {
        Position {
            line: self.line_number,
            indent: 0,
        }
    }

    fn column(&self) -> u64 {
        let blank = self
            .line
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        blank as u64 + 1
    }

    /// Whether the file has one row a line. A file that starts with `{` may also be one document, over one line or many.
    fn is_one_of_lines(&self, path: &Path) -> bool {
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

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().is_some_and(|found| {
        extensions
            .iter()
            .any(|wanted| found.eq_ignore_ascii_case(wanted))
    })
}

fn open_file(path: &Path) -> Result<File, Error> {
    let file = File::open(path).map_err(|source| read_error(path, source))?;
    let metadata = file.metadata().map_err(|source| read_error(path, source))?;
    if metadata.is_dir() {
        return Err(Error::IsDirectory {
            path: path.into(),
            candidates: candidates(path),
        });
    }
    Ok(file)
}

fn candidates(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| has_extension(path, &["json", "jsonl", "ndjson"]))
        .collect();
    found.sort();
    found.truncate(5);
    found
}

fn read_error(path: &Path, source: std::io::Error) -> Error {
    Error::Read {
        path: path.into(),
        source,
    }
}

/// Names the formats that people hand over by mistake.
fn refuse_foreign(path: &Path, head: &Head) -> Result<(), Error> {
    const UNPACK: &str = "unpack it first";
    let (found, hint) = match head.line.as_slice() {
        line if line.starts_with(b"PAR1") => (
            "a Parquet file",
            "write its rows as JSON lines first, for example with pandas: to_json(orient=\"records\", lines=True)",
        ),
        line if line.starts_with(b"\x1f\x8b") => ("compressed with gzip", UNPACK),
        line if line.starts_with(b"\x28\xb5\x2f\xfd") => ("compressed with Zstandard", UNPACK),
        line if line.starts_with(b"PK\x03\x04") => ("a ZIP archive", UNPACK),
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

/// One row a line.
#[derive(Debug)]
pub(crate) struct Lines {
    input: Input,
    /// Number of the next line.
    line: u64,
    place: Place,
}

impl Iterator for Lines {
    type Item = Result<RawRow, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut bytes = Vec::new();
            // The line's own end does not count.
            let limit = self.place.limit as u64 + 2;
            if let Err(source) = self
                .input
                .by_ref()
                .take(limit)
                .read_until(b'\n', &mut bytes)
            {
                return Some(Err(self.place.read(source)));
            }
            if bytes.is_empty() {
                return None;
            }
            let line = self.line;
            self.line += 1;
            let indent = bytes
                .iter()
                .take_while(|byte| byte.is_ascii_whitespace())
                .count();
            let trimmed = bytes.trim_ascii();
            if trimmed.len() > self.place.limit
                || (bytes.len() as u64 == limit && !bytes.ends_with(b"\n"))
            {
                return Some(Err(self.place.huge(line)));
            }
            if trimmed.is_empty() {
                continue;
            }
            return Some(Ok(RawRow {
                start: Position {
                    line,
                    indent: indent as u64,
                },
                bytes: trimmed.to_vec(),
                key: None,
            }));
        }
    }
}
