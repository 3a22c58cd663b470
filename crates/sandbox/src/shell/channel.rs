//! One open stream to a keeper: requests out, output and markers in.

use std::io;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::marker::{Flavour, Marker, Scanner, Step};
use super::script;
use crate::place::{Channel, Launch, Place};
use crate::processes;

/// First size of the read buffer, and the size that it grows to under a flood: a pipe's.
const SMALL_BUFFER: usize = 8 << 10;
const LARGE_BUFFER: usize = 64 << 10;

/// How long a stream whose keeper is gone may stay silent before it counts as closed.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_millis(20);

/// What came in.
#[derive(Debug)]
pub(super) enum Incoming {
    Data(BytesMut),
    Marker(Marker),
    /// The keeper is gone.
    Closed,
}

/// A stream whose worker is, or will be, ready for a request.
pub(super) struct Connection {
    channel: Channel,
    buffer: BytesMut,
    grown: bool,
    scanner: Scanner,
    nonce: String,
    sequence: u64,
    /// Whether the keeper is known to be gone.
    ended: bool,
    /// The worker's number as it sees itself.
    pub(super) worker: Option<u32>,
    /// What kind of shell it is.
    pub(super) flavour: Flavour,
    /// Whether the keeper was asked for no other worker than a copy of itself.
    pub(super) plain: bool,
    /// Processes that are never ended with a command, as they number themselves: the keeper, and who started it.
    pub(super) spared: Vec<u32>,
    opened: (u64, std::time::Instant),
}

impl Connection {
    /// Starts a keeper; the first thing to come is `keeper`, then `up`.
    pub(super) async fn open(place: &dyn Place, plain: bool) -> Result<Self, crate::Error> {
        let nonce = super::nonce();
        let launch = Launch {
            arguments: script::arguments(&nonce, place.shell_state(), plain),
            directory: None,
            lasting: true,
        };
        let channel = place.open(&launch).await?;
        let ticks = processes::ticks_now()
            .map_err(|error| crate::Error::lost("read the host's uptime", error))?;
        Ok(Self {
            channel,
            buffer: BytesMut::with_capacity(SMALL_BUFFER),
            grown: false,
            scanner: Scanner::new(&nonce),
            nonce,
            sequence: 0,
            ended: false,
            worker: None,
            flavour: Flavour::Plain,
            plain,
            spared: Vec::new(),
            opened: (ticks, std::time::Instant::now()),
        })
    }

    pub(super) fn keeper(&self) -> Option<u32> {
        self.channel.keeper
    }

    /// The present, in ticks of the host since boot.
    pub(super) fn ticks(&self) -> u64 {
        self.opened.0 + processes::ticks(self.opened.1.elapsed())
    }

    /// The bytes that ask for a command; the number that its markers will carry is the channel's next. One that is `urgent` is run however many
    /// processes there are.
    pub(super) fn request(&mut self, text: &str, urgent: bool) -> (u64, Vec<u8>) {
        self.sequence += 1;
        let lines = text.bytes().filter(|&byte| byte == b'\n').count();
        let (lines, end) = if text.ends_with('\n') {
            (lines, "")
        } else {
            (lines + 1, "\n")
        };
        let urgent = if urgent { " !" } else { "" };
        let request = format!(
            "{} {} {lines}{urgent}\n{text}{end}",
            self.nonce, self.sequence
        );
        (self.sequence, request.into_bytes())
    }

    /// Number of the last request.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The bytes that ask for a new worker.
    pub(super) fn go(&self) -> Vec<u8> {
        let word = if self.plain { "plain" } else { "go" };
        format!("{} {word}\n", self.nonce).into_bytes()
    }

    /// Takes what can be told from the buffer.
    fn parsed(&mut self) -> Option<Incoming> {
        match self.scanner.step(&self.buffer) {
            Step::Wait => None,
            Step::Data(length) => Some(Incoming::Data(self.buffer.split_to(length))),
            Step::Marker(length, marker) => {
                self.buffer.advance(length);
                Some(Incoming::Marker(marker))
            }
        }
    }

    /// Waits for what comes next. Nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> io::Result<Incoming> {
        self.next_while_sending(&mut &[][..]).await
    }

    /// The same while a request goes out, since a stream that nobody reads may block the one that nobody writes. `rest` is cut as it is sent.
    pub(super) async fn next_while_sending(&mut self, rest: &mut &[u8]) -> io::Result<Incoming> {
        loop {
            if let Some(incoming) = self.parsed() {
                return Ok(incoming);
            }
            if self.buffer.capacity() - self.buffer.len() < SMALL_BUFFER / 2 {
                self.buffer.reserve(if self.grown {
                    LARGE_BUFFER
                } else {
                    SMALL_BUFFER
                });
            }
            let room = self.buffer.capacity() - self.buffer.len();
            tokio::select! {
                read = self.channel.output.read_buf(&mut self.buffer) => match read? {
                    0 if self.buffer.is_empty() => return Ok(Incoming::Closed),
                    0 => return Ok(Incoming::Data(self.buffer.split())),
                    read => self.grown = read == room,
                },
                written = self.channel.input.write(rest), if !rest.is_empty() => {
                    *rest = &rest[written?..];
                }
                _ = &mut self.channel.ended, if !self.ended => self.ended = true,
                // Strays of a killed keeper may hold the stream open for ever.
                () = tokio::time::sleep(LAST_WORDS), if self.ended => {
                    return Ok(if self.buffer.is_empty() {
                        Incoming::Closed
                    } else {
                        Incoming::Data(self.buffer.split())
                    });
                }
            }
        }
    }

    /// Sends something short.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.channel.input.write_all(bytes).await?;
        self.channel.input.flush().await
    }
}
