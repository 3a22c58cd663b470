//! Walks over the lines of a patch and knows where it is.

use crate::error::ParseError;

/// A position at the start of a line.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    input: &'a [u8],
    offset: usize,
    /// Number of the line at the cursor, from 1.
    line: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(input: &'a [u8]) -> Self {
        Self {
            input,
            offset: 0,
            line: 1,
        }
    }

    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    /// The line at the cursor with its line end, `None` at the end of the input.
    fn raw(&self) -> Option<&'a [u8]> {
        let rest = self.input.get(self.offset..)?;
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(rest.len(), |at| at + 1);
        rest.get(..end)
    }

    /// The line at the cursor without its `\n`.
    pub(crate) fn peek(&self) -> Option<&'a [u8]> {
        self.raw()
            .map(|line| line.strip_suffix(b"\n").unwrap_or(line))
    }

    /// The line at the cursor as a header: without `\r\n` too, since a header never ends in a bare `\r` (git quotes such a path).
    pub(crate) fn peek_header(&self) -> Option<&'a [u8]> {
        self.peek()
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// Goes to the next line.
    pub(crate) fn advance(&mut self) {
        if let Some(line) = self.raw() {
            self.offset += line.len();
            self.line += 1;
        }
    }

    /// The lines after the cursor's, without moving.
    pub(crate) fn ahead(&self) -> Self {
        let mut ahead = self.clone();
        ahead.advance();
        ahead
    }

    pub(crate) fn header_error(&self, reason: &'static str) -> ParseError {
        ParseError::Header {
            line: self.line,
            reason,
        }
    }

    pub(crate) fn hunk_error(&self, reason: &'static str) -> ParseError {
        ParseError::Hunk {
            line: self.line,
            reason,
        }
    }

    pub(crate) fn binary_error(&self) -> ParseError {
        ParseError::Binary { line: self.line }
    }

    pub(crate) fn combined_error(&self) -> ParseError {
        ParseError::Combined { line: self.line }
    }
}
