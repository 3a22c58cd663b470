//! One stream to a listener, from its opening to its end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

use super::frame::{Frame, PIECE};
use super::streams::{Connection, Streams};

/// How often it is asked whether the listener is there.
const ASK: Duration = Duration::from_secs(5);
/// How long it may say nothing. Whoever ends a command makes everything inside stand still for some seconds at most.
const SILENCE: Duration = Duration::from_secs(20);
/// Bytes that are written at once.
const BATCH: usize = 4 * PIECE;

/// What connections from inside reach.
pub trait Service: Send + Sync {
    /// Serves one connection. Its bytes come from untrusted programs.
    fn serve(self: Arc<Self>, connection: Connection) -> BoxFuture<'static, ()>;
}

/// Carries connections to `service` until the stream ends; then all of them are ended.
pub(super) async fn carry(
    output: impl AsyncRead + Unpin,
    input: impl AsyncWrite + Unpin,
    begun: BytesMut,
    service: &Arc<dyn Service>,
) -> io::Error {
    let streams = Arc::new(Streams::default());
    let ended = tokio::select! {
        ended = read(output, begun, &streams, service) => ended,
        ended = write(input, &streams) => ended,
        () = ask(&streams) => Ok(()),
    };
    streams.end();
    ended
        .err()
        .unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Never waits for anything but the stream, so that no connection can hold it up.
async fn read(
    mut output: impl AsyncRead + Unpin,
    mut buffer: BytesMut,
    streams: &Arc<Streams>,
    service: &Arc<dyn Service>,
) -> io::Result<()> {
    // What is served ends with the stream.
    let mut served = JoinSet::new();
    loop {
        while let Some(frame) = Frame::take(&mut buffer).map_err(io::Error::other)? {
            if let Some(connection) = streams.take(frame).map_err(io::Error::other)? {
                served.spawn(Arc::clone(service).serve(connection));
            }
        }
        while let Some(ended) = served.try_join_next() {
            if let Err(panic) = ended {
                tracing::error!(%panic, "what a sandbox's connection reached has failed");
            }
        }
        buffer.reserve(2 * PIECE);
        if timeout(SILENCE, output.read_buf(&mut buffer)).await?? == 0 {
            return Ok(());
        }
    }
}

async fn write(mut input: impl AsyncWrite + Unpin, streams: &Streams) -> io::Result<()> {
    let mut batch = BytesMut::with_capacity(BATCH);
    loop {
        streams.next().await.put(&mut batch);
        while batch.len() < BATCH - PIECE
            && let Some(frame) = streams.ready()
        {
            frame.put(&mut batch);
        }
        input.write_all(&batch).await?;
        input.flush().await?;
        batch.clear();
    }
}

async fn ask(streams: &Streams) {
    let mut times = interval(ASK);
    loop {
        times.tick().await;
        streams.ask();
    }
}
