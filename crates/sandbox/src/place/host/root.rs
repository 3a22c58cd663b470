//! A directory on the host that a place has as its own root: reached by archives, as the files of a container are, and never left by a link.

mod send;
mod take;

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use tokio_util::io::SyncIoBridge;

use crate::error::Error;
use crate::place::{Archive, Archives};

/// Buffer between the files and whoever reads or writes them.
const BUFFER: usize = 256 << 10;
/// How often the kernel may be asked again for a path that changes while it is looked up.
const AGAIN: usize = 100;

/// The root directory of a place.
pub(crate) struct HostRoot {
    path: PathBuf,
}

impl HostRoot {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a directory as the inside sees it: links are followed, and none leads out.
    fn directory(&self, inside: &str) -> io::Result<OwnedFd> {
        self.open(inside, OFlags::PATH | OFlags::DIRECTORY)
    }

    fn open(&self, inside: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(&self.path, directory, Mode::empty())?;
        let relative = inside.trim_start_matches('/');
        let relative = if relative.is_empty() { "." } else { relative };
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..AGAIN {
            let flags = flags | OFlags::CLOEXEC;
            match rustix::fs::openat2(&root, relative, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN) => {}
                other => return Ok(other?),
            }
        }
        Err(Errno::AGAIN.into())
    }

    /// Whether something stands at a path, links followed.
    pub(crate) fn has(&self, inside: &str) -> bool {
        self.open(inside, OFlags::PATH).is_ok()
    }

    /// Makes a directory and those above it. It blocks.
    pub(crate) fn make_directory(&self, inside: &str, permissions: u32) -> io::Result<()> {
        let mut above = String::from("/");
        for name in inside.split('/').filter(|name| !name.is_empty()) {
            let here = self.directory(&above)?;
            match rustix::fs::mkdirat(&here, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            above = format!("{above}{name}/");
        }
        let made = self.directory(&above)?;
        let permissions = Mode::from_raw_mode(permissions);
        Ok(rustix::fs::chmod(by_descriptor(&made), permissions)?)
    }
}

/// A path by which the kernel finds an opened file again, whatever stands at its name by now.
fn by_descriptor(opened: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", opened.as_raw_fd())
}

/// What an error of the file system means to whoever asked for `at`.
fn refusal(error: io::Error, operation: &str, at: &str) -> Error {
    let absent = matches!(
        Errno::from_io_error(&error),
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
    );
    if absent {
        Error::Refused(format!("there is no {at} in the sandbox"))
    } else {
        Error::lost(format!("{operation} {at} in the sandbox"), error)
    }
}

impl Archives for HostRoot {
    fn put<'a>(&'a self, at: &'a str, archive: Archive) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            const OPERATION: &str = "put files into";
            let directory = self
                .directory(at)
                .map_err(|error| refusal(error, OPERATION, at))?;
            let archive = SyncIoBridge::new(archive);
            let taken = tokio::task::spawn_blocking(move || take::extract(&directory, archive));
            let taken = taken
                .await
                .unwrap_or_else(|panic| Err(io::Error::other(panic)));
            taken.map_err(|error| Error::lost(format!("{OPERATION} {at} in the sandbox"), error))
        })
    }

    fn get<'a>(&'a self, at: &'a str) -> BoxFuture<'a, Result<Archive, Error>> {
        Box::pin(async move {
            let trimmed = at.trim_end_matches('/');
            let (parent, name) = trimmed.rsplit_once('/').unwrap_or(("", trimmed));
            let subject = self
                .directory(parent)
                .and_then(|parent| send::Subject::find(parent, name.as_bytes()))
                .map_err(|error| refusal(error, "read the files of", at))?;
            let (near, far) = tokio::io::duplex(BUFFER);
            let near = SyncIoBridge::new(near);
            // It ends with the stream: a reader that has gone breaks it.
            let sending = tokio::task::spawn_blocking(move || subject.send(near));
            drop(sending);
            Ok(Box::new(far) as Archive)
        })
    }
}

/// Opens a regular file that was found, without waiting for a pipe that was put in its place.
fn regular(opened: OwnedFd) -> io::Result<Option<File>> {
    let file = File::from(opened);
    Ok(file.metadata()?.is_file().then_some(file))
}
