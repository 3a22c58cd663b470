//! Files that are whole or absent: temporary file, fsync, rename.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Suffix of files that were being written when a runner died; swept when a run is taken up again.
const SUFFIX: &str = ".tmp~";

/// Replaces `path` by what `write` writes: readers see the old file or the new one, never a part, also after a power cut.
///
/// Only one writer may replace the same path at a time.
///
/// # Errors
/// When the file cannot be written, synced or renamed; the old file then still stands.
pub fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    replace_with(path, write, File::sync_data)
}

/// The same for a file that can be made again from others: after a power cut it may be a part, or empty.
///
/// # Errors
/// When the file cannot be written or renamed; the old file then still stands.
pub fn replace_derived(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    replace_with(path, write, |_| Ok(()))
}

fn replace_with(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    settle: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let temporary = temporary(path);
    let mut file = BufWriter::new(File::create(&temporary)?);
    let done = write(&mut file)
        .and_then(|()| file.into_inner().map_err(io::IntoInnerError::into_error))
        .and_then(|file| settle(&file))
        .and_then(|()| fs::rename(&temporary, path));
    if done.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    done
}

/// Syncs a directory, so that the names in it survive a power cut.
///
/// # Errors
/// When it cannot be opened or synced.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Removes what replacements that never finished left in `directory`.
///
/// # Errors
/// When the directory cannot be listed or a file cannot be removed.
pub fn sweep(directory: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(SUFFIX) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(SUFFIX);
    PathBuf::from(name)
}

/// Writes all of `bytes` to `path` in the manner of [`replace`].
///
/// # Errors
/// As [`replace`].
pub fn replace_bytes(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, |file| file.write_all(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        replace_bytes(&path, b"old").unwrap();
        let failed = replace(&path, |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("no"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn sweeping_removes_only_unfinished_files() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        replace_bytes(&path, b"x").unwrap();
        fs::write(temporary(&path), b"half").unwrap();
        sweep(directory.path()).unwrap();
        assert!(path.exists());
        assert!(!temporary(&path).exists());
        sweep(&directory.path().join("absent")).unwrap();
    }
}
