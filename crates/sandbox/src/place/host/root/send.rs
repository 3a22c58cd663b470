//! Writing what lies in a directory as an archive, while somebody hostile may be working there.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, OFlags, Stat};
use rustix::io::Errno;
use tar::{EntryType, Header};

use super::regular;
use crate::repository::{Owner, Packer, Worktree};

/// Pieces in which the archive is handed over.
const PIECE: usize = 64 << 10;

/// A file or directory that is to be sent, named as it stands in its parent.
pub(super) struct Subject {
    parent: OwnedFd,
    name: Vec<u8>,
    stat: Stat,
}

impl Subject {
    /// What stands at a name in a directory, not followed where it is a link. An empty name is the directory itself.
    pub(super) fn find(parent: OwnedFd, name: &[u8]) -> io::Result<Self> {
        let looked = if name.is_empty() { b"." } else { name };
        let stat = rustix::fs::statat(&parent, looked, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Self {
            parent,
            name: name.to_vec(),
            stat,
        })
    }

    /// Writes it and all below it. It blocks; without its end an archive is a broken one.
    pub(super) fn send(self, writer: impl Write) -> io::Result<()> {
        let mut packer = Packer::new(BufWriter::with_capacity(PIECE, writer), Owner::default());
        let shown = if self.name.is_empty() {
            &b"root"[..]
        } else {
            &self.name
        };
        let parent = Worktree::of(self.parent);
        if FileType::from_raw_mode(self.stat.st_mode) != FileType::Directory {
            one(&mut packer, &parent, &self.name, shown, &self.stat)?;
            return packer.finish();
        }
        let looked = if self.name.is_empty() {
            &b"."[..]
        } else {
            &self.name
        };
        let top = Worktree::of(parent.readable(looked, OFlags::DIRECTORY)?);
        packer.entry(
            header(EntryType::Directory, &self.stat, 0),
            shown,
            b"",
            io::empty(),
        )?;
        below(&mut packer, &top, shown)?;
        packer.finish()
    }
}

/// All below the top. A directory's entries come after it; how deep it goes is no matter to the stack.
fn below<W: Write>(packer: &mut Packer<W>, top: &Worktree, shown: &[u8]) -> io::Result<()> {
    let mut pending = vec![Vec::new()];
    while let Some(path) = pending.pop() {
        let Some((directory, names)) = present(top.list(&path))? else {
            continue;
        };
        for name in names {
            let found = rustix::fs::statat(&directory, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW);
            let Some(stat) = present(found.map_err(io::Error::from))? else {
                continue;
            };
            let path = if path.is_empty() {
                name
            } else {
                [path.as_slice(), b"/", &name].concat()
            };
            let full = [shown, b"/", &path].concat();
            one(packer, top, &path, &full, &stat)?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                pending.push(path);
            }
        }
    }
    Ok(())
}

/// One entry. What goes away, or becomes something else, between two looks is left out.
fn one<W: Write>(
    packer: &mut Packer<W>,
    tree: &Worktree,
    path: &[u8],
    shown: &[u8],
    stat: &Stat,
) -> io::Result<()> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let opened = tree.readable(path, OFlags::NONBLOCK).and_then(regular);
            let Some(Some(file)) = present(opened)? else {
                return Ok(());
            };
            let size = file.metadata()?.len();
            packer.entry(
                header(EntryType::Regular, stat, size),
                shown,
                b"",
                exactly(file, size),
            )
        }
        FileType::Symlink => {
            let Some(target) = present(tree.read_link(path))? else {
                return Ok(());
            };
            packer.entry(
                header(EntryType::Symlink, stat, 0),
                shown,
                &target,
                io::empty(),
            )
        }
        FileType::Directory => packer.entry(
            header(EntryType::Directory, stat, 0),
            shown,
            b"",
            io::empty(),
        ),
        FileType::Fifo => packer.entry(header(EntryType::Fifo, stat, 0), shown, b"", io::empty()),
        FileType::CharacterDevice | FileType::BlockDevice => {
            packer.entry(header(EntryType::Char, stat, 0), shown, b"", io::empty())
        }
        // Engines leave them out too.
        FileType::Socket | FileType::Unknown => Ok(()),
    }
}

fn header(kind: EntryType, stat: &Stat, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(stat.st_mode & 0o7777);
    header.set_uid(u64::from(stat.st_uid));
    header.set_gid(u64::from(stat.st_gid));
    header.set_mtime(u64::try_from(stat.st_mtime).unwrap_or(0));
    header.set_size(size);
    header
}

/// As many bytes as were promised, also of a file that is cut while it is read.
fn exactly(file: File, size: u64) -> impl Read {
    file.chain(io::repeat(0)).take(size)
}

/// `None` for what is not there any more, or has become something else.
fn present<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::INVAL | Errno::NXIO) => {
                Ok(None)
            }
            _ => Err(error),
        },
    }
}
