//! Shells at a terminal, for people who look into a place that was kept.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

use super::Ended;

/// What people want to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// Shell text that comes first, so that the shell starts where the agent's did; may be empty.
    pub init: String,
    /// Name of the terminal, the variable `TERM`.
    pub terminal: String,
    /// Its size.
    pub size: Size,
}

/// Size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Lines.
    pub rows: u16,
    /// Characters in each.
    pub columns: u16,
}

/// A shell at a terminal of its own. Dropping it hangs up.
pub struct Terminal {
    /// What is typed.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// What is shown.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// Told of a new size.
    pub sizes: Arc<dyn Resize>,
    /// Resolves when the shell is gone and the place at rest again.
    pub ended: BoxFuture<'static, Ended>,
}

/// What can be told of a new size.
pub trait Resize: Send + Sync {
    /// Tells it. That it does not listen is no error: it may be about to end.
    fn resize(&self, size: Size) -> BoxFuture<'_, ()>;
}

/// The shell itself: bash where there is one, after the text that comes first.
pub(crate) fn shell(init: &str) -> Vec<String> {
    const SCRIPT: &str = "if command -v bash >/dev/null 2>&1; then exec bash -c 'eval \"$1\"; exec bash -i' shell \"$1\"; fi; eval \"$1\"; exec sh -i";
    ["/bin/sh", "-c", SCRIPT, "shell", init]
        .map(str::to_owned)
        .to_vec()
}
