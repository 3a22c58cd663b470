//! The elements of a JSON array, one at a time: the array is never held as a whole.

use std::io::BufRead;

use crate::error::Error;
use crate::location::Location;
use crate::position::Position;
use crate::source::{Place, RawRow};

/// What to do with a file that stops short.
const CUT: &str = "the file was cut off, or its download was: get it again whole";

/// Where the reader stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the opening bracket.
    Start,
    /// After it.
    Opened,
    /// After an element.
    AfterElement,
    /// After a comma.
    AfterComma,
    /// After the closing bracket, or after an error.
    Ended,
}

/// Finds the elements of an array without understanding them: it only counts brackets outside strings.
#[derive(Debug)]
pub(crate) struct Elements<R> {
    input: R,
    place: Place,
    at: Position,
    state: State,
}

impl<R: BufRead> Elements<R> {
    pub(crate) fn new(input: R, place: Place, start: Position) -> Self {
        Self {
            input,
            place,
            at: start,
            state: State::Start,
        }
    }

    /// The next byte, not taken.
    fn peek(&mut self) -> Result<Option<u8>, Error> {
        let buffered = self
            .input
            .fill_buf()
            .map_err(|source| self.place.read(source))?;
        Ok(buffered.first().copied())
    }

    fn take(&mut self, byte: u8) {
        self.input.consume(1);
        self.at = self.at.after(&[byte]);
    }

    fn malformed(&self, problem: &str, hint: &'static str) -> Error {
        self.place.malformed(self.at, problem, hint)
    }

    fn advance(&mut self) -> Result<Option<RawRow>, Error> {
        while let Some(byte) = self.peek()? {
            match (self.state, byte) {
                (_, b' ' | b'\t' | b'\r' | b'\n') => self.take(byte),
                (State::Start, _) => {
                    self.take(byte);
                    self.state = State::Opened;
                }
                (State::Opened | State::AfterElement, b']') => {
                    self.take(byte);
                    self.state = State::Ended;
                }
                (State::AfterElement, b',') => {
                    self.take(byte);
                    self.state = State::AfterComma;
                }
                (State::AfterElement, _) => {
                    return Err(self.malformed(
                        "expected `,` or `]` after a row",
                        "rows of an array have commas between them; rows without, one a line, are a .jsonl file with no brackets",
                    ));
                }
                (State::AfterComma, b']') => {
                    return Err(self.malformed("trailing comma before `]`", "remove the comma"));
                }
                (State::Opened | State::AfterComma, b'{') => {
                    let row = self.element()?;
                    self.state = State::AfterElement;
                    return Ok(Some(row));
                }
                (State::Opened | State::AfterComma, _) => {
                    return Err(Error::NotARow {
                        path: self.place.path.clone(),
                        at: Location::Line(self.at.line),
                        found: kind_of(byte),
                    });
                }
                (State::Ended, _) => {
                    return Err(self.malformed(
                        "trailing characters after the array",
                        "a file holds one array; join several into one, or write one row a line",
                    ));
                }
            }
        }
        if self.state == State::Ended {
            return Ok(None);
        }
        Err(self.malformed("the file ends before the array is closed", CUT))
    }

    /// Takes one object, from its brace to the brace that closes it.
    fn element(&mut self) -> Result<RawRow, Error> {
        let start = self.at;
        let mut bytes = Vec::new();
        let mut scanner = Scanner::default();
        loop {
            let buffered = self
                .input
                .fill_buf()
                .map_err(|source| self.place.read(source))?;
            if buffered.is_empty() {
                let problem = format!(
                    "the file ends inside the row that starts on line {}",
                    start.line
                );
                return Err(self.malformed(&problem, CUT));
            }
            let (length, closed) = scanner.scan(buffered);
            let taken = buffered.get(..length).unwrap_or(buffered);
            bytes.extend_from_slice(taken);
            self.at = self.at.after(taken);
            self.input.consume(length);
            if bytes.len() > self.place.limit {
                return Err(self.place.huge(Location::Line(start.line)));
            }
            if closed {
                return Ok(RawRow::text(start, bytes, None));
            }
        }
    }
}

impl<R: BufRead> Iterator for Elements<R> {
    type Item = Result<RawRow, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance();
        if next.is_err() {
            self.state = State::Ended;
        }
        next.transpose()
    }
}

/// Depth of brackets, through strings and escapes.
#[derive(Debug, Default)]
struct Scanner {
    depth: u64,
    in_string: bool,
    escaped: bool,
}

impl Scanner {
    /// Bytes of `chunk` up to where the value closes, and whether it does.
    fn scan(&mut self, chunk: &[u8]) -> (usize, bool) {
        for (index, byte) in chunk.iter().enumerate() {
            if self.escaped {
                self.escaped = false;
                continue;
            }
            match byte {
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => self.depth += 1,
                b'}' | b']' if !self.in_string => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return (index + 1, true);
                    }
                }
                _ => {}
            }
        }
        (chunk.len(), false)
    }
}

/// Name of the value that starts with `first`.
pub(crate) fn kind_of(first: u8) -> &'static str {
    match first {
        b'{' => "an object",
        b'[' => "an array",
        b'"' => "a string",
        b't' | b'f' => "a boolean",
        b'n' => "null",
        b'-' | b'0'..=b'9' => "a number",
        _ => "something that is not JSON",
    }
}
