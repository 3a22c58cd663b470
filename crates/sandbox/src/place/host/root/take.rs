//! Extracting an archive of ours below a directory, through none of the links that lie there.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, Uid};
use rustix::io::Errno;
use tar::{EntryType, Header};

use super::by_descriptor;
use crate::place::removal;
use crate::repository::{Worktree, split};

/// Extracts a whole archive. As with an engine, a directory is merged into the one that is there, and anything else takes the place of what is there. It
/// blocks.
pub(super) fn extract(directory: &OwnedFd, archive: impl Read) -> io::Result<()> {
    let top = Worktree::of(directory.try_clone()?);
    let mut archive = tar::Archive::new(archive);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let header = entry.header().clone();
        let path = entry.path_bytes().into_owned();
        let path = path.strip_prefix(b"./").unwrap_or(&path);
        let path = path.strip_suffix(b"/").unwrap_or(path);
        if path.is_empty() {
            settle(directory, &header)?;
            continue;
        }
        let (parent, name) = split(path);
        top.make_directories(parent)?;
        let parent = top.directory(parent)?;
        match header.entry_type() {
            EntryType::Directory => make(&parent, name, &header)?,
            EntryType::Regular => write(&parent, name, &header, &mut entry)?,
            EntryType::Symlink => {
                let target = entry.link_name_bytes().unwrap_or_default().into_owned();
                link(&parent, name, &header, &target)?;
            }
            other => {
                let problem = format!("an archive of ours has an entry of the kind {other:?}");
                return Err(io::Error::other(problem));
            }
        }
    }
    // The writer must be able to finish.
    io::copy(&mut archive.into_inner(), &mut io::sink())?;
    Ok(())
}

fn make(parent: &OwnedFd, name: &[u8], header: &Header) -> io::Result<()> {
    if kind(parent, name)? != Some(FileType::Directory) {
        clear(parent, name)?;
        rustix::fs::mkdirat(parent, name, Mode::RWXU)?;
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    settle(&made, header)
}

/// Gives an opened directory the permissions and the owner of its entry.
fn settle(directory: &OwnedFd, header: &Header) -> io::Result<()> {
    let path = by_descriptor(directory);
    rustix::fs::chmod(path.as_str(), permissions(header)?)?;
    give(header, |uid, gid| {
        rustix::fs::chown(path.as_str(), uid, gid)
    })
}

fn write(
    parent: &OwnedFd,
    name: &[u8],
    header: &Header,
    content: &mut impl Read,
) -> io::Result<()> {
    clear(parent, name)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(parent, name, flags, Mode::RUSR | Mode::WUSR)?;
    let mut file = File::from(file);
    io::copy(content, &mut file)?;
    give(header, |uid, gid| {
        rustix::fs::fchown(file.as_fd(), uid, gid)
    })?;
    rustix::fs::fchmod(&file, permissions(header)?)?;
    Ok(rustix::fs::futimens(&file, &times(header)?)?)
}

fn link(parent: &OwnedFd, name: &[u8], header: &Header, target: &[u8]) -> io::Result<()> {
    clear(parent, name)?;
    rustix::fs::symlinkat(target, parent, name)?;
    let unfollowed = AtFlags::SYMLINK_NOFOLLOW;
    give(header, |uid, gid| {
        rustix::fs::chownat(parent, name, uid, gid, unfollowed)
    })?;
    Ok(rustix::fs::utimensat(
        parent,
        name,
        &times(header)?,
        unfollowed,
    )?)
}

fn kind(parent: &OwnedFd, name: &[u8]) -> io::Result<Option<FileType>> {
    match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Takes away whatever stands at a name.
fn clear(parent: &OwnedFd, name: &[u8]) -> io::Result<()> {
    match kind(parent, name)? {
        None => Ok(()),
        Some(FileType::Directory) => {
            let path = Path::new(&by_descriptor(parent)).join(OsStr::from_bytes(name));
            removal::remove_tree(&path)
        }
        Some(_) => Ok(rustix::fs::unlinkat(parent, name, AtFlags::empty())?),
    }
}

fn permissions(header: &Header) -> io::Result<Mode> {
    Ok(Mode::from_raw_mode(header.mode()? & 0o7777))
}

/// Only root can give files away; everybody else's are his own.
fn give(
    header: &Header,
    give: impl FnOnce(Option<Uid>, Option<Gid>) -> Result<(), Errno>,
) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let number = |number: u64| u32::try_from(number).map_err(io::Error::other);
    let (uid, gid) = (number(header.uid()?)?, number(header.gid()?)?);
    Ok(give(Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?)
}

/// The time of the last change; git tells by it whether a file was touched.
fn times(header: &Header) -> io::Result<Timestamps> {
    Ok(Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: i64::try_from(header.mtime()?).map_err(io::Error::other)?,
            tv_nsec: 0,
        },
    })
}
