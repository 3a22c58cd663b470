//! Where a repository comes from.

use std::io::Read;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Repository, RepositoryOpenFlags};

use super::bundle::{self, Bundle};
use crate::error::Error;

/// A repository of the user's, opened for reading.
pub enum Source {
    /// A directory: a work tree or a bare repository.
    Directory(Repository),
    /// A bundle file, unpacked into a directory that lives as long as this.
    Bundle(Bundle),
}

impl Source {
    /// Opens what lies at `path`. A bundle is unpacked into `scratch`, which must exist and which the caller removes.
    ///
    /// # Errors
    /// When nothing is there, it cannot be read, or it is no repository.
    pub fn open(path: &Path, scratch: &Path) -> Result<Self, Error> {
        let metadata = std::fs::metadata(path).map_err(|error| {
            let hint = if error.kind() == std::io::ErrorKind::NotFound {
                "check the row's `repo_path`, or `--repos DIR` with DIR/<owner>__<name>"
            } else {
                "make it readable for the user that runs this"
            };
            Error::Repository {
                path: path.to_owned(),
                problem: String::from("it cannot be reached"),
                hint: hint.to_owned(),
                source: Some(error.into()),
            }
        })?;
        if metadata.is_dir() {
            open_directory(path).map(Self::Directory)
        } else {
            bundle::unpack(path, scratch).map(Self::Bundle)
        }
    }

    pub(crate) fn repository(&self) -> &Repository {
        match self {
            Self::Directory(repository) => repository,
            Self::Bundle(bundle) => &bundle.repository,
        }
    }

    /// The revision that stands for "as it is": HEAD, or what the bundle says.
    pub(crate) fn default_revision(&self) -> Option<String> {
        match self {
            Self::Directory(_) => Some(String::from("HEAD")),
            Self::Bundle(bundle) => bundle.header.default_tip(),
        }
    }

    pub(crate) fn bundle_header(&self) -> Option<&bundle::Header> {
        match self {
            Self::Directory(_) => None,
            Self::Bundle(bundle) => Some(&bundle.header),
        }
    }
}

fn open_directory(path: &Path) -> Result<Repository, Error> {
    // Exactly this directory: a plain directory inside somebody's checkout is not that checkout.
    let none: [&std::ffi::OsStr; 0] = [];
    Repository::open_ext(path, RepositoryOpenFlags::NO_SEARCH, none).map_err(|error| {
        if let Some(denied) = unreadable(path) {
            return denied;
        }
        let (problem, hint) = match error.code() {
            ErrorCode::NotFound => (
                "it is not a git repository",
                String::from("give a work tree, a bare repository or a bundle file"),
            ),
            ErrorCode::Owner => (
                "it belongs to another user",
                format!(
                    "run `git config --global --add safe.directory {}`",
                    path.canonicalize()
                        .unwrap_or_else(|_| path.to_owned())
                        .display()
                ),
            ),
            _ => (
                "it cannot be opened",
                format!("see what `git -C {} fsck` says", path.display()),
            ),
        };
        Error::Repository {
            path: path.to_owned(),
            problem: problem.to_owned(),
            hint,
            source: Some(error.into()),
        }
    })
}

/// What libgit2 takes for an absent repository or commit may be there, and closed to this user.
pub(super) fn unreadable(path: &Path) -> Option<Error> {
    [".", ".git", "objects", ".git/objects", "refs", ".git/refs"]
        .iter()
        .find_map(|part| {
            let part: PathBuf = path.join(part).components().collect();
            let error = std::fs::read_dir(&part).err()?;
            (error.kind() == std::io::ErrorKind::PermissionDenied).then(|| Error::Repository {
                path: path.to_owned(),
                problem: format!("{} cannot be read", part.display()),
                hint: String::from("make it readable for the user that runs this"),
                source: Some(error.into()),
            })
        })
}

/// Reads at most `limit` bytes.
pub(super) fn read_bounded(reader: impl Read, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Lines of a small file in a repository's directory, none where there is no such file.
pub(super) fn lines(path: PathBuf) -> Vec<String> {
    std::fs::File::open(path)
        .and_then(|file| read_bounded(file, 1 << 20))
        .map(|bytes| {
            String::from_utf8_lossy(&bytes)
                .lines()
                .map(|line| line.trim().to_owned())
                .filter(|line| !line.is_empty())
                .collect()
        })
        .unwrap_or_default()
}
