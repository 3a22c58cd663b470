//! Many connections over one stream. Each has windows of its own, so one that nobody reads holds up no other.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

use super::frame::{Frame, PIECE, Violation};
use super::queue::Queue;

/// Bytes that may be under way to one connection, or from it.
pub(super) const WINDOW: u32 = 256 << 10;
/// Connections at once. The listener lets more of them wait.
pub(super) const CONNECTIONS: usize = 128;
/// Connections that are known here at once, with those whose end is known only inside.
const FLOWS: usize = 2 * CONNECTIONS;
/// Messages that may wait for their turn before all others.
const URGENT: usize = 1024;
/// Bytes that a connection's writer may be ahead of the tunnel.
const AHEAD: usize = 64 << 10;
/// Bytes read after which the other side hears that it may send as many again.
const GRANT: u32 = WINDOW / 4;

/// What the two directions of a tunnel and its connections share.
#[derive(Default)]
pub(super) struct Streams {
    state: Mutex<State>,
    /// Something is to be sent.
    work: Notify,
}

#[derive(Default)]
struct State {
    flows: HashMap<u32, Flow>,
    /// Connections that have something to send, each once, in turn.
    ready: VecDeque<u32>,
    /// Messages about no connection that is known here.
    urgent: VecDeque<Frame>,
    broken: bool,
}

#[derive(Default)]
struct Flow {
    incoming: Queue,
    /// Bytes that the other side may send before it hears more.
    allowance: u32,
    /// Bytes that were read and not yet granted again.
    owed: u32,
    /// Whether all that comes has come.
    ended: bool,
    reset: bool,
    reader: Option<Waker>,
    outgoing: BytesMut,
    /// Bytes that may be sent.
    credit: u32,
    finish: Finish,
    writer: Option<Waker>,
    queued: bool,
    /// Whether nobody has the connection any more.
    dropped: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Finish {
    #[default]
    Open,
    Wanted,
    Sent,
}

impl Flow {
    fn wake(&mut self) {
        for waker in [self.reader.take(), self.writer.take()]
            .into_iter()
            .flatten()
        {
            waker.wake();
        }
    }

    /// The next message of this connection.
    fn next(&mut self, number: u32) -> Option<Frame> {
        if self.owed >= GRANT {
            let amount = std::mem::take(&mut self.owed);
            self.allowance += amount;
            return Some(Frame::Window(number, amount));
        }
        let credit = usize::try_from(self.credit).unwrap_or(usize::MAX);
        let length = self.outgoing.len().min(credit).min(PIECE);
        if length > 0 {
            self.credit -= u32::try_from(length).unwrap_or(self.credit);
            if let Some(writer) = self.writer.take() {
                writer.wake();
            }
            return Some(Frame::Data(number, self.outgoing.split_to(length).freeze()));
        }
        if self.outgoing.is_empty() && self.finish == Finish::Wanted {
            self.finish = Finish::Sent;
            return Some(Frame::End(number));
        }
        None
    }

    /// Whether the connection, which nobody has any more, has said all that it has to say.
    fn is_done(&self) -> bool {
        self.dropped && self.finish != Finish::Wanted
    }
}

impl State {
    fn queue(&mut self, number: u32) {
        if let Some(flow) = self.flows.get_mut(&number)
            && !flow.queued
        {
            flow.queued = true;
            self.ready.push_back(number);
        }
    }

    fn next(&mut self) -> Option<Frame> {
        if let Some(frame) = self.urgent.pop_front() {
            return Some(frame);
        }
        while let Some(number) = self.ready.pop_front() {
            let Some(flow) = self.flows.get_mut(&number) else {
                continue;
            };
            flow.queued = false;
            if let Some(frame) = flow.next(number) {
                self.queue(number);
                return Some(frame);
            }
            if flow.is_done() {
                let whole = flow.ended && flow.finish == Finish::Sent || flow.reset;
                self.flows.remove(&number);
                if !whole {
                    return Some(Frame::Reset(number));
                }
            }
        }
        None
    }
}

impl Streams {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next message to be sent.
    pub(super) async fn next(&self) -> Frame {
        loop {
            if let Some(frame) = self.ready() {
                return frame;
            }
            self.work.notified().await;
        }
    }

    /// A message that can be sent now.
    pub(super) fn ready(&self) -> Option<Frame> {
        self.state().next()
    }

    /// Asks the other side whether it is there.
    pub(super) fn ask(&self) {
        self.state().urgent.push_back(Frame::Ping);
        self.work.notify_one();
    }

