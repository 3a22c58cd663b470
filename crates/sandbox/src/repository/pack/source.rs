//! A pack that objects are copied out of, with its index.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use git2::{Odb, Oid};

use super::PackError;
use super::writer::PackWriter;

const NAME: usize = 20;
const TRAILER: u64 = 20;
const FANOUT: usize = 8 + 256 * 4;
/// Bytes that are read at once.
const WINDOW: usize = 1 << 20;
/// Kinds of entries that say how they differ from another one.
const BY_OFFSET: u8 = 6;
const BY_NAME: u8 = 7;

/// A pack of the source.
pub(super) struct SourcePack {
    index: Vec<u8>,
    count: usize,
    pack: Window,
    /// Offset in the pack and number in the index, by offset.
    order: Vec<(u64, u32)>,
}

/// What the start of an entry says.
struct Head {
    kind: u8,
    /// Length of what it holds, inflated.
    size: u64,
    /// Bytes before the deflated data.
    length: u64,
    base: Option<Oid>,
}

impl SourcePack {
    /// Opens a pack by its index, of version 2.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let index = std::fs::read(path)?;
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        if !index.starts_with(b"\xfftOc\0\0\0\x02") {
            return Err(damaged());
        }
        let count = number(&index, FANOUT - 4).ok_or_else(damaged)? as usize;
        let file = File::open(path.with_extension("pack"))?;
        let length = file.metadata()?.len();
        let mut source = Self {
            index,
            count,
            pack: Window {
                file,
                end: length.saturating_sub(TRAILER),
                start: 0,
                bytes: Vec::new(),
            },
            order: Vec::with_capacity(count),
        };
        for at in 0..count {
            let offset = source.offset(at).ok_or_else(damaged)?;
            let at = u32::try_from(at).map_err(io::Error::other)?;
            source.order.push((offset, at));
        }
        source.order.sort_unstable();
        Ok(source)
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = Oid> {
        (0..self.count).filter_map(|at| self.id(at))
    }

    fn id(&self, at: usize) -> Option<Oid> {
        let start = FANOUT + at * NAME;
        Oid::from_bytes(self.index.get(start..start + NAME)?).ok()
    }

    fn offset(&self, at: usize) -> Option<u64> {
        let small = FANOUT + self.count * (NAME + 4);
        let offset = number(&self.index, small + at * 4)?;
        if offset & 0x8000_0000 == 0 {
            return Some(u64::from(offset));
        }
        let large = small + self.count * 4 + (offset & 0x7fff_ffff) as usize * 8;
        let high = number(&self.index, large)?;
        let low = number(&self.index, large + 4)?;
        Some((u64::from(high) << 32) | u64::from(low))
    }

    fn id_at(&self, offset: u64) -> Option<Oid> {
        let found = self
            .order
            .binary_search_by_key(&offset, |&(known, _)| known);
        self.id(self.order[found.ok()?].1 as usize)
    }

    /// Copies what is wanted and not written yet. What differs from something that is not wanted is written anew, as a whole.
    pub(super) fn copy_into(
        mut self,
        writer: &mut PackWriter,
        odb: &Odb<'_>,
        wanted: impl Fn(&Oid) -> bool,
    ) -> Result<(), PackError> {
        let mut waiting = Vec::new();
        for at in 0..self.order.len() {
            self.copy_entry(at, writer, odb, &wanted, &mut waiting, false)?;
        }
        // An entry may name a base that comes later; with each round, those whose base was written follow.
        while !waiting.is_empty() {
            let before = waiting.len();
            let mut still = Vec::new();
            for at in std::mem::take(&mut waiting) {
                self.copy_entry(at, writer, odb, &wanted, &mut still, false)?;
            }
            if still.len() == before {
                for at in std::mem::take(&mut still) {
                    self.copy_entry(at, writer, odb, &wanted, &mut still, true)?;
                }
            }
            waiting = still;
        }
        Ok(())
    }

    fn copy_entry(
        &mut self,
        at: usize,
        writer: &mut PackWriter,
        odb: &Odb<'_>,
        wanted: &impl Fn(&Oid) -> bool,
        waiting: &mut Vec<usize>,
        whole: bool,
    ) -> Result<(), PackError> {
        let (offset, number) = self.order[at];
        let Some(id) = self.id(number as usize) else {
            return Ok(());
        };
        if !wanted(&id) || writer.has(&id) {
            return Ok(());
        }
        let end = self
            .order
            .get(at + 1)
            .map_or(self.pack.end, |&(next, _)| next);
        let head = self.head(offset, end)?;
        let base = match (head.kind, head.base) {
            (BY_OFFSET | BY_NAME, Some(base)) => match writer.offset(&base) {
                Some(written) => Some(written),
                None if !whole && head.kind == BY_NAME && wanted(&base) => {
                    waiting.push(at);
                    return Ok(());
                }
                None => return writer.object(odb, id),
            },
            (BY_OFFSET | BY_NAME, None) => return writer.object(odb, id),
            _ => None,
        };
        writer.start(id, head.kind, head.size, base)?;
        let mut from = offset + head.length;
        while from < end {
            let piece = self.pack.at(from, end)?;
            writer.write(piece)?;
            from += piece.len() as u64;
        }
        writer.end();
        Ok(())
    }

    fn head(&mut self, offset: u64, end: u64) -> io::Result<Head> {
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        let bytes = self.pack.at(offset, end.min(offset + 64))?;
        let mut rest = bytes.iter().copied();
        let mut next = || rest.next().ok_or_else(damaged);
        let mut byte = next()?;
        let kind = (byte >> 4) & 7;
        let mut size = u64::from(byte & 15);
        let mut shift = 4;
        let mut length = 1;
        while byte & 0x80 != 0 {
            byte = next()?;
            size |= u64::from(byte & 0x7f)
                .checked_shl(shift)
                .ok_or_else(damaged)?;
            shift += 7;
            length += 1;
        }
        let base = match kind {
            BY_OFFSET => {
                byte = next()?;
                length += 1;
                let mut back = u64::from(byte & 0x7f);
                while byte & 0x80 != 0 {
                    byte = next()?;
                    length += 1;
                    back = ((back + 1) << 7) | u64::from(byte & 0x7f);
                }
                offset.checked_sub(back).and_then(|at| self.id_at(at))
            }
            BY_NAME => {
                let start = usize::try_from(length).map_err(io::Error::other)?;
                let name = bytes.get(start..start + NAME).ok_or_else(damaged)?;
                length += NAME as u64;
                Oid::from_bytes(name).ok()
            }
            _ => None,
        };
        Ok(Head {
            kind,
            size,
            length,
            base,
        })
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// A file, read forwards in large pieces.
struct Window {
    file: File,
    /// Where its entries end.
    end: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// Bytes from `from` on, at least one, none from `end` on.
    fn at(&mut self, from: u64, end: u64) -> io::Result<&[u8]> {
        let end = end.min(self.end);
        if from >= end {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let known = self.start + self.bytes.len() as u64;
        // A short piece must come whole: an entry's start is read from it.
        let needed = end.min(from + 64);
        if from < self.start || needed > known {
            let room = usize::try_from(self.end - from)
                .unwrap_or(WINDOW)
                .min(WINDOW);
            self.bytes.resize(room, 0);
            self.file.read_exact_at(&mut self.bytes, from)?;
            self.start = from;
        }
        let first = usize::try_from(from - self.start).map_err(io::Error::other)?;
        let last = usize::try_from(end - self.start)
            .unwrap_or(usize::MAX)
            .min(self.bytes.len());
        Ok(&self.bytes[first..last])
    }
}
