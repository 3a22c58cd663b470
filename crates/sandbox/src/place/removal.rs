//! Removing directories that somebody hostile has worked in.

use std::ffi::{CString, OsStr};
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// Removes a directory and everything below it, also where permissions were taken away and however deep it is; what is not there is not an error.
/// Symbolic links are removed, never followed. Nothing may be running in it any more.
pub(crate) fn remove_tree(directory: &Path) -> io::Result<()> {
    let top = match open(CWD, directory) {
        Err(Errno::NOENT) => return Ok(()),
        Err(Errno::NOTDIR) => return fs::remove_file(directory),
        other => other?,
    };
    let mut moved = 0;
    // Each round takes away one level: what lies deeper is moved up, so that neither a path nor the number of open files grows with the depth.
    loop {
        let directories = remove_files(&top)?;
        if directories.is_empty() {
            break;
        }
        for name in directories {
            let inner = open(&top, name.as_c_str())?;
            for deeper in remove_files(&inner)? {
                lift(&inner, &deeper, &top, &mut moved)?;
            }
            absent_is_fine(rustix::fs::unlinkat(&top, &name, AtFlags::REMOVEDIR))?;
        }
    }
    absent_is_fine(rustix::fs::unlinkat(CWD, directory, AtFlags::REMOVEDIR))
}

fn open<P: rustix::path::Arg + Copy>(at: impl AsFd, path: P) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    match rustix::fs::openat(&at, path, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            // Not a link: opening one fails otherwise.
            rustix::fs::chmodat(&at, path, Mode::RWXU, AtFlags::empty())?;
            rustix::fs::openat(&at, path, flags, Mode::empty())
        }
        other => other,
    }
}

/// Removes all that is no directory, and the directories that are empty; returns the others.
fn remove_files(directory: &OwnedFd) -> io::Result<Vec<CString>> {
    let stat = rustix::fs::fstat(directory)?;
    if stat.st_mode & 0o700 != 0o700 {
        rustix::fs::fchmod(directory, Mode::RWXU)?;
    }
    let mut full = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let flags = if entry.file_type() == FileType::Directory {
            AtFlags::REMOVEDIR
        } else {
            AtFlags::empty()
        };
        match rustix::fs::unlinkat(directory, name, flags) {
            Ok(()) | Err(Errno::NOENT) => {}
            // Some file systems do not tell the type.
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::ISDIR) => full.push(name.to_owned()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(full)
}

/// Moves a directory to the top under a name of its own.
fn lift(from: &OwnedFd, name: &CString, top: &OwnedFd, moved: &mut u64) -> io::Result<()> {
    // Only who may write into a directory may move it elsewhere.
    drop(open(from, name.as_c_str())?);
    rustix::fs::chmodat(from, name, Mode::RWXU, AtFlags::empty())?;
    loop {
        *moved += 1;
        let target = format!(".removed-{moved}");
        match rustix::fs::renameat(from, name, top, target.as_str()) {
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
            other => return absent_is_fine(other),
        }
    }
}

fn absent_is_fine(result: Result<(), Errno>) -> io::Result<()> {
    match result {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Removes the directories in `root` whose names start with `prefix`: what a dead runner kept beside its places.
pub(crate) fn remove_kin(root: &Path, prefix: &OsStr) {
    if prefix.is_empty() {
        return;
    }
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        if entry.file_name().as_bytes().starts_with(prefix.as_bytes()) {
            let _ = remove_tree(&entry.path());
        }
    }
}
