//! How a run is told to end.

use tokio_util::sync::CancellationToken;

/// Three tokens, each stronger than the one before.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    /// No attempt starts solving any more.
    pub drain: CancellationToken,
    /// Running attempts end at the next safe point; their patches are harvested.
    pub cancel: CancellationToken,
    /// Nothing is waited for any more but the removal of sandboxes.
    pub now: CancellationToken,
}

impl Stop {
    /// No attempt starts solving any more.
    pub fn drain(&self) {
        self.drain.cancel();
    }

    /// Running attempts end, with a harvest.
    pub fn cancel(&self) {
        self.drain.cancel();
        self.cancel.cancel();
    }

    /// Running attempts end, without one.
    pub fn now(&self) {
        self.cancel();
        self.now.cancel();
    }
}
