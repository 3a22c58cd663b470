//! What of a patch the `patch` program may see: it knows other forms than unified diffs, one of which is a script for the editor `ed`.

/// Counts down the lines of a hunk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Hunk {
    old: u64,
    new: u64,
}

/// The patch without lines between its hunks that could be commands: those of scripts, and of diffs in the old form, begin with a number.
pub(super) fn alone(patch: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(patch.len());
    let mut hunk = Hunk::default();
    for line in patch.split_inclusive(|&byte| byte == b'\n') {
        if hunk.takes(line) {
            kept.extend_from_slice(line);
            continue;
        }
        hunk = Hunk::header(line).unwrap_or_default();
        if !may_command(line) {
            kept.extend_from_slice(line);
        }
    }
    kept
}

/// The program looks behind white space and `X` too.
fn may_command(line: &[u8]) -> bool {
    let start = line.iter().find(|byte| !b" \tX".contains(byte));
    start.is_some_and(u8::is_ascii_digit)
}

impl Hunk {
    /// Reads `@@ -1,2 +3,4 @@`.
    fn header(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line.strip_prefix(b"@@ -")?).ok()?;
        let mut words = line.split(' ');
        let old = count(words.next()?)?;
        let new = count(words.next()?.strip_prefix('+')?)?;
        Some(Self { old, new })
    }

    /// Whether a line is one of the hunk's.
    fn takes(&mut self, line: &[u8]) -> bool {
        let (old, new) = match line.first() {
            Some(b'\\') => (0, 0),
            Some(b'-') => (1, 0),
            Some(b'+') => (0, 1),
            Some(b' ' | b'\t' | b'\n' | b'\r') => (1, 1),
            Some(_) | None => return false,
        };
        let Some(left) = self.without(old, new) else {
            return false;
        };
        *self = left;
        true
    }

    fn without(self, old: u64, new: u64) -> Option<Self> {
        if self == Self::default() {
            return None;
        }
        Some(Self {
            old: self.old.checked_sub(old)?,
            new: self.new.checked_sub(new)?,
        })
    }
}

/// The length in `1,2`, which is 1 where it is left out.
fn count(range: &str) -> Option<u64> {
    match range.split_once(',') {
        Some((_, length)) => length.parse().ok(),
        None => range.parse::<u64>().ok().map(|_| 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HUNK: &str = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n 1d\n-2\n+3,4c\n";

    #[test]
    fn hunks_stay_as_they_are() {
        for patch in [
            HUNK.to_owned(),
            format!("diff --git a/f b/f\nindex 1..2 100644\n{HUNK}{HUNK}"),
            "@@ -1 +1 @@\n-1\n\\ No newline at end of file\n+2\n\\ No newline at end of file"
                .to_owned(),
        ] {
            assert_eq!(alone(patch.as_bytes()), patch.as_bytes());
        }
    }

    #[test]
    fn commands_between_them_go() {
        for command in ["1d\n", "  2,3c\n", "X1s/a/b/\n", "1i\n"] {
            let patch = format!("{command}{HUNK}{command}{HUNK}{command}");
            assert_eq!(alone(patch.as_bytes()), [HUNK, HUNK].concat().as_bytes());
        }
    }
}
