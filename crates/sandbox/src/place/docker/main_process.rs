//! The main process of a container, from its first words until the agent's shell takes its place.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncWriteExt, copy_buf};
use tokio::time::timeout;

use super::boot;
use super::channel::{self, Frames, Held, Input, Output, Sink};
use crate::place::{Archive, Channel, Ended, Launch, quoted};

/// How long it may take over something short.
const ANSWER: Duration = Duration::from_secs(20);
/// How long a whole archive may take.
const UNPACK: Duration = Duration::from_mins(10);
/// Longest answer; more is not its own.
const LINE: usize = 4096;
/// Size of the pieces on the way in.
const PIECE: usize = 64 << 10;

/// The streams of a main process that has said who it is, and waits for programs.
pub(super) struct Main {
    frames: Frames,
    sink: Sink,
}

impl Main {
    pub(super) fn new(frames: Frames, sink: Sink) -> Self {
        Self { frames, sink }
    }

    /// Extracts an archive in place of `name` by the image's own `tar`; `false` where it has none, or that failed.
    pub(super) async fn unpack(
        &mut self,
        at: &str,
        name: &str,
        length: u64,
        archive: Archive,
    ) -> io::Result<bool> {
        let (at, name) = (quoted(at), quoted(name));
        let clear = format!(
            "cd -- {at} && command -v cat && command -v head && command -v tar && rm -rf -- {name}"
        );
        self.send(&format!("{{ {clear}; }} >/dev/null 2>&1; echo \"$?\"\n"))
            .await?;
        if self.line(ANSWER).await? != "0" {
            return Ok(false);
        }
        // What `tar` leaves has to be read, or it would be taken for a program.
        let unpack = "{ tar -xopf -; s=$?; cat; [ $s = 0 ]; } >/dev/null 2>&1";
        self.send(&format!("head -c {length} | {unpack}; echo \"$?\"\n"))
            .await?;
        let mut pieces = tokio::io::BufReader::with_capacity(PIECE, archive);
        let sending = async {
            let sent = copy_buf(&mut pieces, &mut self.sink).await?;
            self.sink.flush().await?;
            if sent == length {
                Ok(())
            } else {
                Err(io::Error::from(io::ErrorKind::UnexpectedEof))
            }
        };
        timeout(UNPACK, sending).await??;
        Ok(self.line(UNPACK).await? == "0")
    }

    /// Makes the main process the launched program.
    pub(super) async fn become_program(
        mut self,
        launch: &Launch,
        held: Arc<Held>,
        guard: Box<dyn Send + Sync>,
    ) -> io::Result<Channel> {
        let program = boot::successor(&launch.arguments, launch.directory.as_deref());
        self.sink.write_all(&program).await?;
        self.sink.flush().await?;
        let (output, heard) = Output::new(self.frames, Bytes::new(), &Bytes::new(), true);
        Ok(Channel {
            input: Box::new(Input::held(self.sink, held)),
            output: Box::new(output),
            ended: Box::pin(async move {
                let _ = heard.await;
                Ended { code: None }
            }),
            keeper: None,
            guard,
        })
    }

    async fn send(&mut self, text: &str) -> io::Result<()> {
        let sending = async {
            self.sink.write_all(&boot::program(text)).await?;
            self.sink.flush().await
        };
        timeout(ANSWER, sending).await?
    }

    /// The next line that it says, within `limit`.
    async fn line(&mut self, limit: Duration) -> io::Result<String> {
        let mut said = BytesMut::new();
        let reading = async {
            while !said.ends_with(b"\n") && said.len() < LINE {
                match channel::next(&mut self.frames).await {
                    Some(frame) => said.extend_from_slice(frame?.into_bytes().chunk()),
                    None => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                }
            }
            Ok(String::from_utf8_lossy(&said).trim().to_owned())
        };
        timeout(limit, reading).await?
    }
}
