//! Attached streams of the engine as channels: output out of its frames, input that ends when it is dropped.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bollard::container::LogOutput;
use bollard::errors::Error as Answer;
use bytes::{Buf, Bytes};
use futures_util::{Stream, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// What the engine sends.
pub(super) type Frames = Pin<Box<dyn Stream<Item = Result<LogOutput, Answer>> + Send>>;
/// What it takes.
pub(super) type Sink = Pin<Box<dyn AsyncWrite + Send>>;

/// First word of the line by which the wrapper of an exec says that its program is gone.
const END: &[u8] = b"end ";

/// The next frame of something that is not a terminal.
pub(super) async fn next(frames: &mut Frames) -> Option<io::Result<LogOutput>> {
    frames.next().await.map(checked)
}

fn checked(frame: Result<LogOutput, Answer>) -> io::Result<LogOutput> {
    match frame {
        // The decoder's word for what it does not understand; without a terminal every frame has a header.
        Ok(LogOutput::Console { message }) => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            String::from_utf8_lossy(&message).into_owned(),
        )),
        Ok(frame) => Ok(frame),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// What becomes of the streams of the main process when their reader goes: the process lives on, so they must too.
#[derive(Default)]
pub(super) struct Held(Mutex<Vec<Sink>>);

impl Held {
    fn keep(&self, sink: Sink) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(sink);
    }

    /// Lets them go.
    pub(super) fn clear(&self) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}

/// The bytes of the frames.
pub(super) struct Output {
    frames: Option<Frames>,
    current: Bytes,
    ended: Option<oneshot::Sender<()>>,
    /// Whether somebody has to go on reading, or the main process would be blocked.
    drain: bool,
}

impl Output {
    /// The receiver hears when the program is gone, or nobody reads any more. `early` came before, `notes` on the other stream.
    pub(super) fn new(
        frames: Frames,
        early: Bytes,
        notes: &Bytes,
        drain: bool,
    ) -> (Self, oneshot::Receiver<()>) {
        let (sender, receiver) = oneshot::channel();
        let mut output = Self {
            frames: Some(frames),
            current: early,
            ended: Some(sender),
            drain,
        };
        if notes.starts_with(END) {
            output.tell_end();
        }
        (output, receiver)
    }

    fn tell_end(&mut self) {
        if let Some(ended) = self.ended.take() {
            let _ = ended.send(());
        }
    }

    fn take(&mut self, frame: LogOutput) {
        match frame {
            // Nothing but the wrapper has this stream.
            LogOutput::StdErr { message } if message.starts_with(END) => self.tell_end(),
            frame => self.current = frame.into_bytes(),
        }
    }
}

impl AsyncRead for Output {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            if !self.current.is_empty() {
                let length = self.current.len().min(buffer.remaining());
                buffer.put_slice(&self.current[..length]);
                self.current.advance(length);
                return Poll::Ready(Ok(()));
            }
            let Some(frames) = self.frames.as_mut() else {
                return Poll::Ready(Ok(()));
            };
            match ready!(frames.poll_next_unpin(context)).map(checked) {
                Some(Ok(frame)) => self.take(frame),
                Some(Err(error)) => {
                    self.tell_end();
                    self.frames = None;
                    return Poll::Ready(Err(error));
                }
                None => {
                    self.tell_end();
                    self.frames = None;
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let (true, Some(mut frames), Ok(runtime)) =
            (self.drain, self.frames.take(), Handle::try_current())
        {
            runtime.spawn(async move { while let Some(Ok(_)) = frames.next().await {} });
        }
    }
}

/// The input; dropping it is the end of it for the program, unless it is held.
pub(super) struct Input {
    sink: Option<Sink>,
    held: Option<Arc<Held>>,
}

impl Input {
    /// Input that ends when it is dropped.
    pub(super) fn new(sink: Sink) -> Self {
        Self {
            sink: Some(sink),
            held: None,
        }
    }

    /// Input that stays open.
    pub(super) fn held(sink: Sink, held: Arc<Held>) -> Self {
        Self {
            sink: Some(sink),
            held: Some(held),
        }
    }

    fn sink(&mut self) -> io::Result<Pin<&mut (dyn AsyncWrite + Send)>> {
        match self.sink.as_mut() {
            Some(sink) => Ok(sink.as_mut()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl AsyncWrite for Input {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.sink()?.poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sink()?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sink()?.poll_shutdown(context)
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        let Some(mut sink) = self.sink.take() else {
            return;
        };
        if let Some(held) = &self.held {
            held.keep(sink);
        } else if let Ok(runtime) = Handle::try_current() {
            // The other half keeps the connection open: without this the program would wait for ever.
            runtime.spawn(async move { sink.shutdown().await });
        }
    }
}
