//! What a command printed, in bounded memory: the first bytes, the last ones, and how much and what it was in all.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

/// Bytes of the output that are kept, half of them from its start and half from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// In memory.
    pub memory: usize,
    /// In a file, once there is more than memory holds.
    pub stored: u64,
}

/// Collects an output as it comes.
pub(crate) struct Capture<'a> {
    kept: Kept,
    directory: &'a Path,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    hash: Sha256,
    spool: Option<Spool>,
    spool_broken: bool,
}

/// A finished output.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) head: Vec<u8>,
    pub(crate) tail: Vec<u8>,
    pub(crate) total: u64,
    pub(crate) sha256: String,
    pub(crate) spool: Option<Spool>,
}

impl<'a> Capture<'a> {
    /// Spool files are made in `directory`, without a name.
    pub(crate) fn new(kept: Kept, directory: &'a Path) -> Self {
        Self {
            kept,
            directory,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
            hash: Sha256::new(),
            spool: None,
            spool_broken: false,
        }
    }

    /// Bytes so far.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Whether the kept bytes hold one of some words.
    pub(crate) fn mentions(&mut self, words: &[&[u8]]) -> bool {
        let tail = &*self.tail.make_contiguous();
        words.iter().any(|word| {
            [self.head.as_slice(), tail]
                .iter()
                .any(|part| memchr::memmem::find(part, word).is_some())
        })
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.hash.update(bytes);
        if let Some(spool) = &mut self.spool {
            // A full disk loses the middle of the file's copy, never the command.
            if spool.push(bytes).is_err() {
                self.spool = None;
                self.spool_broken = true;
            }
        } else if self.total > self.kept.memory as u64 && !self.spool_broken {
            self.spool = self.open_spool(bytes).ok();
            self.spool_broken = self.spool.is_none();
        }
        let room = (self.kept.memory / 2).saturating_sub(self.head.len());
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let half = self.kept.memory - self.kept.memory / 2;
        let rest = &rest[rest.len().saturating_sub(half)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(half);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    /// Up to now memory held everything, `bytes` is what no longer fits.
    fn open_spool(&self, bytes: &[u8]) -> io::Result<Spool> {
        let mut spool = Spool::new(self.directory, self.kept.stored)?;
        spool.push(&self.head)?;
        let (first, second) = self.tail.as_slices();
        spool.push(first)?;
        spool.push(second)?;
        spool.push(bytes)?;
        Ok(spool)
    }

    pub(crate) fn finish(mut self) -> Finished {
        let mut tail = Vec::from(self.tail);
        if self.total == (self.head.len() + tail.len()) as u64 {
            self.head.append(&mut tail);
        }
        Finished {
            head: self.head,
            tail,
            total: self.total,
            sha256: schema::hex(&self.hash.finalize()),
            spool: self.spool,
        }
    }
}

/// The stored bytes of a long output, in a file without a name: its start, and a ring with its end.
#[derive(Debug)]
pub struct Spool {
    file: File,
    half: u64,
    total: u64,
}

impl Spool {
    fn new(directory: &Path, stored: u64) -> io::Result<Self> {
        Ok(Self {
            file: tempfile::tempfile_in(directory)?,
            half: (stored / 2).max(1),
            total: 0,
        })
    }

    fn push(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (offset, room) = if self.total < self.half {
                (self.total, self.half - self.total)
            } else {
                let place = (self.total - self.half) % self.half;
                (self.half + place, self.half - place)
            };
            let length = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
            let (now, later) = bytes.split_at(length);
            self.file.seek(SeekFrom::Start(offset))?;
            self.file.write_all(now)?;
            self.total += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    /// Bytes from the output's start that are stored.
    pub fn head_length(&self) -> u64 {
        self.total.min(self.half)
    }

    /// Bytes from the output's end that are stored, where the head does not hold everything.
    pub fn tail_length(&self) -> u64 {
        (self.total - self.head_length()).min(self.half)
    }

    /// Copies the stored head, then the stored tail. What lies between them is gone when [`Self::head_length`] and [`Self::tail_length`] are less
    /// than the output's length.
    ///
    /// # Errors
    /// When the file cannot be read or `to` cannot be written.
    pub fn copy_to(&mut self, to: &mut dyn Write) -> io::Result<()> {
        self.copy_range(0, self.head_length(), to)?;
        let tail = self.tail_length();
        let start = if tail < self.half {
            0
        } else {
            (self.total - self.half) % self.half
        };
        self.copy_range(self.half + start, tail - start, to)?;
        self.copy_range(self.half, start, to)
    }

    fn copy_range(&mut self, offset: u64, length: u64, to: &mut dyn Write) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(offset))?;
        io::copy(&mut (&mut self.file).take(length), to)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn expected(all: &[u8], kept: usize) -> (Vec<u8>, Vec<u8>) {
        if all.len() <= kept {
            return (all.to_vec(), Vec::new());
        }
        let tail = kept - kept / 2;
        (all[..kept / 2].to_vec(), all[all.len() - tail..].to_vec())
    }

    proptest! {
        #[test]
        fn head_tail_and_spool_hold_both_ends(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20),
            memory in 0usize..64,
            half in 1u64..100,
        ) {
            let directory = tempfile::tempdir().unwrap();
            let stored = half * 2;
            let mut capture = Capture::new(Kept { memory, stored }, directory.path());
            for chunk in &chunks {
                capture.push(chunk);
            }
            let all = chunks.concat();
            let done = capture.finish();
            prop_assert_eq!(done.total, all.len() as u64);
            let (head, tail) = expected(&all, memory);
            prop_assert_eq!(done.head, head);
            prop_assert_eq!(done.tail, tail);
            prop_assert_eq!(&done.sha256, &schema::hex(&Sha256::digest(&all)));
            prop_assert_eq!(done.spool.is_some(), all.len() > memory);
            if let Some(mut spool) = done.spool {
                let mut copy = Vec::new();
                spool.copy_to(&mut copy).unwrap();
                let (head, tail) = expected(&all, usize::try_from(stored).unwrap());
                prop_assert_eq!(copy, [head, tail].concat());
            }
        }
    }
}
