//! The index of a repository that goes into a place.

use std::path::Path;

use git2::{Index, IndexEntry, IndexTime};

use crate::repository::checkout::{low, low_signed};
use crate::repository::prepare::{Prepared, Tracked};

/// The bytes of an index of the start commit. `known` tells size and time of the last change, in seconds since 1970, of files that are as the commit has
/// them; git looks into the others.
pub(super) fn index(
    prepared: &Prepared,
    private: &Path,
    known: impl Fn(usize, &Tracked) -> Option<(u64, u64)>,
) -> Result<Vec<u8>, crate::error::Cause> {
    let scratch = tempfile::tempdir_in(private)?;
    let path = scratch.path().join("index");
    let mut index = Index::open(&path)?;
    for (at, file) in prepared.files.iter().enumerate() {
        let (size, modified) = known(at, file).unwrap_or_default();
        index.add(&IndexEntry {
            ctime: IndexTime::new(0, 0),
            mtime: IndexTime::new(low_signed(i64::try_from(modified).unwrap_or(0)), 0),
            dev: 0,
            ino: 0,
            mode: file.mode,
            uid: 0,
            gid: 0,
            file_size: low(size),
            id: file.id,
            flags: 0,
            flags_extended: 0,
            path: file.path.clone(),
        })?;
    }
    index.write()?;
    Ok(std::fs::read(path)?)
}
