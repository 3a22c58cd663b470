//! The files that a dataset is read from.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::NamedTempFile;

use crate::error::Error;
use crate::layout::{self, Choice, Wanted};
use crate::saved;

/// Bytes of a stream (standard input, a pipe) that are put aside on disk to be read.
const MAX_STREAM_BYTES: u64 = 64 << 30;

/// Files below a directory that are looked at: no dataset has more, and a home directory named by mistake is told so soon.
const MAX_LISTED: usize = 100_000;

/// How deep below a directory its data may lie: `SUBSET/data/SPLIT/0000.parquet`.
const MAX_DEPTH: usize = 4;

/// One file of a dataset.
#[derive(Debug, Clone)]
pub struct DataFile {
    path: PathBuf,
    shown: PathBuf,
    /// What keeps a copy of a stream alive; it is removed with its last user.
    copy: Option<Arc<NamedTempFile>>,
}

impl DataFile {
    /// The file at `path`.
    pub fn new(path: PathBuf) -> Self {
        Self {
            shown: path.clone(),
            path,
            copy: None,
        }
    }

    /// Where its bytes are.
    pub fn path(&self) -> &Path {
        self.copy.as_ref().map_or(&self.path, |copy| copy.path())
    }

    /// What people call it.
    pub fn shown(&self) -> &Path {
        &self.shown
    }
}

/// A dataset that was found: one or more files that are read one after the other.
#[derive(Debug, Clone)]
pub struct Located {
    /// What people call it.
    pub shown: PathBuf,
    /// What a row's `repo_path` is relative to.
    pub directory: PathBuf,
    /// Its files, in order.
    pub files: Vec<DataFile>,
    /// The split that was taken, where the files make it up.
    pub split: Option<String>,
    /// Commit that the files are of, where they are from the hub.
    pub revision: Option<String>,
    /// The split that is to be looked for inside the file.
    pub(crate) inner_split: Option<String>,
}

/// Finds the files of the dataset at `path`: a file, a directory, `-` for standard input.
///
/// # Errors
/// When nothing is there, or a directory holds no data, several formats, or several splits or subsets and none was chosen.
pub fn locate(path: &Path, wanted: &Wanted) -> Result<Located, Error> {
    if path == Path::new("-") {
        if io::stdin().is_terminal() {
            return Err(Error::Terminal);
        }
        let file = copied(io::stdin().lock(), PathBuf::from("<stdin>"))?;
        return one(file, PathBuf::from("."), wanted);
    }
    let read = |source| Error::Read {
        path: path.into(),
        source,
    };
    let metadata = std::fs::metadata(path).map_err(read)?;
    if metadata.is_dir() {
        return in_directory(path, wanted);
    }
    let file = if metadata.is_file() {
        DataFile::new(path.into())
    } else {
        copied(File::open(path).map_err(read)?, path.into())?
    };
    one(file, directory_of(path), wanted)
}

fn one(file: DataFile, directory: PathBuf, wanted: &Wanted) -> Result<Located, Error> {
    if let Some(subset) = &wanted.subset {
        return Err(Error::Subset {
            path: file.shown().into(),
            subsets: Vec::new(),
            wanted: Some(subset.clone()),
        });
    }
    Ok(Located {
        shown: file.shown().into(),
        directory,
        files: vec![file],
        split: None,
        revision: None,
        inner_split: wanted.split.clone(),
    })
}

fn in_directory(path: &Path, wanted: &Wanted) -> Result<Located, Error> {
    if let Some(located) = saved::locate(path, wanted)? {
        return Ok(located);
    }
    let names = listed(path)?;
    let choice = layout::choose(path, names.iter().map(String::as_str), wanted)?;
    Ok(of_choice(path, path, choice))
}

/// The files below `root` that were chosen.
pub(crate) fn of_choice(shown: &Path, root: &Path, choice: Choice) -> Located {
    let files = choice.files.iter();
    Located {
        shown: shown.into(),
        directory: root.into(),
        files: files.map(|name| DataFile::new(root.join(name))).collect(),
        split: Some(choice.split),
        revision: None,
        inner_split: None,
    }
}

/// The files below `root`, by their paths relative to it, in order.
///
/// # Errors
/// When a directory cannot be read, or there are more than any dataset has.
pub(crate) fn listed(root: &Path) -> Result<Vec<String>, Error> {
    listed_up_to(root, MAX_LISTED)
}

fn listed_up_to(root: &Path, most: usize) -> Result<Vec<String>, Error> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![(root.to_owned(), String::new(), 0)];
    while let Some((directory, prefix, depth)) = waiting.pop() {
        let failed = |source| Error::Read {
            path: directory.clone(),
            source,
        };
        for entry in std::fs::read_dir(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if name.starts_with('.') {
                continue;
            }
            // A link counts as what it leads to: in the hub's cache every file is one.
            let Ok(metadata) = std::fs::metadata(entry.path()) else {
                continue;
            };
            let relative = format!("{prefix}{name}");
            if metadata.is_file() {
                if found.len() >= most {
                    return Err(Error::TooManyFiles {
                        path: root.into(),
                        most,
                    });
                }
                found.insert(relative);
            } else if metadata.is_dir() && depth + 1 < MAX_DEPTH && !entry.path().is_symlink() {
                waiting.push((entry.path(), format!("{relative}/"), depth + 1));
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// A copy of a stream on disk: columns are read from their end, and a selection may read twice.
fn copied(stream: impl Read, shown: PathBuf) -> Result<DataFile, Error> {
    let failed = |source| Error::Read {
        path: shown.clone(),
        source,
    };
    let mut copy = NamedTempFile::new().map_err(failed)?;
    let bytes = io::copy(&mut stream.take(MAX_STREAM_BYTES + 1), &mut copy).map_err(failed)?;
    if bytes > MAX_STREAM_BYTES {
        return Err(failed(io::Error::other(format!(
            "the stream holds more than {MAX_STREAM_BYTES} bytes"
        ))));
    }
    Ok(DataFile {
        path: copy.path().to_owned(),
        shown,
        copy: Some(Arc::new(copy)),
    })
}

fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.into(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_files_than_are_looked_at_are_an_error() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("data")).unwrap();
        for name in ["a.json", "data/b.json", ".hidden"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let listed = |most| listed_up_to(directory.path(), most);
        assert_eq!(listed(2).unwrap(), ["a.json", "data/b.json"]);
        assert!(matches!(
            listed(1),
            Err(Error::TooManyFiles { most: 1, .. })
        ));
    }
}
