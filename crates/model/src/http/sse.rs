//! Server-sent events, as far as models use them: the data of each event.
//!
//! Written here since every byte must cost the same: parsers that look at an unfinished line again with each piece that
//! arrives take quadratic time on long lines.

use memchr::memchr2;

/// Joins pieces of a stream into events.
#[derive(Debug, Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last piece ended in CR: an LF that follows belongs to it.
    after_cr: bool,
    started: bool,
}

impl Events {
    /// Takes a piece and hands over the data of each event that it completes.
    pub(crate) fn feed<E>(
        &mut self,
        mut bytes: &[u8],
        on_data: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr2(b'\r', b'\n', bytes) {
            self.line.extend_from_slice(&bytes[..end]);
            let ending = &bytes[end..];
            bytes = if let Some(rest) = ending.strip_prefix(b"\r\n") {
                rest
            } else {
                self.after_cr = ending == b"\r";
                &ending[1..]
            };
            self.end_line(on_data)?;
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// The stream ended. Its last event counts even where the empty line after it is missing.
    pub(crate) fn end<E>(
        &mut self,
        on_data: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.line.is_empty() {
            self.end_line(on_data)?;
        }
        self.end_line(on_data)
    }

    fn end_line<E>(&mut self, on_data: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let line = std::mem::take(&mut self.line);
        let mut text = line.as_slice();
        if !self.started {
            self.started = true;
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        let mut done = Ok(());
        if text.is_empty() {
            if self.has_data {
                done = on_data(&self.data);
            }
            self.data.clear();
            self.has_data = false;
        } else if let Some(value) = text.strip_prefix(b"data") {
            // Anything but a colon makes it another field.
            let value = match value.strip_prefix(b":") {
                Some(value) => Some(value.strip_prefix(b" ").unwrap_or(value)),
                None => value.is_empty().then_some(value),
            };
            if let Some(value) = value {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
        }
        self.line = line;
        self.line.clear();
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn events(pieces: &[&[u8]]) -> Vec<String> {
        let mut parser = Events::default();
        let mut found = Vec::new();
        let mut keep = |data: &[u8]| {
            found.push(String::from_utf8(data.to_vec()).unwrap());
            Ok::<_, Infallible>(())
        };
        for piece in pieces {
            parser.feed(piece, &mut keep).unwrap();
        }
        parser.end(&mut keep).unwrap();
        found
    }

    #[test]
    fn every_split_gives_the_same_events() {
        let text = "\u{feff}: hello\r\n\r\ndata: {\"é\":1}\r\n\r\nevent: x\nid: 3\ndata:a\ndata\ndata: b\n\ndatas: no\n\n\rdata: cr\r\rdata: [DONE]";
        let whole = events(&[text.as_bytes()]);
        assert_eq!(whole, ["{\"é\":1}", "a\n\nb", "cr", "[DONE]"]);
        for split in 0..=text.len() {
            let (start, end) = text.as_bytes().split_at(split);
            assert_eq!(events(&[start, end]), whole, "at {split}");
        }
        let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(events(&single), whole);
    }

    #[test]
    fn events_without_data_are_nothing() {
        assert!(events(&[b"\n\n: ping\n\nevent: ping\n\n"]).is_empty());
        assert!(events(&[b""]).is_empty());
        assert_eq!(events(&[b"data:\n\n"]), [""]);
    }
}
