//! From a dataset to the rows that were asked for.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::files::Located;
use crate::row::{self, Row};
use crate::rows::{RawRows, Rows};
use crate::select::{Candidate, Selection};
use crate::{LoadOptions, files};

/// A dataset in memory.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// Its rows, in the order of the files.
    pub rows: Vec<Row>,
    /// What a row's `repo_path` is relative to.
    pub directory: PathBuf,
}

/// Reads all rows of the dataset at `path`: see [`locate`](files::locate).
///
/// # Errors
/// When it cannot be read, holds no row, or any row is not what a row must be: the first such row is named.
pub fn load(path: &Path, options: &LoadOptions) -> Result<Dataset, Error> {
    load_selected(path, options, &Selection::default())
}

/// Reads the rows of the dataset at `path` that `selection` chooses; the whole dataset is checked, the other rows are never held in memory.
///
/// # Errors
/// As [`load`] and [`Selection::choose`].
pub fn load_selected(
    path: &Path,
    options: &LoadOptions,
    selection: &Selection,
) -> Result<Dataset, Error> {
    let located = files::locate(path, &options.wanted)?;
    Ok(Dataset {
        rows: located.select(options, selection, |row| row)?,
        directory: located.directory,
    })
}

impl Located {
    /// Reads the rows that `selection` chooses and keeps of each what `keep` makes of it, in the chosen order. The whole dataset is checked; in
    /// memory are one row, the ids, and what was kept.
    ///
    /// # Errors
    /// When the dataset cannot be read, holds no row, or any row is not what a row must be, and as [`Selection::choose`].
    pub fn select<T>(
        &self,
        options: &LoadOptions,
        selection: &Selection,
        mut keep: impl FnMut(Row) -> T,
    ) -> Result<Vec<T>, Error> {
        let all = selection.takes_all();
        let sieve = selection.sieve()?;
        let (mut candidates, mut held) = (Vec::new(), HashMap::new());
        for (index, row) in Rows::of(self, options)?.enumerate() {
            let row = row?;
            let candidate = Candidate::of(&row);
            if all || sieve.as_ref().is_some_and(|sieve| sieve.takes(&candidate)) {
                held.insert(index, keep(row));
            }
            candidates.push(candidate);
        }
        if candidates.is_empty() {
            return Err(Error::Empty {
                path: self.shown.clone(),
            });
        }
        let chosen = selection.choose(&candidates)?;
        if !all && sieve.is_none() {
            // Which rows are chosen shows only at the end: they are read again, and they alone.
            self.read_some(options, &chosen, |index, row| {
                held.insert(index, keep(row));
            })?;
        }
        let taken = chosen.iter().filter_map(|index| held.remove(index));
        Ok(taken.collect())
    }

    /// The rows at these positions of a dataset that was checked before.
    fn read_some(
        &self,
        options: &LoadOptions,
        positions: &[usize],
        mut found: impl FnMut(usize, Row),
    ) -> Result<(), Error> {
        let wanted: HashSet<usize> = positions.iter().copied().collect();
        let last = positions.iter().max().map_or(0, |last| last + 1);
        for (index, raw) in RawRows::open(self, options)?.enumerate().take(last) {
            let (file, raw) = raw?;
            if wanted.contains(&index) {
                let path = self
                    .files
                    .get(file)
                    .map_or(self.shown.as_path(), |f| f.shown());
                found(index, row::read(path, raw, options.needs_statement)?);
            }
        }
        Ok(())
    }
}
