//! A workspace as an archive showed it: names, kinds and what git calls each content; the content itself only where it may be needed.

mod reader;
mod spool;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;

use git2::{ObjectType, Oid};

use super::checkout::Stamp;
use super::tree::Tree;
use super::worktree::{Kind, Metadata, split};
use crate::place::Place;

pub(super) use reader::{Keep, Reader};

use spool::{Piece, Spool};

/// A regular file.
#[derive(Debug, Clone)]
struct File {
    executable: bool,
    size: u64,
    /// Seconds since 1970.
    modified: u64,
    /// What git calls its content, unless nobody can want to know.
    blob: Option<Oid>,
    /// Where its content is kept.
    piece: Option<Piece>,
    /// The path under which the archive holds the content, where that is another one.
    source: Option<Box<[u8]>>,
}

#[derive(Debug, Clone)]
enum Node {
    File(Box<File>),
    Link(Box<[u8]>),
    Directory,
    Special,
}

/// Who a workspace belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) uid: u64,
    pub(crate) gid: u64,
}

impl Owner {
    /// The user that commands run as; root where only its name is known.
    pub(crate) fn of(place: &dyn Place) -> Self {
        let user = &place.applied().user;
        let (uid, gid) = user.split_once(':').unwrap_or((user, user));
        Self {
            uid: uid.parse().unwrap_or(0),
            gid: gid.parse().unwrap_or(0),
        }
    }
}

/// The workspace. It is not there at all when the agent removed it or put something else in its place.
pub(super) struct Snapshot {
    /// What lies in each directory; the top's path is empty.
    directories: BTreeMap<Vec<u8>, BTreeMap<Box<[u8]>, Node>>,
    spool: Spool,
    owner: Owner,
    /// Directories that seemed to be ignored, whose entries were not taken in.
    passed_over: HashSet<Vec<u8>>,
    /// Paths that hold the contents that a survey asked for.
    asked: RefCell<BTreeSet<Vec<u8>>>,
    /// Whether a content was asked for and is not kept.
    lacking: RefCell<bool>,
}

impl Snapshot {
    fn new(spool: Spool) -> Self {
        Self {
            directories: BTreeMap::new(),
            spool,
            owner: Owner::default(),
            passed_over: HashSet::new(),
            asked: RefCell::default(),
            lacking: RefCell::default(),
        }
    }

    /// The owner of the workspace's directory.
    pub(super) fn owner(&self) -> Owner {
        self.owner
    }

    /// Whether there is no workspace at all.
    pub(super) fn is_absent(&self) -> bool {
        self.directories.is_empty()
    }

    /// Whether anything stands at a path.
    pub(super) fn has(&self, path: &[u8]) -> bool {
        self.node(path).is_some()
    }

    /// Whether a file may be run; `None` when it is no file.
    pub(super) fn is_executable(&self, path: &[u8]) -> Option<bool> {
        self.file(path).ok().map(|file| file.executable)
    }

    /// Whether there is a directory at a path.
    pub(super) fn has_directory(&self, path: &[u8]) -> bool {
        self.directories.contains_key(path)
    }

    /// Size and time of the last change of a file.
    pub(super) fn size_and_time(&self, path: &[u8]) -> Option<(u64, u64)> {
        match self.node(path)? {
            Node::File(file) => Some((file.size, file.modified)),
            Node::Link(_) | Node::Directory | Node::Special => None,
        }
    }

    /// What has to be kept at another reading, where this one lacked something that a survey asked for.
    pub(super) fn lacking(&self) -> Option<HashSet<Vec<u8>>> {
        self.lacking
            .borrow()
            .then(|| self.asked.borrow().iter().cloned().collect())
    }

    fn node(&self, path: &[u8]) -> Option<&Node> {
        let (parent, name) = split(path);
        self.directories.get(parent)?.get(name)
    }

    fn file(&self, path: &[u8]) -> io::Result<&File> {
        match self.node(path) {
            Some(Node::File(file)) => Ok(file),
            Some(_) => Err(io::ErrorKind::InvalidInput.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// A directory of a snapshot: its path.
pub(super) struct Listed(Vec<u8>);

impl Tree for Snapshot {
    type Directory = Listed;

    fn list(&self, path: &[u8]) -> io::Result<(Listed, Vec<Vec<u8>>)> {
        let Some(names) = self.directories.get(path) else {
            // Without a workspace, everything in it is gone.
            if path.is_empty() {
                return Ok((Listed(Vec::new()), Vec::new()));
            }
            return Err(io::ErrorKind::NotFound.into());
        };
        if self.passed_over.contains(path) {
            *self.lacking.borrow_mut() = true;
        }
        let names = names.keys().map(|name| name.to_vec()).collect();
        Ok((Listed(path.to_vec()), names))
    }

    fn metadata_in(&self, directory: &Listed, name: &[u8]) -> io::Result<Metadata> {
        let names = self.directories.get(&directory.0);
        let node = names.and_then(|names| names.get(name));
        let (kind, size) = match node.ok_or(io::ErrorKind::NotFound)? {
            Node::File(file) => (
                Kind::File {
                    executable: file.executable,
                },
                file.size,
            ),
            Node::Link(_) => (Kind::Link, 0),
            Node::Directory => (Kind::Directory, 0),
            Node::Special => (Kind::Special, 0),
        };
        Ok(Metadata {
            kind,
            stamp: Stamp {
                inode: 0,
                size,
                changed: 0,
            },
        })
    }

    fn blob(&self, path: &[u8]) -> Option<Oid> {
        self.file(path).ok()?.blob
    }

    fn read(&self, path: &[u8], limit: u64) -> io::Result<Option<Vec<u8>>> {
        let file = self.file(path)?;
        let source = file.source.as_deref().unwrap_or(path);
        self.asked.borrow_mut().insert(source.to_vec());
        match &file.piece {
            Some(piece) if piece.length > limit => Ok(None),
            Some(piece) => self.spool.read(*piece).map(Some),
            None if file.source.is_none() && file.size > limit => Ok(None),
            None => {
                *self.lacking.borrow_mut() = true;
                Err(io::Error::other("its content was not kept"))
            }
        }
    }

    fn read_link(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        match self.node(path) {
            Some(Node::Link(target)) => Ok(target.to_vec()),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn fingerprint(&self, path: &[u8]) -> Option<Oid> {
        let below = [path, b"/"].concat();
        let mut text = Vec::new();
        let inside = |directory: &[u8]| directory == path || directory.starts_with(&below);
        for (directory, names) in self.directories.range(path.to_vec()..) {
            if !directory.starts_with(path) {
                break;
            }
            if !inside(directory) {
                continue;
            }
            for (name, node) in names {
                text.extend_from_slice(directory);
                text.push(b'/');
                text.extend_from_slice(name);
                text.push(0);
                match node {
                    Node::File(file) => {
                        let blob = file.blob.unwrap_or(Oid::ZERO_SHA1);
                        text.push(b'0' + u8::from(file.executable));
                        text.extend_from_slice(blob.as_bytes());
                    }
                    Node::Link(target) => {
                        text.push(b'l');
                        text.extend_from_slice(target);
                    }
                    Node::Directory => text.push(b'd'),
                    Node::Special => text.push(b's'),
                }
                text.push(0);
            }
        }
        Oid::hash_object(ObjectType::Blob, &text).ok()
    }
}

#[cfg(test)]
mod tests;
