//! What goes over the tunnel's stream: a kind, the number of a connection, a length or an amount, and for data that many bytes.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Most bytes of one piece of data.
pub(super) const PIECE: usize = 32 << 10;
/// Bytes before the data.
const HEAD: usize = 9;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Frame {
    /// There is a new connection; only the listener says so.
    Open(u32),
    /// Bytes.
    Data(u32, Bytes),
    /// No more bytes come this way.
    End(u32),
    /// The connection is gone both ways.
    Reset(u32),
    /// So many more bytes may be sent.
    Window(u32, u32),
    /// Asks whether anybody is there.
    Ping,
    /// Answers that.
    Pong,
}

/// What no listener of ours would send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Violation {
    #[error("a message of an unknown kind")]
    Kind,
    #[error("a piece of data that is too long")]
    Length,
    #[error("more data than a connection may have under way")]
    Window,
    #[error("a number that another connection has")]
    Number,
}

impl Frame {
    /// Takes a whole message from the start of what has come; `None` as long as there is none.
    pub(super) fn take(buffer: &mut BytesMut) -> Result<Option<Self>, Violation> {
        let Some(mut head) = buffer.get(..HEAD) else {
            return Ok(None);
        };
        let (kind, number, amount) = (head.get_u8(), head.get_u32(), head.get_u32());
        let frame = match kind {
            1 => Self::Open(number),
            2 => {
                let length = usize::try_from(amount).map_err(|_| Violation::Length)?;
                if length > PIECE {
                    return Err(Violation::Length);
                }
                if buffer.len() < HEAD + length {
                    return Ok(None);
                }
                buffer.advance(HEAD);
                return Ok(Some(Self::Data(number, buffer.split_to(length).freeze())));
            }
            3 => Self::End(number),
            4 => Self::Reset(number),
            5 => Self::Window(number, amount),
            6 => Self::Ping,
            7 => Self::Pong,
            _ => return Err(Violation::Kind),
        };
        buffer.advance(HEAD);
        Ok(Some(frame))
    }

    /// Appends it.
    pub(super) fn put(&self, buffer: &mut BytesMut) {
        let (kind, number, amount) = match self {
            Self::Open(number) => (1, *number, 0),
            Self::Data(number, data) => (2, *number, u32::try_from(data.len()).unwrap_or_default()),
            Self::End(number) => (3, *number, 0),
            Self::Reset(number) => (4, *number, 0),
            Self::Window(number, amount) => (5, *number, *amount),
            Self::Ping => (6, 0, 0),
            Self::Pong => (7, 0, 0),
        };
        buffer.put_u8(kind);
        buffer.put_u32(number);
        buffer.put_u32(amount);
        if let Self::Data(_, data) = self {
            buffer.put_slice(data);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_as_they_went_in_however_they_are_cut() {
        let frames = [
            Frame::Open(7),
            Frame::Data(7, Bytes::from_static(b"some bytes")),
            Frame::Data(u32::MAX, Bytes::new()),
            Frame::Window(7, 65_536),
            Frame::End(7),
            Frame::Reset(8),
            Frame::Ping,
            Frame::Pong,
        ];
        let mut whole = BytesMut::new();
        for frame in &frames {
            frame.put(&mut whole);
        }
        let mut buffer = BytesMut::new();
        let mut read = Vec::new();
        for byte in whole {
            buffer.put_u8(byte);
            read.extend(Frame::take(&mut buffer).unwrap());
        }
        assert_eq!(read, frames);
        assert!(buffer.is_empty());
    }

    #[test]
    fn what_is_not_ours_is_refused_before_it_is_stored() {
        let take = |bytes: &[u8]| Frame::take(&mut BytesMut::from(bytes));
        assert_eq!(take(b"Traceback "), Err(Violation::Kind));
        let long = [2, 0, 0, 0, 1, 0, 0, 0x80, 1];
        assert_eq!(take(&long), Err(Violation::Length));
    }
}
