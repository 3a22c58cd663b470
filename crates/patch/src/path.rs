//! Paths inside a patch: bytes, as git has them.

use std::borrow::Cow;
use std::fmt;

/// A path inside the repository, without the `a/` or `b/` of a diff. Any bytes but NUL; parts are separated by `/`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PatchPath(Vec<u8>);

impl PatchPath {
    /// Wraps a path as it came.
    pub fn new(path: impl Into<Vec<u8>>) -> Self {
        Self(path.into())
    }

    /// The path as it came.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path as text; what is not UTF-8 is replaced.
    pub fn to_str_lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl From<&str> for PatchPath {
    fn from(path: &str) -> Self {
        Self(path.as_bytes().to_vec())
    }
}

impl fmt::Display for PatchPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_str_lossy().fmt(f)
    }
}

impl fmt::Debug for PatchPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_str_lossy(), f)
    }
}

/// Reads a path that git put in double quotes, from its opening quote on. Gives the path and what follows the closing quote.
pub(crate) fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut path = Vec::with_capacity(rest.len());
    loop {
        match rest {
            [b'"', after @ ..] => return Some((path, after)),
            [b'\\', after @ ..] => {
                let (byte, after) = unescape(after)?;
                path.push(byte);
                rest = after;
            }
            [byte, after @ ..] => {
                path.push(*byte);
                rest = after;
            }
            [] => return None,
        }
    }
}

/// Reads what follows a backslash.
fn unescape(text: &[u8]) -> Option<(u8, &[u8])> {
    if let [
        first @ b'0'..=b'3',
        second @ b'0'..=b'7',
        third @ b'0'..=b'7',
        after @ ..,
    ] = text
    {
        return Some((
            (first - b'0') << 6 | (second - b'0') << 3 | (third - b'0'),
            after,
        ));
    }
    let (letter, after) = text.split_first()?;
    let byte = match letter {
        b'a' => 0x07,
        b'b' => 0x08,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 0x0b,
        b'f' => 0x0c,
        b'r' => b'\r',
        b'"' | b'\\' => *letter,
        _ => return None,
    };
    Some((byte, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_paths_are_read_back() {
        let (path, rest) = unquote(br#""a/\303\244 \"x\"\\\t.txt" b/y"#).unwrap();
        assert_eq!(path, "a/ä \"x\"\\\t.txt".as_bytes());
        assert_eq!(rest, b" b/y");
    }

    #[test]
    fn broken_quotes_are_refused() {
        for text in [
            &b"a/x"[..],
            b"\"a/x",
            b"\"a/\\",
            b"\"a/\\q\"",
            b"\"a/\\477\"",
            b"\"a/\\30",
        ] {
            assert_eq!(unquote(text), None, "{}", String::from_utf8_lossy(text));
        }
    }
}
