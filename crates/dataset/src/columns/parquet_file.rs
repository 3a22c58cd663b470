//! Parquet, row group by row group: what is held is a batch and a page of each column.

use std::fs::File;

use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};

use super::batches::Next;

/// Bytes of a batch, as near as the file's own figures allow.
const BATCH_BYTES: i64 = 4 << 20;

/// Rows of a batch at most.
const BATCH_ROWS: i64 = 1024;

/// A Parquet file that is being read.
pub(super) struct ParquetFile {
    file: File,
    metadata: ArrowReaderMetadata,
    /// Row groups that were opened.
    opened: usize,
    reader: Option<ParquetRecordBatchReader>,
}

impl ParquetFile {
    pub(super) fn open(file: File) -> Result<Self, ArrowError> {
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
        Ok(Self {
            file,
            metadata,
            opened: 0,
            reader: None,
        })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.metadata.schema().clone()
    }

    /// Row group that is being read, from 1.
    pub(super) fn group(&self) -> u32 {
        u32::try_from(self.opened.max(1)).unwrap_or(u32::MAX)
    }

    pub(super) fn next(&mut self) -> Next {
        loop {
            if let Some(batch) = self.reader.as_mut().and_then(Iterator::next) {
                return Some(batch);
            }
            if self.opened == self.metadata.metadata().num_row_groups() {
                return None;
            }
            match self.open_group(self.opened) {
                Ok(reader) => self.reader = Some(reader),
                Err(error) => {
                    self.reader = None;
                    return Some(Err(error));
                }
            }
        }
    }

    fn open_group(&mut self, index: usize) -> Result<ParquetRecordBatchReader, ArrowError> {
        self.opened += 1;
        let group = self.metadata.metadata().row_group(index);
        let row = group.total_byte_size() / group.num_rows().max(1);
        let rows = (BATCH_BYTES / row.max(1)).clamp(1, BATCH_ROWS);
        let file = self.file.try_clone()?;
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
        let reader = builder
            .with_row_groups(vec![index])
            .with_batch_size(usize::try_from(rows).unwrap_or(1))
            .build()?;
        Ok(reader)
    }
}
