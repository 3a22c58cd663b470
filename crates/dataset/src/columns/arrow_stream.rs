//! Arrow's interchange format, as a stream and as a file.

use std::fs::File;
use std::io::{self, BufReader, Read};

use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};

use super::batches::Next;

/// What ends a stream; without it the writer was stopped, or the file cut.
const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// A stream of batches.
pub(super) struct ArrowStream(StreamReader<Tail<BufReader<File>>>);

impl ArrowStream {
    pub(super) fn open(file: File) -> Result<Self, ArrowError> {
        let input = Tail {
            input: BufReader::with_capacity(256 << 10, file),
            last: [0; 8],
        };
        StreamReader::try_new(input, None).map(Self)
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    pub(super) fn next(&mut self) -> Next {
        let finished = self.0.is_finished();
        let next = self.0.next();
        let cut = next.is_none() && !finished && self.0.get_ref().last != END;
        if cut {
            return Some(Err(ArrowError::IpcError(
                "the stream stops without its end mark".into(),
            )));
        }
        next
    }
}

/// A file of batches.
pub(super) struct ArrowFile(FileReader<BufReader<File>>);

impl ArrowFile {
    pub(super) fn open(file: File) -> Result<Self, ArrowError> {
        FileReader::try_new(BufReader::new(file), None).map(Self)
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    pub(super) fn next(&mut self) -> Next {
        self.0.next()
    }
}

/// Remembers the last bytes that were read.
struct Tail<R> {
    input: R,
    last: [u8; 8],
}

impl<R: Read> Read for Tail<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        let read = buffer.get(..count).unwrap_or_default();
        let from = read.len().saturating_sub(self.last.len());
        let newest = read.get(from..).unwrap_or_default();
        self.last.rotate_left(newest.len());
        let room = self.last.len() - newest.len();
        if let Some(end) = self.last.get_mut(room..) {
            end.copy_from_slice(newest);
        }
        Ok(count)
    }
}
