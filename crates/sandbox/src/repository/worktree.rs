//! Reading and writing below a directory that somebody hostile works in: every path is resolved by the kernel without following any link.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, ResolveFlags, Stat, Uid};

use rustix::io::Errno;

use super::checkout::Stamp;
use super::prepare::mode;

/// The directory.
pub(crate) struct Worktree {
    root: OwnedFd,
    /// User and group that what is made belongs to, where that is not who makes it.
    owner: Option<(Uid, Gid)>,
}

/// What stands at a path, its last component not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File { executable: bool },
    Link,
    Directory,
    Special,
}

pub(crate) struct Metadata {
    pub(crate) kind: Kind,
    pub(crate) stamp: Stamp,
}

impl Metadata {
    fn new(stat: &Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File {
                executable: stat.st_mode & 0o100 != 0,
            },
            FileType::Symlink => Kind::Link,
            FileType::Directory => Kind::Directory,
            _ => Kind::Special,
        };
        Self {
            kind,
            stamp: Stamp {
                inode: stat.st_ino,
                size: u64::try_from(stat.st_size).unwrap_or(0),
                changed: stat
                    .st_ctime
                    .saturating_mul(1_000_000_000)
                    .saturating_add(i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
            },
        }
    }
}

fn below() -> ResolveFlags {
    ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS
}

