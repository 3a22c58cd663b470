//! Writing a pack and its index.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use git2::{ObjectType, Odb, Oid};
use sha1::{Digest, Sha1};

use super::PackError;

const BY_OFFSET: u8 = 6;

/// An entry that was written.
struct Entry {
    id: Oid,
    offset: u64,
    sum: u32,
}

/// A pack that is being written.
pub(super) struct PackWriter {
    directory: PathBuf,
    temporary: PathBuf,
    file: BufWriter<File>,
    hash: Sha1,
    length: u64,
    entries: Vec<Entry>,
    offsets: HashMap<Oid, u64>,
    sum: crc32fast::Hasher,
}

impl PackWriter {
    /// A pack in `directory` that will hold `count` objects.
    pub(super) fn new(directory: &Path, count: usize) -> io::Result<Self> {
        let temporary = directory.join("pack.new");
        let mut writer = Self {
            directory: directory.to_owned(),
            file: BufWriter::with_capacity(256 << 10, File::create_new(&temporary)?),
            temporary,
            hash: Sha1::new(),
            length: 0,
            entries: Vec::with_capacity(count),
            offsets: HashMap::with_capacity(count),
            sum: crc32fast::Hasher::new(),
        };
        let count = u32::try_from(count).map_err(io::Error::other)?;
        writer.write(b"PACK\0\0\0\x02")?;
        writer.write(&count.to_be_bytes())?;
        Ok(writer)
    }

    pub(super) fn has(&self, id: &Oid) -> bool {
        self.offsets.contains_key(id)
    }

    /// Where an object was written.
    pub(super) fn offset(&self, id: &Oid) -> Option<u64> {
        self.offsets.get(id).copied()
    }

    /// Starts an entry of a kind and an inflated length; one with a `base` says how it differs from what was written there.
    pub(super) fn start(
        &mut self,
        id: Oid,
        kind: u8,
        size: u64,
        base: Option<u64>,
    ) -> io::Result<()> {
        let offset = self.length;
        self.sum = crc32fast::Hasher::new();
        self.offsets.insert(id, offset);
        self.entries.push(Entry { id, offset, sum: 0 });
        let kind = if base.is_some() { BY_OFFSET } else { kind };
        let (head, length) = head(kind, size);
        self.write(&head[..length])?;
        if let Some(base) = base {
            let (back, start) = distance(offset - base);
            self.write(&back[start..])?;
        }
        Ok(())
    }

    /// Adds to the entry that was started last.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.hash.update(bytes);
        self.sum.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Ends the entry that was started last.
    pub(super) fn end(&mut self) {
        if let Some(entry) = self.entries.last_mut() {
            entry.sum = self.sum.clone().finalize();
        }
    }

    /// Writes an object as a whole.
    pub(super) fn object(&mut self, odb: &Odb<'_>, id: Oid) -> Result<(), PackError> {
        let object = odb.read(id)?;
        let kind = match object.kind() {
            ObjectType::Commit => 1,
            ObjectType::Tree => 2,
            ObjectType::Tag => 4,
            _ => 3,
        };
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(object.data())?;
        let deflated = encoder.finish()?;
        self.start(id, kind, object.len() as u64, None)?;
        self.write(&deflated)?;
        self.end();
        Ok(())
    }

    /// Ends the pack and writes its index; returns its name.
    pub(super) fn finish(mut self) -> Result<String, PackError> {
        let sum = self.hash.clone().finalize();
        self.file.write_all(&sum)?;
        self.file.flush()?;
        let name = Oid::from_bytes(&sum)?.to_string();
        let index = self.directory.join(format!("pack-{name}.idx"));
        fs::write(&index, self.index(&sum))?;
        let pack = index.with_extension("pack");
        fs::rename(&self.temporary, &pack)?;
        for path in [index, pack] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o444))?;
        }
        Ok(name)
    }

    fn index(&mut self, pack: &[u8]) -> Vec<u8> {
        self.entries.sort_unstable_by_key(|entry| entry.id);
        let mut index = Vec::with_capacity(self.entries.len() * 28 + 2048);
        index.extend_from_slice(b"\xfftOc\0\0\0\x02");
        let mut counts = [0_u32; 256];
        for entry in &self.entries {
            counts[usize::from(entry.id.as_bytes()[0])] += 1;
        }
        let mut total = 0;
        for count in counts {
            total += count;
            index.extend_from_slice(&total.to_be_bytes());
        }
        for entry in &self.entries {
            index.extend_from_slice(entry.id.as_bytes());
        }
        for entry in &self.entries {
            index.extend_from_slice(&entry.sum.to_be_bytes());
        }
        let mut large = Vec::new();
        let mut next = 0x8000_0000_u32;
        for entry in &self.entries {
            let small = u32::try_from(entry.offset)
                .ok()
                .filter(|at| *at < 0x8000_0000);
            let shown = small.unwrap_or(next);
            if small.is_none() {
                large.extend_from_slice(&entry.offset.to_be_bytes());
                next += 1;
            }
            index.extend_from_slice(&shown.to_be_bytes());
        }
        index.append(&mut large);
        index.extend_from_slice(pack);
        let sum = Sha1::digest(&index);
        index.extend_from_slice(&sum);
        index
    }
}

/// Kind and length, as an entry starts with them.
fn head(kind: u8, size: u64) -> ([u8; 10], usize) {
    let mut bytes = [0; 10];
    let mut rest = size >> 4;
    bytes[0] = (kind << 4) | low(size, 15);
    let mut length = 1;
    while rest > 0 {
        bytes[length - 1] |= 0x80;
        bytes[length] = low(rest, 0x7f);
        rest >>= 7;
        length += 1;
    }
    (bytes, length)
}

/// How far back a base lies; the number starts at the second value.
fn distance(mut back: u64) -> ([u8; 10], usize) {
    let mut bytes = [0; 10];
    let mut start = 9;
    bytes[start] = low(back, 0x7f);
    while back >> 7 > 0 {
        back = (back >> 7) - 1;
        start -= 1;
        bytes[start] = 0x80 | low(back, 0x7f);
    }
    (bytes, start)
}

fn low(number: u64, mask: u8) -> u8 {
    u8::try_from(number & u64::from(mask)).unwrap_or(mask)
}
