//! Files that only grow, by whole lines.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// A file that one writer appends to.
#[derive(Debug)]
pub struct Appender {
    file: File,
    /// Bytes of whole lines.
    length: u64,
}

impl Appender {
    /// Creates the file, which must not exist.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.append(true).create_new(true).open(path)?;
        Ok(Self { file, length: 0 })
    }

    /// Appends a line, its line feed included, in one `write` where the system takes it all.
    ///
    /// # Errors
    /// When it cannot be written. What was written of it is taken back, so that a later line does not run on from half of this one.
    pub fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let written = self.file.write_all(line);
        match written {
            Ok(()) => self.length += line.len() as u64,
            // Where even that fails readers drop the torn line.
            Err(_) => drop(self.file.set_len(self.length)),
        }
        written
    }

    /// Makes all that was appended survive a power cut.
    ///
    /// # Errors
    /// When it cannot be synced.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
