//! Reading a tar stream that somebody hostile had a hand in: entry by entry, in bounded memory, nothing of it on disk.

use std::io::{self, Read};

/// Longest name, link target or extension that an entry may have: far beyond what a kernel takes.
const MAX_EXTENSION: u64 = 64 << 10;
/// Bytes that a whole stream may have, 16 GiB.
pub(super) const MAX_STREAM: u64 = 16 << 30;
/// Longest file that is read through at all, 8 GiB: one with a hole of a terabyte would be sent as a terabyte of zeros.
const MAX_STREAMED_FILE: u64 = 8 << 30;
const BLOCK: usize = 512;

/// Why a stream was not read to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchiveError {
    #[error("the archive of the workspace cannot be read")]
    Stream(#[source] io::Error),
    #[error("the archive of the workspace is damaged: {0}")]
    Damaged(&'static str),
    #[error("the archive of the workspace has the name `{0}`, which leads out of it")]
    Name(String),
    #[error("the workspace has the file `{name}` of {size} bytes, more than can be read through")]
    HugeFile { name: String, size: u64 },
    #[error("the workspace has more bytes than can be read through")]
    TooMuch,
    #[error("the workspace has too many files")]
    TooMany,
    #[error("the files of the workspace that are needed cannot be kept")]
    Spool(#[source] io::Error),
}

impl From<io::Error> for ArchiveError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::FileTooLarge {
            Self::TooMuch
        } else {
            Self::Stream(error)
        }
    }
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    /// Another name of a file that came before; the path is below the root.
    HardLink(Vec<u8>),
    Link(Vec<u8>),
    Directory,
    Special,
}

/// One entry of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Path below the root; empty for the root itself.
    pub(crate) path: Vec<u8>,
    pub(crate) kind: EntryKind,
    pub(crate) mode: u32,
    pub(crate) uid: u64,
    pub(crate) gid: u64,
    /// Seconds since 1970.
    pub(crate) modified: u64,
    pub(crate) size: u64,
}

/// What extension entries said about the next one.
#[derive(Default)]
struct Extensions {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
}

/// Reads a stream whose names all start with one directory's name, and gives each entry with its content to `each`. What `each` leaves of a content is
/// skipped.
pub(super) fn read(
    stream: impl Read,
    limit: u64,
    mut each: impl FnMut(Entry, &mut dyn Read) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let mut stream = Counted {
        inner: stream,
        left: limit,
    };
    let mut extensions = Extensions::default();
    let mut root: Option<Vec<u8>> = None;
    let mut block = [0; BLOCK];
    loop {
        stream.block(&mut block)?;
        if block == [0; BLOCK] {
            // The other end must be able to finish what it sends.
            io::copy(&mut stream, &mut io::sink())?;
            return Ok(());
        }
        let header = tar::Header::from_byte_slice(&block);
        check_sum(header, &block)?;
        let size = header
            .entry_size()
            .map_err(|_| ArchiveError::Damaged("a size is no number"))?;
        match header.entry_type().as_byte() {
            kind @ (b'L' | b'K' | b'x') => {
                let content = stream.extension(size)?;
                extensions.take(kind, &content)?;
                continue;
            }
            b'g' => {
                stream.extension(size)?;
                continue;
            }
            _ => {}
        }
        let entry = entry(header, size, std::mem::take(&mut extensions), &mut root)?;
        let mut content = Read::by_ref(&mut stream).take(size);
        each(entry, &mut content)?;
        let rest = content.limit() + padding(size);
        let skipped = io::copy(&mut Read::by_ref(&mut stream).take(rest), &mut io::sink())?;
        if skipped < rest {
            return Err(ArchiveError::Damaged("it ends within a file"));
        }
    }
}

/// Reads no more of a stream than its first entry.
pub(crate) fn first<T>(
    stream: impl Read,
    take: impl FnOnce(Entry, &mut dyn Read) -> io::Result<T>,
) -> Result<Option<T>, ArchiveError> {
    let (mut take, mut taken) = (Some(take), None);
    let read = read(stream, MAX_STREAM, |entry, content| {
        if let Some(take) = take.take() {
            taken = Some(take(entry, content)?);
        }
        Err(ArchiveError::TooMuch)
    });
    match (taken, read) {
        (None, Err(error)) => Err(error),
        (taken, _) => Ok(taken),
    }
}

fn padding(size: u64) -> u64 {
    size.next_multiple_of(BLOCK as u64) - size
}

fn check_sum(header: &tar::Header, block: &[u8; BLOCK]) -> Result<(), ArchiveError> {
    let blanks = 8 * u32::from(b' ');
    let sum: u32 = block[..148]
        .iter()
        .chain(&block[156..])
        .map(|&byte| u32::from(byte))
        .sum();
    if header.cksum().is_ok_and(|known| known == sum + blanks) {
        Ok(())
    } else {
        Err(ArchiveError::Damaged("a header's sum is wrong"))
    }
}

