//! The rows of a dataset, file after file, one at a time.

use std::collections::HashMap;
use std::path::Path;

use schema::InstanceId;

use crate::LoadOptions;
use crate::error::Error;
use crate::files::{DataFile, Located};
use crate::location::Location;
use crate::row::{self, Row};
use crate::source::{RawRow, Source};

/// Rows as they are in the files.
#[derive(Debug)]
pub(crate) struct RawRows {
    files: Vec<DataFile>,
    split: Option<String>,
    options: LoadOptions,
    /// The file that is being read, and its rows.
    open: Option<(usize, Source)>,
    /// The next file.
    next: usize,
    /// Columns of the first file that has some, and which that is.
    columns: Option<(usize, Vec<(String, String)>)>,
}

impl RawRows {
    pub(crate) fn open(located: &Located, options: &LoadOptions) -> Result<Self, Error> {
        let mut rows = Self {
            files: located.files.clone(),
            split: located.inner_split.clone(),
            options: options.clone(),
            open: None,
            next: 0,
            columns: None,
        };
        rows.open_next()?;
        Ok(rows)
    }

    /// Opens the next file, if there is one.
    fn open_next(&mut self) -> Result<bool, Error> {
        self.open = None;
        let Some(file) = self.files.get(self.next) else {
            return Ok(false);
        };
        let source = Source::open(file, self.split.as_deref(), &self.options)?;
        if let Source::Columns(rows) = &source {
            let columns = rows.columns();
            match &self.columns {
                None => self.columns = Some((self.next, columns)),
                Some((first, known)) => self.check_columns(*first, known, &columns)?,
            }
        }
        self.open = Some((self.next, source));
        self.next += 1;
        Ok(true)
    }

    /// Parts of one dataset have the same columns.
    fn check_columns(
        &self,
        first: usize,
        known: &[(String, String)],
        found: &[(String, String)],
    ) -> Result<(), Error> {
        let Some(problem) = difference(known, found) else {
            return Ok(());
        };
        Err(Error::Schemas {
            path: self.path(self.next).into(),
            first: self.path(first).into(),
            problem,
        })
    }

    fn path(&self, file: usize) -> &Path {
        self.files
            .get(file)
            .map_or(Path::new(""), |file| file.shown())
    }
}

/// What the second of two lists of columns has otherwise. A column without a single value has no type of its own.
fn difference(known: &[(String, String)], found: &[(String, String)]) -> Option<String> {
    let missing = known
        .iter()
        .find(|(name, _)| !found.iter().any(|f| f.0 == *name));
    if let Some((name, _)) = missing {
        return Some(format!("column `{name}` is missing here"));
    }
    found.iter().find_map(|(name, kind)| {
        let Some((_, other)) = known.iter().find(|k| k.0 == *name) else {
            return Some(format!("column `{name}` is only here"));
        };
        let same = kind == other || kind == "null" || other == "null";
        (!same).then(|| format!("column `{name}` is {kind} here and {other} there"))
    })
}

impl Iterator for RawRows {
    /// A row and the number of its file.
    type Item = Result<(usize, RawRow), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (file, source) = self.open.as_mut()?;
            if let Some(row) = source.next() {
                return Some(row.map(|row| (*file, row)));
            }
            match self.open_next() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// The rows of a dataset, read one at a time. Ids are checked against all rows before.
///
/// After an error nothing more comes.
#[derive(Debug)]
pub struct Rows {
    raw: RawRows,
    /// File and place of each id that was seen.
    seen: HashMap<InstanceId, (usize, Location)>,
    /// Id behind each file name that was seen: two instances must never share one file.
    file_names: HashMap<String, InstanceId>,
    failed: bool,
}

impl Rows {
    /// Opens the dataset at `path`: see [`locate`](crate::locate).
    ///
    /// # Errors
    /// When it cannot be read or is not made of rows.
    pub fn open(path: &Path, options: &LoadOptions) -> Result<Self, Error> {
        Self::of(&crate::locate(path, &options.wanted)?, options)
    }

    /// Opens a dataset that was found.
    ///
    /// # Errors
    /// When it cannot be read or is not made of rows.
    pub fn of(located: &Located, options: &LoadOptions) -> Result<Self, Error> {
        Ok(Self {
            raw: RawRows::open(located, options)?,
            seen: HashMap::new(),
            file_names: HashMap::new(),
            failed: false,
        })
    }

    fn read(&mut self, file: usize, raw: RawRow) -> Result<Row, Error> {
        let path = self.raw.path(file);
        let row = row::read(path, raw, self.raw.options.needs_statement)?;
        let id = &row.instance.id;
        if let Some((first_file, first)) = self.seen.insert(id.clone(), (file, row.at)) {
            return Err(Error::DuplicateId {
                path: path.into(),
                id: id.to_string(),
                first_path: self.raw.path(first_file).into(),
                first,
                second: row.at,
            });
        }
        if let Some(other) = self.file_names.insert(id.file_name(), id.clone()) {
            return Err(Error::FileNameClash {
                path: path.into(),
                at: row.at,
                id: id.to_string(),
                other: other.to_string(),
            });
        }
        Ok(row)
    }
}

impl Iterator for Rows {
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let row = match self.raw.next()? {
            Ok((file, raw)) => self.read(file, raw),
            Err(error) => Err(error),
        };
        self.failed = row.is_err();
        Some(row)
    }
}
