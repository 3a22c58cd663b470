//! Files by way of the engine's archives, for a place in which nothing can be run any more.

use std::io::Read;

use tokio_util::io::SyncIoBridge;

use super::Entry;
use super::host::too_big;
use crate::error::Error;
use crate::place::{Archives, Place};
use crate::repository::archive::{self, EntryKind};
use crate::repository::{Owner, Packer};

/// Links that are followed in a row before they count as a loop, as in Linux.
const LINKS: u32 = 40;
/// Bytes of an archive's pieces on their way in.
const BUFFER: usize = 64 << 10;
/// Permissions of new files.
const NEW_FILE: u32 = 0o644;

/// Operations on one place's files.
pub(crate) struct ArchivedFiles<'a> {
    pub(crate) place: &'a dyn Place,
    pub(crate) archives: &'a dyn Archives,
}

/// What stands at a path, once links are followed.
struct Found {
    path: String,
    kind: Entry,
    permissions: u32,
    owner: Owner,
    content: Vec<u8>,
    size: u64,
}

impl Found {
    /// The top of a place, which is always there.
    fn root() -> Self {
        Self {
            path: String::from("/"),
            kind: Entry::Directory,
            permissions: 0o755,
            owner: Owner::default(),
            content: Vec::new(),
            size: 0,
        }
    }
}

/// The first entry of an archive.
struct First {
    entry: archive::Entry,
    content: Vec<u8>,
}

impl ArchivedFiles<'_> {
    pub(crate) async fn entry(&self, path: &str) -> Result<Option<Entry>, Error> {
        Ok(self.find(path, 0).await?.map(|found| found.kind))
    }

    pub(crate) async fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, Error> {
        let Some(found) = self.find(path, limit).await? else {
            return Err(Error::Refused(format!("{path} does not exist")));
        };
        expect_file(path, found.kind)?;
        if found.size > limit {
            return Err(too_big(path.as_ref(), found.size, limit));
        }
        Ok(found.content)
    }

    pub(crate) async fn write(&self, path: &str, content: &[u8]) -> Result<(), Error> {
        let found = self.find(path, 0).await?;
        let (path, permissions, owner) = match &found {
            Some(found) => {
                expect_file(path, found.kind)?;
                (found.path.as_str(), found.permissions, found.owner)
            }
            None => (path, NEW_FILE, Owner::of(self.place)),
        };
        let (directory, name) = self.nearest(path).await?;
        let (name, content) = (name.into_bytes(), content.to_vec());
        let (near, far) = tokio::io::duplex(BUFFER);
        let near = SyncIoBridge::new(near);
        let writing = tokio::task::spawn_blocking(move || {
            let mut packer = Packer::new(near, owner);
            packer.parents(&name, |_| true)?;
            packer.file(&name, permissions, &content)?;
            packer.finish()
        });
        let (put, written) = tokio::join!(self.archives.put(&directory, Box::new(far)), writing);
        put?;
        match written {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Error::lost(format!("write {path}"), error)),
            Err(panic) => Err(Error::lost(format!("write {path}"), panic)),
        }
    }

    /// The deepest directory above a path that there is, and the rest of the path.
    async fn nearest(&self, path: &str) -> Result<(String, String), Error> {
        let mut end = path.rfind('/').unwrap_or(0);
        loop {
            let directory = if end == 0 { "/" } else { &path[..end] };
            let rest = path[end..].trim_start_matches('/').to_owned();
            match self.find(directory, 0).await? {
                Some(found) if found.kind == Entry::Directory => return Ok((found.path, rest)),
                Some(_) => {
                    return Err(Error::Refused(format!("{directory} is not a directory")));
                }
                None if end == 0 => return Ok((String::from("/"), rest)),
                None => end = path[..end].rfind('/').unwrap_or(0),
            }
        }
    }

    /// What stands at a path, with its content where that has at most `limit` bytes. An engine follows the links above the last name by itself, and
    /// none of them leads out of the place.
    async fn find(&self, path: &str, limit: u64) -> Result<Option<Found>, Error> {
        let mut path = path.to_owned();
        for _ in 0..LINKS {
            if path.trim_matches('/').is_empty() {
                return Ok(Some(Found::root()));
            }
            let Some(First { entry, content }) = self.first(&path, limit).await? else {
                return Ok(None);
            };
            let kind = match entry.kind {
                EntryKind::File => Entry::File,
                EntryKind::Directory => Entry::Directory,
                EntryKind::HardLink(_) | EntryKind::Special => Entry::Other,
                EntryKind::Link(target) => {
                    let Ok(target) = String::from_utf8(target) else {
                        return Err(Error::Refused(format!("{path} leads to no readable name")));
                    };
                    path = if target.starts_with('/') {
                        target
                    } else {
                        let above = path.rfind('/').unwrap_or(0);
                        format!("{}/{target}", &path[..above])
                    };
                    continue;
                }
            };
            return Ok(Some(Found {
                path,
                kind,
                permissions: entry.mode & 0o7777,
                owner: Owner {
                    uid: entry.uid,
                    gid: entry.gid,
                },
                content,
                size: entry.size,
            }));
        }
        Err(Error::Refused(format!(
            "{path} leads through too many links"
        )))
    }

    /// The first entry of a path's archive; the rest is not waited for.
    async fn first(&self, path: &str, limit: u64) -> Result<Option<First>, Error> {
        let archive = match self.archives.get(path).await {
            Ok(archive) => SyncIoBridge::new(archive),
            Err(Error::Refused(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let operation = format!("read {path} in the sandbox");
        let reading = tokio::task::spawn_blocking(move || {
            archive::first(archive, |entry, content| {
                let mut kept = Vec::new();
                if entry.size <= limit {
                    content.take(limit).read_to_end(&mut kept)?;
                }
                Ok(First {
                    entry,
                    content: kept,
                })
            })
        });
        match reading.await {
            Ok(Ok(first)) => Ok(first),
            Ok(Err(error)) => Err(Error::lost(operation, error)),
            Err(panic) => Err(Error::lost(operation, panic)),
        }
    }
}

fn expect_file(path: &str, kind: Entry) -> Result<(), Error> {
    match kind {
        Entry::File => Ok(()),
        Entry::Directory => Err(Error::Refused(format!("{path} is a directory"))),
        Entry::Other => Err(Error::Refused(format!("{path} is not a regular file"))),
    }
}
