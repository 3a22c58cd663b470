//! Text files that are compressed, told apart by their first bytes.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

/// First bytes of a gzip member.
const GZIP: &[u8] = b"\x1f\x8b";

/// First bytes of a Zstandard frame.
const ZSTANDARD: &[u8] = b"\x28\xb5\x2f\xfd";

/// Largest window that a Zstandard file may ask for, as a power of two: 128 MiB of memory, the most that `zstd` itself grants unasked.
const MAX_WINDOW: u32 = 27;

/// Text, whatever it was compressed with.
pub(crate) struct Input(Box<dyn BufRead + Send>);

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Input")
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.0.consume(amount);
    }
}

impl Input {
    /// What a reader already took, then the rest.
    pub(crate) fn after(self, taken: Vec<u8>) -> Self {
        Self(Box::new(Cursor::new(taken).chain(self.0)))
    }
}

/// Opens the text of a file that starts with `magic`.
pub(crate) fn open(file: File, magic: &[u8]) -> io::Result<Input> {
    let file = BufReader::with_capacity(64 << 10, file);
    Ok(Input(if magic.starts_with(GZIP) {
        let inner = MultiGzDecoder::new(file);
        Box::new(BufReader::new(Unpacked {
            inner,
            codec: "gzip",
        }))
    } else if magic.starts_with(ZSTANDARD) {
        let mut inner = zstd::stream::read::Decoder::with_buffer(file)?;
        inner.window_log_max(MAX_WINDOW)?;
        Box::new(BufReader::new(Unpacked {
            inner,
            codec: "Zstandard",
        }))
    } else {
        Box::new(file)
    }))
}

/// Whether a file that starts so is compressed.
pub(crate) fn is_compressed(magic: &[u8]) -> bool {
    magic.starts_with(GZIP) || magic.starts_with(ZSTANDARD)
}

/// The file's name without what says how it is compressed.
pub(crate) fn without_suffix(path: &Path) -> PathBuf {
    let packed = path
        .extension()
        .is_some_and(|found| ["gz", "zst"].iter().any(|e| found.eq_ignore_ascii_case(e)));
    if packed {
        path.with_extension("")
    } else {
        path.to_owned()
    }
}

/// Says of an error that it is one of unpacking.
struct Unpacked<R> {
    inner: R,
    codec: &'static str,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|source| {
            let kind = source.kind();
            let codec = self.codec;
            io::Error::new(kind, Broken { codec, source })
        })
    }
}

/// Data that cannot be unpacked.
#[derive(Debug, thiserror::Error)]
#[error("the {codec} data is damaged or cut short")]
pub(crate) struct Broken {
    /// What it was packed with.
    codec: &'static str,
    source: io::Error,
}
