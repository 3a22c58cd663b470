//! Where the bytes of a table stand: inside a quoted field or not.

/// Follows the bytes of a table as the reader of its records does: a quote opens a field only at the field's start.
#[derive(Debug)]
pub(crate) struct Quotes {
    delimiter: u8,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the start of a field.
    Start,
    /// In a field without quotes, or in what follows the closing one.
    Plain,
    /// Between quotes.
    Quoted,
    /// After a quote that closes the field, or is the first of a doubled one.
    Closing,
}

impl Quotes {
    pub(crate) fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            state: State::Start,
        }
    }

    /// Takes in more of the table.
    pub(crate) fn follow(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            let ends_field = byte == self.delimiter || matches!(byte, b'\r' | b'\n');
            self.state = match (self.state, byte) {
                (State::Quoted, b'"') => State::Closing,
                (State::Start | State::Closing, b'"') | (State::Quoted, _) => State::Quoted,
                (State::Start | State::Plain | State::Closing, _) if ends_field => State::Start,
                (State::Start | State::Plain | State::Closing, _) => State::Plain,
            };
        }
    }

    /// Whether what was taken in ends between quotes.
    pub(crate) fn are_open(&self) -> bool {
        self.state == State::Quoted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str) -> bool {
        let mut quotes = Quotes::new(b',');
        for part in text.as_bytes().chunks(3) {
            quotes.follow(part);
        }
        quotes.are_open()
    }

    #[test]
    fn only_a_quote_at_the_start_of_a_field_opens_it() {
        assert!(open("a,\"one\ntwo\n"));
        assert!(open("a,\"one \"\"two\"\"\n"));
        assert!(open("\"a\"\"\n"));
        assert!(!open("a,\"one\ntwo\"\n"));
        assert!(!open("a,5\" disk\n"));
        assert!(!open("a,\"one\" \"\n"));
        assert!(!open("\"a\"\r\n\"b\"\"\""));
    }
}
