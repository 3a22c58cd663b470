//! Lines and columns, for errors.

/// A place in a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    /// Line, from 1.
    pub(crate) line: u64,
    /// Bytes before it in the line.
    pub(crate) indent: u64,
}

impl Position {
    /// The place after `text`, which starts here.
    pub(crate) fn after(self, text: &[u8]) -> Self {
        match memchr::memrchr(b'\n', text) {
            None => Self {
                indent: self.indent + text.len() as u64,
                ..self
            },
            Some(end) => Self {
                line: self.line + memchr::memchr_iter(b'\n', text).count() as u64,
                indent: (text.len() - end - 1) as u64,
            },
        }
    }
}
