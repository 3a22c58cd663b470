//! From batches of columns to rows, one at a time.

use std::fs::File;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};
use serde_json::Map;

use super::arrow_stream::{ArrowFile, ArrowStream};
use super::guard::guarded;
use super::parquet_file::ParquetFile;
use super::{Kind, value};
use crate::error::Error;
use crate::location::Location;
use crate::source::{Place, RawRow};

/// Where batches come from.
enum Batches {
    Parquet(ParquetFile),
    Stream(ArrowStream),
    File(ArrowFile),
}

/// A batch, or why there is none.
pub(super) type Next = Option<Result<RecordBatch, ArrowError>>;

/// Rows of a file of columns.
pub(crate) struct Rows {
    batches: Batches,
    kind: Kind,
    place: Place,
    /// The batch that is being read, and the next row in it.
    batch: Option<(RecordBatch, usize)>,
    /// Rows before the next one.
    before: u64,
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// Opens a file of this kind.
pub(crate) fn open(file: File, kind: Kind, place: Place) -> Result<Rows, Error> {
    let opened = guarded(|| match kind {
        Kind::Parquet => ParquetFile::open(file).map(Batches::Parquet),
        Kind::ArrowStream => ArrowStream::open(file).map(Batches::Stream),
        Kind::ArrowFile => ArrowFile::open(file).map(Batches::File),
    });
    let failed = |source| Error::Columns {
        path: place.path.clone(),
        kind: kind.name(),
        at: None,
        source,
    };
    let batches = opened
        .map_err(|gave_up| failed(gave_up.into()))?
        .map_err(|error| failed(error.into()))?;
    let rows = Rows {
        batches,
        kind,
        place,
        batch: None,
        before: 0,
    };
    check_columns(rows.batches.schema().as_ref(), &rows.place)?;
    Ok(rows)
}

/// Each column has a name of its own and a type that JSON can show.
fn check_columns(schema: &Schema, place: &Place) -> Result<(), Error> {
    let mut names = std::collections::HashSet::new();
    for field in schema.fields() {
        let problem = if names.insert(field.name()) {
            value::unsupported(field.data_type())
                .map(|kind| format!("has the type {kind}, which rows cannot hold"))
        } else {
            Some("is there twice".to_owned())
        };
        if let Some(problem) = problem {
            return Err(Error::Column {
                path: place.path.clone(),
                column: field.name().clone(),
                problem,
            });
        }
    }
    Ok(())
}

impl Batches {
    fn schema(&self) -> arrow_schema::SchemaRef {
        match self {
            Self::Parquet(file) => file.schema(),
            Self::Stream(stream) => stream.schema(),
            Self::File(file) => file.schema(),
        }
    }

    fn next(&mut self) -> Next {
        match self {
            Self::Parquet(file) => file.next(),
            Self::Stream(stream) => stream.next(),
            Self::File(file) => file.next(),
        }
    }

    /// Row group of the batch that came last, from 1.
    fn group(&self) -> Option<u32> {
        match self {
            Self::Parquet(file) => Some(file.group()),
            Self::Stream(_) | Self::File(_) => None,
        }
    }
}

impl Rows {
    /// Names and types of the columns, for the comparison with those of other files.
    pub(crate) fn columns(&self) -> Vec<(String, String)> {
        let schema = self.batches.schema();
        let columns = schema.fields().iter();
        columns
            .map(|field| (field.name().clone(), value::kind(field.data_type())))
            .collect()
    }

    fn at(&self) -> Location {
        Location::Row {
            number: self.before + 1,
            group: self.batches.group(),
        }
    }

    fn failed(&self, source: Box<dyn std::error::Error + Send + Sync>) -> Error {
        Error::Columns {
            path: self.place.path.clone(),
            kind: self.kind.name(),
            at: Some(self.at()),
            source,
        }
    }

    fn row(&mut self) -> Result<Option<RawRow>, Error> {
        loop {
            if let Some((batch, index)) = &mut self.batch
                && *index < batch.num_rows()
            {
                let (batch, row) = (batch.clone(), *index);
                *index += 1;
                let row = self.of_batch(&batch, row)?;
                self.before += 1;
                return Ok(Some(row));
            }
            self.batch = None;
            match guarded(|| self.batches.next()) {
                Ok(None) => return Ok(None),
                Ok(Some(Ok(batch))) => self.batch = Some((batch, 0)),
                Ok(Some(Err(error))) => return Err(self.failed(error.into())),
                Err(gave_up) => return Err(self.failed(gave_up.into())),
            }
        }
    }

    fn of_batch(&self, batch: &RecordBatch, row: usize) -> Result<RawRow, Error> {
        let at = self.at();
        let mut room = value::Room(self.place.limit);
        let mut map = Map::new();
        for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let value =
                value::of(column.as_ref(), row, &mut room).map_err(|wrong| match wrong {
                    value::Wrong::Huge => self.place.huge(at),
                    value::Wrong::Odd(problem) => Error::BadField {
                        path: self.place.path.clone(),
                        at,
                        id: None,
                        field: field.name().clone(),
                        problem,
                    },
                })?;
            map.insert(field.name().clone(), value);
        }
        Ok(RawRow::object(at, map))
    }
}

impl Iterator for Rows {
    type Item = Result<RawRow, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.row().transpose()
    }
}
