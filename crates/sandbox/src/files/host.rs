//! Files where the host and the inside are the same, and the agent may do what the runner may.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::Entry;
use crate::error::Error;

/// Names the operations; all of them block.
pub(crate) struct HostFiles;

/// Most symbolic links that are followed, as the kernel does.
const MAX_LINKS: usize = 40;

impl HostFiles {
    pub(crate) fn entry(path: &Path) -> Result<Option<Entry>, Error> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Ok(Some(Entry::File)),
            Ok(metadata) if metadata.is_dir() => Ok(Some(Entry::Directory)),
            Ok(_) => Ok(Some(Entry::Other)),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(fs::symlink_metadata(path).is_ok().then_some(Entry::Other))
            }
            Err(error) => Err(refused(path, &error)),
        }
    }

    pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(nonblocking())
            .open(path)
            .map_err(|error| refused(path, &error))?;
        let metadata = file.metadata().map_err(|error| refused(path, &error))?;
        check_kind(path, &metadata)?;
        if metadata.len() > limit {
            return Err(too_big(path, metadata.len(), limit));
        }
        let mut content = Vec::new();
        file.take(limit + 1)
            .read_to_end(&mut content)
            .map_err(|error| refused(path, &error))?;
        if content.len() as u64 > limit {
            return Err(too_big(path, content.len() as u64, limit));
        }
        Ok(content)
    }

    pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
        let target = resolve(path).map_err(|error| refused(path, &error))?;
        let permissions = match fs::metadata(&target) {
            Ok(metadata) => {
                check_kind(path, &metadata)?;
                Some(metadata.mode() & 0o7777)
            }
            Err(_) => None,
        };
        let parent = target.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent).map_err(|error| refused(path, &error))?;
        match replace(parent, &target, permissions, content) {
            // The directory may be closed while the file in it is open.
            Err(error)
                if error.kind() == io::ErrorKind::PermissionDenied && permissions.is_some() =>
            {
                fs::write(&target, content)
            }
            other => other,
        }
        .map_err(|error| refused(path, &error))
    }

    pub(crate) fn remove(path: &Path) -> Result<(), Error> {
        fs::remove_file(path).map_err(|error| refused(path, &error))
    }
}

/// A pipe must not hold the runner.
fn nonblocking() -> i32 {
    i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0)
}

fn check_kind(path: &Path, metadata: &fs::Metadata) -> Result<(), Error> {
    if metadata.is_file() {
        Ok(())
    } else if metadata.is_dir() {
        Err(Error::Refused(format!("{} is a directory", path.display())))
    } else {
        Err(Error::Refused(format!(
            "{} is not a regular file",
            path.display()
        )))
    }
}

/// Where a path leads, also when nothing is there yet.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(link) => target = target.parent().unwrap_or(Path::new("/")).join(link),
            Err(_) => return Ok(target),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

fn replace(
    parent: &Path,
    target: &Path,
    permissions: Option<u32>,
    content: &[u8],
) -> io::Result<()> {
    let temporary = parent.join(format!(".patchmill-{:016x}", fastrand::u64(..)));
    let written =
        write_new(&temporary, permissions, content).and_then(|()| fs::rename(&temporary, target));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_new(path: &Path, permissions: Option<u32>, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o644)
        .open(path)?;
    if let Some(permissions) = permissions {
        file.set_permissions(fs::Permissions::from_mode(permissions))?;
    }
    file.write_all(content)
}

pub(super) fn too_big(path: &Path, size: u64, limit: u64) -> Error {
    Error::Refused(format!(
        "{} has {size} bytes, more than the {limit} that can be read at once",
        path.display()
    ))
}

fn refused(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::Disk {
            operation: format!("write {}", path.display()),
        },
        io::ErrorKind::NotFound => Error::Refused(format!("{} does not exist", path.display())),
        io::ErrorKind::PermissionDenied => {
            Error::Refused(format!("{}: permission denied", path.display()))
        }
        _ => Error::Refused(format!("{}: {error}", path.display())),
    }
}