impl Worktree {
    /// Opens the directory; what its owner took the permission from is given it back.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let readable = || rustix::fs::open(path, flags | OFlags::RDONLY, Mode::empty());
        let root = match readable() {
            Err(Errno::ACCESS) => {
                // By way of the opened directory: at its path a link to something else may stand by now.
                let directory = rustix::fs::open(path, flags | OFlags::PATH, Mode::empty())?;
                let permissions = rustix::fs::fstat(&directory)?.st_mode & 0o7777 | 0o700;
                let opened = format!("/proc/self/fd/{}", directory.as_raw_fd());
                rustix::fs::chmod(opened, Mode::from_raw_mode(permissions))?;
                readable()?
            }
            other => other?,
        };
        Ok(Self { root, owner: None })
    }

    /// One that is opened already, if only by its path.
    pub(crate) fn of(root: OwnedFd) -> Self {
        Self { root, owner: None }
    }

    /// The same; what is made in it belongs to whom the directory belongs.
    pub(crate) fn for_its_owner(self) -> io::Result<Self> {
        let stat = rustix::fs::fstat(&self.root)?;
        let owner = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        Ok(Self {
            owner: Some(owner),
            ..self
        })
    }

    /// Gives away what was made in a directory.
    fn give(&self, directory: &OwnedFd, name: &[u8]) -> io::Result<()> {
        let Some((user, group)) = self.owner else {
            return Ok(());
        };
        let nofollow = AtFlags::SYMLINK_NOFOLLOW;
        Ok(rustix::fs::chownat(
            directory,
            name,
            Some(user),
            Some(group),
            nofollow,
        )?)
    }

    /// A directory below it.
    pub(crate) fn directory(&self, path: &[u8]) -> io::Result<OwnedFd> {
        self.at(path, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())
    }

    fn at(&self, path: &[u8], flags: OFlags, permissions: Mode) -> io::Result<OwnedFd> {
        let path = if path.is_empty() { b"." } else { path };
        Ok(rustix::fs::openat2(
            &self.root,
            path,
            flags | OFlags::CLOEXEC,
            permissions,
            below(),
        )?)
    }

    /// Opens for reading; what its owner took the permission from is given it back.
    pub(crate) fn readable(&self, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | flags;
        match self.at(path, flags, Mode::empty()) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let (parent, name) = split(path);
                let directory = self.at(parent, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
                let more = if flags.contains(OFlags::DIRECTORY) {
                    0o700
                } else {
                    0o600
                };
                let stat = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
                if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
                    return Err(error);
                }
                let permissions = Mode::from_raw_mode(stat.st_mode & 0o7777 | more);
                rustix::fs::chmodat(&directory, name, permissions, AtFlags::empty())?;
                self.at(path, flags, Mode::empty())
            }
            other => other,
        }
    }

    /// Names in a directory, sorted, and the directory itself for looking at them.
    pub(crate) fn list(&self, path: &[u8]) -> io::Result<(OwnedFd, Vec<Vec<u8>>)> {
        let directory = self.readable(path, OFlags::DIRECTORY)?;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(name.to_vec());
            }
        }
        names.sort_unstable();
        Ok((directory, names))
    }

    /// What stands at a name in an opened directory.
    pub(crate) fn metadata_in(directory: &OwnedFd, name: &[u8]) -> io::Result<Metadata> {
        let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Metadata::new(&stat))
    }

    /// What stands at a path, `None` when nothing does or the way there leads through something that is no directory.
    pub(crate) fn metadata(&self, path: &[u8]) -> io::Result<Option<Metadata>> {
        let (parent, name) = split(path);
        let found = self
            .at(parent, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())
            .and_then(|directory| Self::metadata_in(&directory, name));
        match found {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a regular file of at most `limit` bytes; `None` when it is longer.
    pub(crate) fn read(&self, path: &[u8], limit: u64) -> io::Result<Option<Vec<u8>>> {
        // Not blocking: a pipe put in its place must not hold the runner.
        let file = File::from(self.readable(path, OFlags::NONBLOCK)?);
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        if metadata.len() > limit {
            return Ok(None);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
        file.take(limit + 1).read_to_end(&mut bytes)?;
        Ok((bytes.len() as u64 <= limit).then_some(bytes))
    }

    /// The target of a symbolic link.
    pub(crate) fn read_link(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        let (parent, name) = split(path);
        let directory = self.at(parent, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
        Ok(rustix::fs::readlinkat(&directory, name, Vec::new())?.into_bytes())
    }

    /// Removes a file or link, and the directories above it that it leaves empty. What is not there is not an error.
    pub(crate) fn remove(&self, path: &[u8]) -> io::Result<()> {
        let mut path = path;
        let mut flags = AtFlags::empty();
        loop {
            let (parent, name) = split(path);
            let directory = match self.at(parent, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()) {
                Err(error) if is_absent(&error) => return Ok(()),
                other => other?,
            };
            match rustix::fs::unlinkat(&directory, name, flags) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(Errno::NOTEMPTY | Errno::EXIST) if flags == AtFlags::REMOVEDIR => return Ok(()),
                Err(error) => return Err(error.into()),
            }
            if parent.is_empty() {
                return Ok(());
            }
            path = parent;
            flags = AtFlags::REMOVEDIR;
        }
    }

    /// Replaces or creates a file with the given mode of git's; its directories are made.
    pub(crate) fn write(&self, path: &[u8], git_mode: u32, content: &[u8]) -> io::Result<()> {
        let (parent, name) = split(path);
        self.make_directories(parent)?;
        let directory = self.at(parent, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
        let temporary = format!(".patchmill-{:016x}", fastrand::u64(..));
        if git_mode == mode::LINK {
            let target = std::ffi::OsStr::from_bytes(content);
            rustix::fs::symlinkat(target, &directory, temporary.as_str())?;
        } else {
            let permissions = if git_mode == mode::EXECUTABLE {
                0o755
            } else {
                0o644
            };
            let permissions = Mode::from_raw_mode(permissions);
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&directory, temporary.as_str(), flags, permissions)?;
            // The user's file creation mask must not decide.
            rustix::fs::fchmod(&file, permissions)?;
            let mut file = File::from(file);
            if let Err(error) = file.write_all(content) {
                let _ = rustix::fs::unlinkat(&directory, temporary.as_str(), AtFlags::empty());
                return Err(error);
            }
        }
        self.give(&directory, temporary.as_bytes())?;
        let renamed = rustix::fs::renameat(&directory, temporary.as_str(), &directory, name);
        if renamed.is_err() {
            let _ = rustix::fs::unlinkat(&directory, temporary.as_str(), AtFlags::empty());
        }
        Ok(renamed?)
    }

    pub(crate) fn make_directories(&self, path: &[u8]) -> io::Result<()> {
        let ends = memchr::memchr_iter(b'/', path).chain(std::iter::once(path.len()));
        for end in ends.filter(|&end| end > 0) {
            let (parent, name) = split(&path[..end]);
            let directory = self.at(parent, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
            match rustix::fs::mkdirat(&directory, name, Mode::from_raw_mode(0o755)) {
                Ok(()) => self.give(&directory, name)?,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Directory and name; the directory of the top is empty.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memrchr(b'/', path) {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&[], path),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
    )
}

/// A path for messages and for libgit2.
pub(crate) fn as_path(path: &[u8]) -> std::path::PathBuf {
    std::ffi::OsString::from_vec(path.to_vec()).into()
}
