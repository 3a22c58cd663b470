//! Whole outputs of commands, kept by content: `outputs/<sha256>.zst`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Compression level: outputs are written once, while an attempt waits.
const LEVEL: i32 = 1;

/// Path of an output in `directory`.
pub fn path(directory: &Path, sha256: &str) -> PathBuf {
    directory.join(format!("{sha256}.zst"))
}

/// Keeps what `output` writes under its hash, unless it is there. The file appears whole; it is not synced, since a step must not wait for the disk.
///
/// # Errors
/// When it cannot be read or written.
pub fn keep(
    directory: &Path,
    sha256: &str,
    output: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let path = path(directory, sha256);
    if path.exists() {
        return Ok(());
    }
    fs::create_dir_all(directory)?;
    let part = directory.join(format!("{sha256}.part"));
    let written = compress(&part, output).and_then(|()| fs::rename(&part, &path));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

fn compress(path: &Path, output: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut encoder = zstd::stream::Encoder::new(File::create(path)?, LEVEL)?;
    output(&mut encoder)?;
    encoder.finish()?.flush()
}

/// Reads an output back.
///
/// # Errors
/// When it is not there or cannot be decompressed.
pub fn read(directory: &Path, sha256: &str) -> io::Result<Vec<u8>> {
    zstd::stream::decode_all(File::open(path(directory, sha256))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_comes_back_and_is_kept_once() {
        let directory = tempfile::tempdir().unwrap();
        let outputs = directory.path().join("outputs");
        keep(&outputs, "ab", |file| file.write_all(b"\xff\x00text")).unwrap();
        keep(&outputs, "ab", |file| file.write_all(b"other")).unwrap();
        assert_eq!(read(&outputs, "ab").unwrap(), b"\xff\x00text");
    }
}
