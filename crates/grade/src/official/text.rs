//! JSON to the byte as the official harness writes it: four spaces, ASCII only.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

/// A value as JSON text, without a newline at its end.
///
/// # Errors
/// The value cannot be JSON.
pub fn text(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut bytes = Vec::new();
    let formatter = Ascii(PrettyFormatter::with_indent(b"    "));
    value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter))?;
    String::from_utf8(bytes).map_err(|error| serde::ser::Error::custom(error.to_string()))
}

/// Writes characters beyond printable ASCII as `\uXXXX`, those beyond 16 bits as two.
struct Ascii(PrettyFormatter<'static>);

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut plain = fragment;
        while let Some(at) = plain.find(|c: char| !(' '..='~').contains(&c)) {
            let (before, rest) = plain.split_at(at);
            CompactFormatter.write_string_fragment(writer, before)?;
            let mut characters = rest.chars();
            if let Some(character) = characters.next() {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
            plain = characters.as_str();
        }
        CompactFormatter.write_string_fragment(writer, plain)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_ascii_with_four_spaces() {
        let value = serde_json::json!({"a\u{e9}\u{1f600}\u{7f}\n\u{1}\"\\": [], "b": {}, "c": [1, {"d": null}]});
        let expected = "{\n    \"a\\u00e9\\ud83d\\ude00\\u007f\\n\\u0001\\\"\\\\\": [],\n    \"b\": {},\n    \"c\": [\n        1,\n        {\n            \"d\": null\n        }\n    ]\n}";
        assert_eq!(text(&value).unwrap(), expected);
    }
}
