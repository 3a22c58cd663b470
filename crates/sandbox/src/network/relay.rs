//! Bytes both ways between two connections, until both ways have ended or nothing comes for too long.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::time::{Instant, sleep_until};

/// Bytes that are carried at once.
const PIECE: usize = 32 << 10;

/// Carries bytes both ways. The end of one way is passed on and leaves the other open; an error ends both.
pub(super) async fn relay(
    inside: impl AsyncRead + AsyncWrite,
    outside: impl AsyncRead + AsyncWrite,
    idle: Duration,
    sent: &AtomicU64,
    received: &AtomicU64,
) -> io::Result<()> {
    let last = Last(Mutex::new(Instant::now()));
    let (inside_output, inside_input) = split(inside);
    let (outside_output, outside_input) = split(outside);
    let both = async {
        tokio::try_join!(
            carry(inside_output, outside_input, &last, sent),
            carry(outside_output, inside_input, &last, received),
        )
    };
    tokio::select! {
        carried = both => carried.map(drop),
        () = last.silence(idle) => Err(io::ErrorKind::TimedOut.into()),
    }
}

async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    last: &Last,
    count: &AtomicU64,
) -> io::Result<()> {
    let mut buffer = vec![0; PIECE];
    loop {
        let length = from.read(&mut buffer).await?;
        last.touch();
        if length == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..length]).await?;
        last.touch();
        count.fetch_add(length as u64, Ordering::Relaxed);
    }
}

/// When something was last carried.
struct Last(Mutex<Instant>);

impl Last {
    fn touch(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Waits until nothing was carried for so long.
    async fn silence(&self, idle: Duration) {
        loop {
            let end = *self.0.lock().unwrap_or_else(PoisonError::into_inner) + idle;
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }
}
