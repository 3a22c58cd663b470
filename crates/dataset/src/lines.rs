//! JSON Lines: one row a line.

use std::io::{BufRead, Read};

use crate::compression::Input;
use crate::error::Error;
use crate::location::Location;
use crate::position::Position;
use crate::source::{Place, RawRow};

/// One row a line.
#[derive(Debug)]
pub(crate) struct Lines {
    pub(crate) input: Input,
    /// Number of the next line.
    pub(crate) line: u64,
    pub(crate) place: Place,
}

impl Iterator for Lines {
    type Item = Result<RawRow, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut bytes = Vec::new();
            // The line's own end does not count.
            let limit = self.place.limit as u64 + 2;
            if let Err(source) = self
                .input
                .by_ref()
                .take(limit)
                .read_until(b'\n', &mut bytes)
            {
                return Some(Err(self.place.read(source)));
            }
            if bytes.is_empty() {
                return None;
            }
            let line = self.line;
            self.line += 1;
            let indent = bytes
                .iter()
                .take_while(|byte| byte.is_ascii_whitespace())
                .count();
            let trimmed = bytes.trim_ascii();
            if trimmed.len() > self.place.limit
                || (bytes.len() as u64 == limit && !bytes.ends_with(b"\n"))
            {
                return Some(Err(self.place.huge(Location::Line(line))));
            }
            if trimmed.is_empty() {
                continue;
            }
            let start = Position {
                line,
                indent: indent as u64,
            };
            return Some(Ok(RawRow::text(start, trimmed.to_vec(), None)));
        }
    }
}
