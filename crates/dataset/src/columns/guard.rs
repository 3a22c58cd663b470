//! Decoders of columns panic on some damaged files. Here that is one more way in which a file cannot be read.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread would be caught and told as an error about the file: a panic hook has nothing to say then.
pub fn catches_panics() -> bool {
    GUARDED.get()
}

/// What a decoder said when it gave up.
#[derive(Debug, thiserror::Error)]
#[error("the decoder gave up: {0}")]
pub(super) struct GaveUp(String);

/// Runs a decoder. What it was working on must not be used after it gave up.
pub(super) fn guarded<T>(decode: impl FnOnce() -> T) -> Result<T, GaveUp> {
    let before = GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(decode));
    GUARDED.set(before);
    done.map_err(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
        GaveUp(
            said.unwrap_or("no reason given")
                .chars()
                .take(300)
                .collect(),
        )
    })
}
