//! Whether the disk that a place stands on is full.

use std::path::Path;

/// Bytes below which a write that found no space is believed to have looked for it here: writers leave at most the part of a block that they
/// could not fill, and what they removed of their own afterwards.
const FULL: u64 = 1 << 20;

/// What the system says of a write that finds no space, in the spellings of the C library and of runtimes with their own.
const SAID: &[u8] = b"no space left on device";

/// Whether an output says that a write found no space. Any program may say so: [`is_full`] tells whether it is true.
pub(crate) fn is_said(output: &[u8]) -> bool {
    memchr::memchr2_iter(b'n', b'N', output).any(|at| {
        let part = output.get(at..at + SAID.len());
        part.is_some_and(|part| part.eq_ignore_ascii_case(SAID))
    })
}

/// Whether the file system at `path` has no bytes, or no names, left for this user.
pub(crate) fn is_full(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|state| {
        let bytes = state.f_bavail.saturating_mul(state.f_frsize);
        bytes < FULL || (state.f_files > 0 && state.f_favail == 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_heard() {
        assert!(is_said(
            b"sh: 1: echo: I/O error: No space left on device\n"
        ));
        assert!(is_said(b"Error: ENOSPC: no space left on device, write"));
        assert!(!is_said(b"no space left"));
        assert!(!is_said(b""));
    }

    #[test]
    fn this_machine_has_space() {
        assert!(!is_full(&std::env::temp_dir()));
        assert!(!is_full(Path::new("/absent")));
    }
}
