//! What a survey looks at: a directory of the host, or the snapshot of one that the host cannot reach.

use std::io;
use std::os::fd::OwnedFd;

use git2::Oid;

use super::worktree::{Metadata, Worktree};

/// A workspace's files, no link in it followed.
pub(super) trait Tree {
    /// An opened directory.
    type Directory;

    /// Names in a directory, sorted, and the directory itself for looking at them.
    fn list(&self, path: &[u8]) -> io::Result<(Self::Directory, Vec<Vec<u8>>)>;

    /// What stands at a name in an opened directory.
    fn metadata_in(&self, directory: &Self::Directory, name: &[u8]) -> io::Result<Metadata>;

    /// git's name of a file's content, where that is known without reading it.
    fn blob(&self, path: &[u8]) -> Option<Oid>;

    /// Reads a regular file of at most `limit` bytes; `None` when it is longer.
    fn read(&self, path: &[u8], limit: u64) -> io::Result<Option<Vec<u8>>>;

    /// The target of a symbolic link.
    fn read_link(&self, path: &[u8]) -> io::Result<Vec<u8>>;

    /// One number for all that lies below a directory, where it can be had.
    fn fingerprint(&self, path: &[u8]) -> Option<Oid>;
}

impl Tree for Worktree {
    type Directory = OwnedFd;

    fn list(&self, path: &[u8]) -> io::Result<(OwnedFd, Vec<Vec<u8>>)> {
        Self::list(self, path)
    }

    fn metadata_in(&self, directory: &OwnedFd, name: &[u8]) -> io::Result<Metadata> {
        Self::metadata_in(directory, name)
    }

    fn blob(&self, _: &[u8]) -> Option<Oid> {
        None
    }

    fn read(&self, path: &[u8], limit: u64) -> io::Result<Option<Vec<u8>>> {
        Self::read(self, path, limit)
    }

    fn read_link(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        Self::read_link(self, path)
    }

    fn fingerprint(&self, _: &[u8]) -> Option<Oid> {
        None
    }
}
