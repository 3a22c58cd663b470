//! Removing directories that somebody hostile has worked in.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Removes a directory and everything below it, also where permissions were taken away; what is not there is not an error.
/// Symbolic links are removed, never followed. Nothing may be running in it any more.
pub(crate) fn remove_tree(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) => {
            open_up(directory);
            match fs::remove_dir_all(directory) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        }
    }
}

/// Gives its owner full access to every directory of a tree.
fn open_up(directory: &Path) {
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        if !fs::symlink_metadata(&directory).is_ok_and(|metadata| metadata.is_dir()) {
            continue;
        }
        let _ = fs::set_permissions(&directory, fs::Permissions::from_mode(0o700));
        let Ok(entries) = fs::read_dir(&directory) else {
            continue;
        };
        pending.extend(
            entries
                .filter_map(Result::ok)
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
    }
}

/// Removes the directories in `root` whose names start with `prefix`: what a dead runner kept beside its places.
pub(crate) fn remove_kin(root: &Path, prefix: &OsStr) {
    for directory in kin(root, prefix) {
        let _ = remove_tree(&directory);
    }
}

fn kin(root: &Path, prefix: &OsStr) -> Vec<PathBuf> {
    if prefix.is_empty() {
        return Vec::new();
    }
    fs::read_dir(root).map_or_else(
        |_| Vec::new(),
        |entries| {
            entries
                .filter_map(Result::ok)
                .filter(|entry| entry.file_name().as_bytes().starts_with(prefix.as_bytes()))
                .map(|entry| entry.path())
                .collect()
        },
    )
}