fn entry(
    header: &tar::Header,
    size: u64,
    extensions: Extensions,
    root: &mut Option<Vec<u8>>,
) -> Result<Entry, ArchiveError> {
    let name = extensions
        .path
        .unwrap_or_else(|| header.path_bytes().into_owned());
    let path = below_root(&name, root)?;
    if extensions.size.is_some_and(|said| said != size) || size > MAX_STREAMED_FILE {
        return Err(ArchiveError::HugeFile {
            name: String::from_utf8_lossy(&path).into_owned(),
            size: extensions.size.unwrap_or(size).max(size),
        });
    }
    let link = || {
        extensions
            .link
            .clone()
            .or_else(|| header.link_name_bytes().map(std::borrow::Cow::into_owned))
            .unwrap_or_default()
    };
    let kind = match header.entry_type().as_byte() {
        b'0' | 0 | b'7' => EntryKind::File,
        b'1' => EntryKind::HardLink(below_root(&link(), root)?),
        b'2' => EntryKind::Link(link()),
        b'5' => EntryKind::Directory,
        b'S' => return Err(ArchiveError::Damaged("it has a sparse file")),
        _ => EntryKind::Special,
    };
    Ok(Entry {
        path,
        kind,
        mode: header.mode().unwrap_or(0),
        uid: header.uid().unwrap_or(0),
        gid: header.gid().unwrap_or(0),
        modified: header.mtime().unwrap_or(0),
        size,
    })
}

/// The path below the directory that all names start with.
fn below_root(name: &[u8], root: &mut Option<Vec<u8>>) -> Result<Vec<u8>, ArchiveError> {
    let outside = || ArchiveError::Name(name.escape_ascii().to_string());
    let trimmed = name.strip_suffix(b"/").unwrap_or(name);
    let strange =
        |part: &[u8]| part.is_empty() || part == b"." || part == b".." || part.contains(&0);
    if trimmed.split(|&byte| byte == b'/').any(strange) {
        return Err(outside());
    }
    let end = memchr::memchr(b'/', trimmed).unwrap_or(trimmed.len());
    let (first, rest) = trimmed.split_at(end);
    if root.get_or_insert_with(|| first.to_vec()) != first {
        return Err(outside());
    }
    Ok(rest.strip_prefix(b"/").unwrap_or(rest).to_vec())
}

impl Extensions {
    fn take(&mut self, kind: u8, content: &[u8]) -> Result<(), ArchiveError> {
        let text = content.strip_suffix(b"\0").unwrap_or(content);
        match kind {
            b'L' => self.path = Some(text.to_vec()),
            b'K' => self.link = Some(text.to_vec()),
            _ => {
                records(content, |key, value| match key {
                    b"path" => self.path = Some(value.to_vec()),
                    b"linkpath" => self.link = Some(value.to_vec()),
                    b"size" => self.size = number(value),
                    _ => {}
                })
                .ok_or(ArchiveError::Damaged("an extended header is wrong"))?;
            }
        }
        Ok(())
    }
}

/// Records of the form `LENGTH KEY=VALUE\n`; a value may hold newlines.
fn records<'a>(mut content: &'a [u8], mut each: impl FnMut(&'a [u8], &'a [u8])) -> Option<()> {
    while !content.is_empty() {
        let blank = memchr::memchr(b' ', content)?;
        let length = usize::try_from(number(&content[..blank])?).ok()?;
        let record = content.get(blank + 1..length)?.strip_suffix(b"\n")?;
        let equals = memchr::memchr(b'=', record)?;
        each(&record[..equals], &record[equals + 1..]);
        content = &content[length..];
    }
    Some(())
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A stream that ends with an error when it is longer than it may be.
struct Counted<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Counted<R> {
    fn block(&mut self, block: &mut [u8; BLOCK]) -> Result<(), ArchiveError> {
        self.read_exact(block).map_err(|error| {
            if error.kind() == io::ErrorKind::UnexpectedEof {
                ArchiveError::Damaged("it breaks off")
            } else {
                error.into()
            }
        })
    }

    fn extension(&mut self, size: u64) -> Result<Vec<u8>, ArchiveError> {
        if size > MAX_EXTENSION {
            return Err(ArchiveError::Damaged("a name is too long"));
        }
        let mut content = Vec::new();
        let whole = size + padding(size);
        let read = Read::by_ref(self).take(whole).read_to_end(&mut content)?;
        if (read as u64) < whole {
            return Err(ArchiveError::Damaged("it ends within a name"));
        }
        content.truncate(usize::try_from(size).unwrap_or(0));
        Ok(content)
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !buffer.is_empty() {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        let room = usize::try_from(self.left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let read = self.inner.read(&mut buffer[..room])?;
        self.left -= read as u64;
        Ok(read)
    }
}
