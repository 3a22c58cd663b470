//! How long a command waits for what has no end of its own.

use std::future::Future;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::End;

/// Until when something is waited for, and what makes it useless before.
#[derive(Clone, Copy)]
pub(super) struct Patience<'a> {
    pub(super) until: Instant,
    pub(super) cancel: &'a CancellationToken,
}

impl Patience<'_> {
    /// What comes in time. Else how the command ends that waits; the future is dropped then.
    pub(super) async fn wait<T>(self, coming: impl Future<Output = T>) -> Result<T, End> {
        tokio::select! {
            biased;
            come = coming => Ok(come),
            () = self.cancel.cancelled() => Err(End::Cancelled),
            () = sleep_until(self.until) => Err(End::TimedOut),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn what_is_there_is_taken_and_the_rest_has_an_end() {
        let cancel = CancellationToken::new();
        let patience = |time| Patience {
            until: Instant::now() + time,
            cancel: &cancel,
        };
        let (short, long) = (Duration::from_millis(20), Duration::from_mins(10));
        assert_eq!(patience(Duration::ZERO).wait(ready(7)).await, Ok(7));
        let started = Instant::now();
        let late = patience(short).wait(pending::<()>()).await;
        assert_eq!(late, Err(End::TimedOut));
        assert!(started.elapsed() >= short);
        cancel.cancel();
        let cancelled = patience(long).wait(pending::<()>()).await;
        assert_eq!(cancelled, Err(End::Cancelled));
        assert!(started.elapsed() < long);
        assert_eq!(patience(long).wait(ready(7)).await, Ok(7));
    }
}
