//! The hub's own cache: `datasets--ORG--NAME/{blobs,refs,snapshots}`, a blob for each content, named by its `ETag`, and links to them by commit and path.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::error::Error;
use super::id::Id;

/// Bytes of a file that names a commit.
const MAX_REF_BYTES: usize = 256;

/// The directory of all datasets.
pub(super) struct Cache {
    root: PathBuf,
}

/// The directory of one dataset.
pub(super) struct Repository {
    root: PathBuf,
    locks: PathBuf,
}

impl Cache {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(super) fn repository(&self, id: &Id) -> Repository {
        let name = format!("datasets--{}", id.name.replace('/', "--"));
        Repository {
            locks: self.root.join(".locks").join(&name),
            root: self.root.join(name),
        }
    }
}

impl Repository {
    /// Where the files of a commit are.
    pub(super) fn snapshot(&self, commit: &str) -> PathBuf {
        self.root.join("snapshots").join(commit)
    }

    pub(super) fn blob(&self, etag: &str) -> PathBuf {
        self.root.join("blobs").join(etag)
    }

    /// A blob that is not whole.
    pub(super) fn partial(&self, etag: &str) -> PathBuf {
        self.root.join("blobs").join(format!("{etag}.incomplete"))
    }

    /// The commit that a revision stood for when it was asked for last, where its files are here.
    pub(super) fn resolve(&self, revision: &str) -> Result<Option<String>, Error> {
        let path = self.root.join("refs").join(revision);
        let commit = match fs::read_to_string(&path) {
            Ok(text) if text.len() <= MAX_REF_BYTES => text.trim().to_owned(),
            Ok(_) => return Ok(None),
            Err(error) if is_absent(&error) => revision.to_owned(),
            Err(source) => return Err(failed("read", &path, source)),
        };
        let here = is_commit(&commit) && self.snapshot(&commit).is_dir();
        Ok(here.then_some(commit))
    }

    /// Notes which commit a revision stands for.
    pub(super) fn remember(&self, revision: &str, commit: &str) -> Result<(), Error> {
        if revision == commit {
            return Ok(());
        }
        let path = self.root.join("refs").join(revision);
        make_parent(&path)?;
        fs::write(&path, commit).map_err(|source| failed("write", &path, source))
    }

    /// Takes the lock of a blob, if nobody else has it.
    pub(super) fn lock(&self, etag: &str) -> Result<Result<File, PathBuf>, Error> {
        let path = self.locks.join(format!("{etag}.lock"));
        make_parent(&path)?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|source| failed("open", &path, source))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(Err(path)),
            // Some network file systems know no locks; two programs then download the same, each checked.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Ok(file)),
        }
    }

    /// Puts a blob into a snapshot.
    pub(super) fn link(&self, commit: &str, name: &str, etag: &str) -> Result<(), Error> {
        let link = self.snapshot(commit).join(name);
        let blob = self.blob(etag);
        make_parent(&link)?;
        let up = "../".repeat(1 + name.split('/').count());
        let target = PathBuf::from(format!("{up}blobs/{etag}"));
        if fs::read_link(&link).is_ok_and(|found| found == target) {
            return Ok(());
        }
        match fs::remove_file(&link) {
            Err(source) if !is_absent(&source) => return Err(failed("replace", &link, source)),
            Ok(()) | Err(_) => {}
        }
        // Not every file system has symbolic links.
        std::os::unix::fs::symlink(&target, &link)
            .or_else(|_| fs::copy(&blob, &link).map(drop))
            .map_err(|source| failed("link", &link, source))
    }
}

/// 40 hexadecimal digits.
pub(super) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(super) fn make_parent(path: &Path) -> Result<(), Error> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(|source| failed("make", parent, source))
}

pub(super) fn failed(operation: &'static str, path: &Path, source: io::Error) -> Error {
    Error::Cache {
        operation,
        path: path.to_owned(),
        source,
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
