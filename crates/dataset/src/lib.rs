//! Datasets of issues: readers, variants, selection.
//!
//! A dataset is a file of rows, one row for each issue. [`load`] reads them all, [`Rows`] one at a time with bounded memory, and
//! [`load_selected`] keeps only what a [`Selection`] asks for. Whatever the variant, a row becomes an [`Instance`](schema::Instance), which
//! says where the work happens and what is asked, and an [`AnswerKey`](schema::AnswerKey), which the agent never sees.

mod array;
mod document;
mod error;
mod families;
mod fields;
pub mod images;
mod list;
mod pictures;
mod position;
mod python;
mod repository;
mod row;
pub mod select;
mod slice;
mod source;
mod syntax;
mod template;
mod unique;
mod variant;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

pub use error::{Error, Unknown};
pub use families::Family;
pub use repository::repository_path;
pub use row::Row;
pub use select::Selection;
pub use slice::Slice;

/// How a dataset is read.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// Bytes that one row may have. The largest rows of the public datasets have a few megabytes: long test lists, patches with binary files.
    pub max_row_bytes: usize,
    /// Split to take when one file holds several; `None` when it may hold only one.
    pub split: Option<String>,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            max_row_bytes: 64 << 20,
            split: None,
        }
    }
}

/// A dataset in memory.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// Its rows, in the order of the file.
    pub rows: Vec<Row>,
    /// Directory of the file: what a row's `repo_path` is relative to.
    pub directory: PathBuf,
}

/// Reads all rows of the dataset at `path`.
///
/// # Errors
/// When the file cannot be read, holds no row, or any row is not what a row must be: the first such row is named.
pub fn load(path: &Path, options: &LoadOptions) -> Result<Dataset, Error> {
    let rows = Rows::open(path, options)?.collect::<Result<Vec<_>, _>>()?;
    not_empty(path, rows.len())?;
    Ok(Dataset {
        rows,
        directory: directory_of(path),
    })
}

/// Reads the rows of the dataset at `path` that `selection` chooses; the whole file is checked, the other rows are never held in memory.
///
/// # Errors
/// As [`load`] and [`Selection::choose`].
pub fn load_selected(
    path: &Path,
    options: &LoadOptions,
    selection: &Selection,
) -> Result<Dataset, Error> {
    if selection.takes_all() {
        return load(path, options);
    }
    let sieve = selection.sieve()?;
    let mut ids = Vec::new();
    let mut held = HashMap::new();
    for (index, row) in Rows::open(path, options)?.enumerate() {
        let row = row?;
        ids.push(row.instance.id.clone());
        if sieve
            .as_ref()
            .is_some_and(|sieve| sieve.takes(&row.instance.id))
        {
            held.insert(index, row);
        }
    }
    not_empty(path, ids.len())?;
    let chosen = selection.choose(&ids)?;
    if sieve.is_none() {
        // Which rows are chosen shows only at the end: they are read again, and they alone.
        held = read_some(path, options, &chosen)?;
    }
    Ok(Dataset {
        rows: chosen
            .iter()
            .filter_map(|index| held.remove(index))
            .collect(),
        directory: directory_of(path),
    })
}

/// The rows at these positions of a dataset that was checked before.
fn read_some(
    path: &Path,
    options: &LoadOptions,
    positions: &[usize],
) -> Result<HashMap<usize, Row>, Error> {
    let wanted: HashSet<usize> = positions.iter().copied().collect();
    let last = positions.iter().max().map_or(0, |last| last + 1);
    let mut found = HashMap::new();
    for (index, raw) in source::Source::open(path, options)?.enumerate().take(last) {
        let raw = raw?;
        if wanted.contains(&index) {
            found.insert(index, row::read(path, &raw)?);
        }
    }
    Ok(found)
}

fn not_empty(path: &Path, rows: usize) -> Result<(), Error> {
    if rows == 0 {
        return Err(Error::Empty { path: path.into() });
    }
    Ok(())
}

fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.into(),
        _ => PathBuf::from("."),
    }
}

/// The rows of a dataset, read one at a time. Ids are checked against all rows before.
///
/// After an error nothing more comes.
#[derive(Debug)]
pub struct Rows {
    source: source::Source,
    path: PathBuf,
    /// Line of each id that was seen.
    seen: HashMap<schema::InstanceId, u64>,
    /// Id behind each file name that was seen: two instances must never share one file.
    file_names: HashMap<String, schema::InstanceId>,
    failed: bool,
}

impl Rows {
    /// Opens the dataset at `path`.
    ///
    /// # Errors
    /// When it cannot be read or is not made of rows.
    pub fn open(path: &Path, options: &LoadOptions) -> Result<Self, Error> {
        Ok(Self {
            source: source::Source::open(path, options)?,
            path: path.into(),
            seen: HashMap::new(),
            file_names: HashMap::new(),
            failed: false,
        })
    }

    fn read(&mut self, raw: &source::RawRow) -> Result<Row, Error> {
        let row = row::read(&self.path, raw)?;
        let id = &row.instance.id;
        if let Some(first) = self.seen.insert(id.clone(), row.line) {
            return Err(Error::DuplicateId {
                path: self.path.clone(),
                id: id.to_string(),
                first,
                second: row.line,
            });
        }
        if let Some(other) = self.file_names.insert(id.file_name(), id.clone()) {
            return Err(Error::FileNameClash {
                path: self.path.clone(),
                line: row.line,
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
        let row = match self.source.next()? {
            Ok(raw) => self.read(&raw),
            Err(error) => Err(error),
        };
        self.failed = row.is_err();
        Some(row)
    }
}