    /// Takes in what the other side sends; a connection where that opens one.
    pub(super) fn take(self: &Arc<Self>, frame: Frame) -> Result<Option<Connection>, Violation> {
        let mut state = self.state();
        match frame {
            Frame::Open(number) => return self.opened(&mut state, number),
            Frame::Data(number, data) => state.received(number, &data)?,
            Frame::End(number) => state.change(number, |flow| flow.ended = true),
            Frame::Reset(number) => state.change(number, |flow| {
                flow.reset = true;
                flow.incoming.clear();
                flow.outgoing.clear();
                flow.finish = Finish::Sent;
            }),
            Frame::Window(number, amount) => {
                state.change(number, |flow| {
                    flow.credit = flow.credit.saturating_add(amount);
                });
            }
            Frame::Ping | Frame::Pong => {}
        }
        self.work.notify_one();
        Ok(None)
    }

    fn opened(
        self: &Arc<Self>,
        state: &mut State,
        number: u32,
    ) -> Result<Option<Connection>, Violation> {
        if state.flows.contains_key(&number) {
            return Err(Violation::Number);
        }
        if state.flows.len() >= FLOWS {
            // Connections that are gone inside may still be known here: a new one has to wait for their end.
            if state.urgent.len() >= URGENT {
                return Err(Violation::Number);
            }
            state.urgent.push_back(Frame::Reset(number));
            self.work.notify_one();
            return Ok(None);
        }
        let flow = Flow {
            allowance: WINDOW,
            credit: WINDOW,
            ..Flow::default()
        };
        state.flows.insert(number, flow);
        Ok(Some(Connection {
            streams: Arc::clone(self),
            number,
        }))
    }

    /// Ends all connections: the stream is gone.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.broken = true;
        state.ready.clear();
        state.urgent.clear();
        for flow in state.flows.values_mut() {
            flow.reset = true;
            flow.incoming.clear();
            flow.outgoing.clear();
            flow.wake();
        }
    }
}

impl State {
    fn change(&mut self, number: u32, change: impl FnOnce(&mut Flow)) {
        // What was dropped here may still be spoken of there.
        if let Some(flow) = self.flows.get_mut(&number) {
            change(flow);
            flow.wake();
            self.queue(number);
        }
    }

    fn received(&mut self, number: u32, data: &[u8]) -> Result<(), Violation> {
        let Some(flow) = self.flows.get_mut(&number) else {
            return Ok(());
        };
        let length = u32::try_from(data.len()).map_err(|_| Violation::Length)?;
        flow.allowance = flow
            .allowance
            .checked_sub(length)
            .ok_or(Violation::Window)?;
        if flow.ended {
            return Err(Violation::Window);
        }
        if flow.dropped {
            // Nobody reads it.
            return Ok(());
        }
        flow.incoming.push(data);
        if let Some(reader) = flow.reader.take() {
            reader.wake();
        }
        Ok(())
    }
}

/// A connection from inside. Dropped before both directions have ended, it is reset.
pub struct Connection {
    streams: Arc<Streams>,
    number: u32,
}

impl Connection {
    fn flow<T>(&self, act: impl FnOnce(&mut Flow, bool) -> (T, bool)) -> io::Result<T> {
        let mut state = self.streams.state();
        let broken = state.broken;
        let Some(flow) = state.flows.get_mut(&self.number) else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let (result, queue) = act(flow, broken);
        if queue {
            state.queue(self.number);
            drop(state);
            self.streams.work.notify_one();
        }
        Ok(result)
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = self.flow(|flow, broken| {
            if broken || flow.reset {
                return (
                    Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
                    false,
                );
            }
            if flow.incoming.is_empty() {
                if flow.ended {
                    return (Poll::Ready(Ok(())), false);
                }
                flow.reader = Some(context.waker().clone());
                return (Poll::Pending, false);
            }
            let first = flow.incoming.first();
            let length = first.len().min(buffer.remaining());
            buffer.put_slice(&first[..length]);
            flow.incoming.advance(length);
            flow.owed += u32::try_from(length).unwrap_or_default();
            (Poll::Ready(Ok(())), flow.owed >= GRANT && !flow.ended)
        });
        polled.unwrap_or_else(|error| Poll::Ready(Err(error)))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = self.flow(|flow, broken| {
            if broken || flow.reset || flow.finish != Finish::Open {
                return (Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())), false);
            }
            let length = bytes.len().min(AHEAD.saturating_sub(flow.outgoing.len()));
            if length == 0 && !bytes.is_empty() {
                flow.writer = Some(context.waker().clone());
                return (Poll::Pending, false);
            }
            flow.outgoing.extend_from_slice(&bytes[..length]);
            (Poll::Ready(Ok(length)), true)
        });
        polled.unwrap_or_else(|error| Poll::Ready(Err(error)))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = self.flow(|flow, _| {
            if flow.finish == Finish::Open {
                flow.finish = Finish::Wanted;
            }
            ((), true)
        });
        Poll::Ready(polled)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _ = self.flow(|flow, _| {
            flow.dropped = true;
            flow.incoming.clear();
            ((), true)
        });
    }
}
