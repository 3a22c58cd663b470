//! Tables of text: comma-separated values as RFC 4180 describes them and Python's `csv` and pandas write them, and the same with tabs.
//!
//! Every value is text, so that a version stays as it is written. An empty field is an absent one: such tables know no other null.

use std::fmt;
use std::io::{self, Read};

use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};
use serde_json::{Map, Value};

use crate::compression::Input;
use crate::error::Error;
use crate::location::Location;
use crate::quotes::Quotes;
use crate::source::{Place, RawRow};

/// The rows of a table.
pub(crate) struct Separated {
    reader: Reader<Metered>,
    header: Vec<String>,
    /// Lines before the reader's first.
    skipped: u64,
    place: Place,
}

impl fmt::Debug for Separated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Separated")
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

impl Separated {
    /// Reads the header, which stands on line `first_line`.
    pub(crate) fn open(
        input: Input,
        delimiter: u8,
        first_line: u64,
        place: Place,
    ) -> Result<Self, Error> {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(Metered::new(input, delimiter));
        let mut table = Self {
            reader,
            header: Vec::new(),
            skipped: first_line.saturating_sub(1),
            place,
        };
        let Some((record, at)) = table.record()? else {
            return Err(Error::Empty {
                path: table.place.path,
            });
        };
        for field in &record {
            let name = table.text(field, at)?;
            if table.header.contains(&name) {
                let problem = format!("the header names {name:?} twice");
                return Err(table.bad(at, problem, "give each column a name of its own"));
            }
            table.header.push(name);
        }
        Ok(table)
    }

    /// The next record and the line where it starts.
    fn record(&mut self) -> Result<Option<(ByteRecord, Location)>, Error> {
        self.reader.get_mut().grant(self.place.limit);
        let next = Location::Line(self.reader.position().line() + self.skipped);
        let mut record = ByteRecord::new();
        match self.reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => return Err(self.failed(error, next)),
        }
        let at = record.position().map_or(next, |position| {
            Location::Line(position.line() + self.skipped)
        });
        if self.reader.get_ref().ends_inside_quotes() {
            return Err(self.bad(
                at,
                "the file ends inside a quoted field".into(),
                "the file was cut off, or a quote is not closed",
            ));
        }
        Ok(Some((record, at)))
    }

    fn failed(&self, error: csv::Error, at: Location) -> Error {
        match error.into_kind() {
            ErrorKind::Io(source)
                if source
                    .get_ref()
                    .is_some_and(<dyn std::error::Error + Send + Sync>::is::<Spent>) =>
            {
                self.place.huge(at)
            }
            ErrorKind::Io(source) => self.place.read(source),
            other => self.bad(
                at,
                format!("{other:?}"),
                "write the table with a CSV library",
            ),
        }
    }

    fn bad(&self, at: Location, problem: String, hint: &'static str) -> Error {
        Error::BadTable {
            path: self.place.path.clone(),
            at,
            problem,
            hint,
        }
    }

    fn text(&self, field: &[u8], at: Location) -> Result<String, Error> {
        match std::str::from_utf8(field) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(self.bad(
                at,
                "a field is not UTF-8".into(),
                "convert the file to UTF-8, for example with iconv",
            )),
        }
    }

    fn row(&mut self) -> Result<Option<RawRow>, Error> {
        let Some((record, at)) = self.record()? else {
            return Ok(None);
        };
        if record.as_slice().len() > self.place.limit {
            return Err(self.place.huge(at));
        }
        if record.len() != self.header.len() {
            let problem = format!(
                "the row has {} and the header {}",
                fields(record.len()),
                self.header.len()
            );
            return Err(self.bad(
                at,
                problem,
                "values that hold commas, quotes or line ends must be quoted, quotes in them doubled",
            ));
        }
        let mut map = Map::new();
        for (name, field) in self.header.iter().zip(&record) {
            if !field.is_empty() {
                map.insert(name.clone(), Value::String(self.text(field, at)?));
            }
        }
        Ok(Some(RawRow::object(at, map)))
    }
}

impl Iterator for Separated {
    type Item = Result<RawRow, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.row().transpose()
    }
}

fn fields(count: usize) -> String {
    match count {
        1 => "1 field".to_owned(),
        _ => format!("{count} fields"),
    }
}

/// Gives out no more bytes than one row may have: a quote that is never closed would swallow the file.
struct Metered {
    input: Input,
    left: usize,
    quotes: Quotes,
    ended: bool,
}

/// A row that took all it may.
#[derive(Debug, thiserror::Error)]
#[error("the row is too large")]
struct Spent;

impl Metered {
    fn new(input: Input, delimiter: u8) -> Self {
        Self {
            input,
            left: 0,
            quotes: Quotes::new(delimiter),
            ended: false,
        }
    }

    /// Grants the bytes of one row, in their worst spelling: every byte a quote that is doubled.
    fn grant(&mut self, limit: usize) {
        self.left = limit.saturating_mul(2).saturating_add(64 << 10);
    }

    /// Whether the file has ended where no record can: it was cut, perhaps at the end of a line of a longer text.
    fn ends_inside_quotes(&self) -> bool {
        self.ended && self.quotes.are_open()
    }
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other(Spent));
        }
        let most = buffer.len().min(self.left);
        let part = buffer.get_mut(..most).unwrap_or_default();
        let count = self.input.read(part)?;
        let taken = part.get(..count).unwrap_or_default();
        self.left -= count;
        self.ended = count == 0;
        self.quotes.follow(taken);
        Ok(count)
    }
}
