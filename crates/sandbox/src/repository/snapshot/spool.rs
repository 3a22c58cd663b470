//! One private file without a name that holds what is kept of many.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Where a content lies in the spool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    offset: u64,
    pub(super) length: u64,
}

/// The file.
pub(super) struct Spool {
    file: File,
    length: u64,
}

impl Spool {
    /// A spool in `directory`, gone with the last who has it open.
    pub(super) fn new(directory: &Path) -> io::Result<Self> {
        Ok(Self {
            file: tempfile::tempfile_in(directory)?,
            length: 0,
        })
    }

    pub(super) fn len(&self) -> u64 {
        self.length
    }

    /// Adds bytes to the end.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// What was added since the spool had that length.
    pub(super) fn since(&self, offset: u64) -> Piece {
        Piece {
            offset,
            length: self.length - offset,
        }
    }

    /// Forgets what was added since the spool had that length.
    pub(super) fn rewind(&mut self, offset: u64) -> io::Result<()> {
        self.file.set_len(offset)?;
        io::Seek::seek(&mut self.file, io::SeekFrom::Start(offset))?;
        self.length = offset;
        Ok(())
    }

    /// Reads a piece.
    pub(super) fn read(&self, piece: Piece) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(piece.length).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut bytes, piece.offset)?;
        Ok(bytes)
    }
}
