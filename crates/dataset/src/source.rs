//! From a file to its rows, by content first and by extension where content leaves it open.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::LoadOptions;
use crate::array::Elements;
use crate::compression::{self, Input};
use crate::error::Error;
use crate::files::DataFile;
use crate::head::{self, Head};
use crate::lines::Lines;
use crate::location::Location;
use crate::position::Position;
use crate::separated::Separated;
use crate::{columns, document};

/// What a row is made of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    /// One JSON value.
    Text {
        /// Where it starts.
        start: Position,
        /// The value.
        bytes: Vec<u8>,
    },
    /// Fields, from a file that is not JSON.
    Object(Map<String, Value>),
}

/// One row as it is in the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RawRow {
    /// Where it stands.
    pub(crate) at: Location,
    /// What it is made of.
    pub(crate) content: Content,
    /// Its key, where the rows are the members of an object.
    pub(crate) key: Option<String>,
}

impl RawRow {
    /// A row of JSON text.
    pub(crate) fn text(start: Position, bytes: Vec<u8>, key: Option<String>) -> Self {
        Self {
            at: Location::Line(start.line),
            content: Content::Text { start, bytes },
            key,
        }
    }

    /// A row of another format.
    pub(crate) fn object(at: Location, fields: Map<String, Value>) -> Self {
        Self {
            at,
            content: Content::Object(fields),
            key: None,
        }
    }
}

/// Raw rows of a file.
#[derive(Debug)]
pub(crate) enum Source {
    Lines(Lines),
    Elements(Elements<Input>),
    Document(std::vec::IntoIter<RawRow>),
    Separated(Box<Separated>),
    Columns(Box<columns::Rows>),
}

impl Source {
    /// Opens a file; `split` chooses where the file itself holds several.
    pub(crate) fn open(
        file: &DataFile,
        split: Option<&str>,
        options: &LoadOptions,
    ) -> Result<Self, Error> {
        let place = Place {
            path: file.shown().into(),
            limit: options.max_row_bytes,
        };
        let (opened, magic) = open(file.path()).map_err(|source| place.read(source))?;
        if let Some(kind) = columns::Kind::of(&magic, file.shown()) {
            return columns::open(opened, kind, place)
                .map(Box::new)
                .map(Self::Columns);
        }
        let input = compression::open(opened, &magic).map_err(|source| place.read(source))?;
        let name = if compression::is_compressed(&magic) {
            compression::without_suffix(file.shown())
        } else {
            file.shown().to_owned()
        };
        Self::of_text(input, &name, place, split)
    }

    /// `name` tells what content leaves open.
    fn of_text(
        mut input: Input,
        name: &Path,
        place: Place,
        split: Option<&str>,
    ) -> Result<Self, Error> {
        let head = Head::read(&mut input, place.limit).map_err(|source| place.read(source))?;
        head::refuse_foreign(&place.path, &head)?;
        let Some(first) = head.first else {
            return Err(Error::Empty { path: place.path });
        };
        if let Some(delimiter) = head.delimiter(name) {
            let first_line = head.line_number;
            let rest = input.after(head.line);
            return Separated::open(rest, delimiter, first_line, place)
                .map(Box::new)
                .map(Self::Separated);
        }
        let start = head.start();
        match first {
            b'[' => Ok(Self::Elements(Elements::new(
                input.after(head.line),
                place,
                start,
            ))),
            b'{' if head.is_one_of_lines(name) => Ok(Self::Lines(Lines {
                line: head.line_number,
                input: input.after(head.line),
                place,
            })),
            b'{' => {
                let rows = document::rows(input.after(head.line), &place, start, split)?;
                Ok(Self::Document(rows.into_iter()))
            }
            _ => Err(Error::Malformed {
                path: place.path,
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
            Self::Separated(rows) => rows.next(),
            Self::Columns(rows) => rows.next(),
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
    pub(crate) fn read(&self, source: io::Error) -> Error {
        if source
            .get_ref()
            .is_some_and(<dyn std::error::Error + Send + Sync>::is::<compression::Broken>)
        {
            return Error::Damaged {
                path: self.path.clone(),
                source: Box::new(source),
            };
        }
        Error::Read {
            path: self.path.clone(),
            source,
        }
    }

    pub(crate) fn huge(&self, at: Location) -> Error {
        Error::HugeRow {
            path: self.path.clone(),
            at,
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

/// Opens a file at its start, and looks at its first bytes.
fn open(path: &Path) -> io::Result<(File, Vec<u8>)> {
    let mut file = File::open(path)?;
    let mut magic = Vec::new();
    file.by_ref().take(8).read_to_end(&mut magic)?;
    file.rewind()?;
    Ok((file, magic))
}
