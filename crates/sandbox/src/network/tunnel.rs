//! A listener inside a place, and the stream by which its connections come here; opened again when something ends it.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::session::{self, Service};
use super::streams::{CONNECTIONS, WINDOW};
use crate::error::Error;
use crate::place::{Channel, Launch, Place, PlaceState};
use crate::shell;

/// How long a listener may take to be there.
const OPEN: Duration = Duration::from_secs(30);
/// Time between two openings, at first and at most; somebody inside may kill each at once.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The most where even the opening fails: each costs the engine an exec.
const LONGEST_FAILING: Duration = Duration::from_mins(1);
/// Bytes that may come before its first words: what else is said is not its own.
const GREETING: usize = 16 << 10;

const OPENER: &str = include_str!("open.sh");
const PYTHON: &str = include_str!("listener.py");
const PERL: &str = include_str!("listener.pl");

/// What the listener is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Interpreter {
    /// `python3`.
    #[serde(rename = "python3")]
    Python,
    /// `perl`.
    #[serde(rename = "perl")]
    Perl,
}

/// A door in a place, on 127.0.0.1, that leads to a [`Service`] of the runner. It is closed when it is dropped.
pub struct Tunnel {
    interpreter: Interpreter,
    /// Keeps it open.
    keeper: Mutex<JoinSet<()>>,
}

impl Tunnel {
    /// Opens the door at `port`. The first program of the place has to be open already, and the tunnel has to be closed before the place is
    /// stopped: else it would start it again.
    ///
    /// # Errors
    /// `Unsupported` when the image has nothing that can listen, `Lost` when nothing can be started in the place.
    pub async fn open(
        place: Arc<dyn Place>,
        port: u16,
        service: Arc<dyn Service>,
    ) -> Result<Self, Error> {
        let door = Door { place, port };
        let listener = door.listen().await?;
        let interpreter = listener.interpreter;
        let mut keeper = JoinSet::new();
        keeper.spawn(keep(door, listener, service));
        Ok(Self {
            interpreter,
            keeper: Mutex::new(keeper),
        })
    }

    /// What the listener is written in.
    pub fn interpreter(&self) -> Interpreter {
        self.interpreter
    }

    /// Closes the door and ends all connections.
    pub async fn close(&self) {
        self.keeper.lock().await.shutdown().await;
    }
}

struct Door {
    place: Arc<dyn Place>,
    port: u16,
}

struct Listener {
    channel: Channel,
    /// What came after its greeting.
    begun: BytesMut,
    interpreter: Interpreter,
}

impl Door {
    async fn listen(&self) -> Result<Listener, Error> {
        let operation = || format!("open a way out of the sandbox {}", self.place.id().0);
        match timeout(OPEN, self.started()).await {
            Ok(Ok(listener)) => Ok(listener),
            Ok(Err(Closed::Place(error))) => Err(error),
            Ok(Err(Closed::Missing)) => Err(Error::Unsupported {
                message: String::from(
                    "--network allow=… needs python3 or perl in the image, for the listener that takes connections out, and the image has neither: use an image with one of them, `--network none` or `--network full`",
                ),
            }),
            Ok(Err(Closed::Said(said))) => Err(Error::lost(operation(), said)),
            Err(late) => Err(Error::lost(operation(), late)),
        }
    }

    async fn started(&self) -> Result<Listener, Closed> {
        let nonce = shell::nonce();
        let numbers = [self.port.to_string(), nonce.clone()];
        let bounds = [WINDOW.to_string(), CONNECTIONS.to_string()];
        let words = ["/bin/sh", "-c", OPENER, "listener", PYTHON, PERL].map(str::to_owned);
        let launch = Launch {
            arguments: words.into_iter().chain(numbers).chain(bounds).collect(),
            directory: Some(String::from("/")),
            lasting: true,
        };
        let mut channel = self.place.open(&launch).await.map_err(Closed::Place)?;
        let mut said = BytesMut::new();
        let mut interpreter = None;
        loop {
            while let Some(end) = memchr::memchr(b'\n', &said) {
                let line = said.split_to(end);
                said.advance(1);
                let line = String::from_utf8_lossy(&line);
                match line.trim_end().strip_prefix(&nonce).map(str::trim_start) {
                    Some("python3") => interpreter = Some(Interpreter::Python),
                    Some("perl") => interpreter = Some(Interpreter::Perl),
                    Some("missing") => return Err(Closed::Missing),
                    Some("ready") => {
                        let interpreter = interpreter.unwrap_or(Interpreter::Python);
                        return Ok(Listener {
                            channel,
                            begun: said,
                            interpreter,
                        });
                    }
                    Some(problem) => return Err(Closed::Said(problem.to_owned())),
                    // Some images say something whenever a program starts.
                    None => {}
                }
            }
            let read = channel.output.read_buf(&mut said).await;
            let ended = read.map_err(|error| Closed::Said(error.to_string()))? == 0;
            if ended || said.len() > GREETING {
                let said = String::from_utf8_lossy(&said[..said.len().min(200)]).into_owned();
                return Err(Closed::Said(format!("the listener did not start: {said}")));
            }
        }
    }

    /// Whether nothing can be opened in the place any more.
    async fn is_gone(&self) -> bool {
        match self.place.state().await {
            Ok(PlaceState::Exited { .. } | PlaceState::Gone) => true,
            Ok(PlaceState::Running | PlaceState::Paused) | Err(_) => false,
        }
    }
}

/// Why there is no listener.
enum Closed {
    Place(Error),
    Missing,
    Said(String),
}

/// The time until the next opening, after one that came off or failed.
fn longer(pause: Duration, failed: bool) -> Duration {
    let most = if failed {
        LONGEST_FAILING
    } else {
        LONGEST_PAUSE
    };
    (pause * 2).min(most)
}

/// Carries connections, and opens the door again, until the place is gone, nothing in it can listen any more, or somebody stops it.
async fn keep(door: Door, first: Listener, service: Arc<dyn Service>) {
    let mut listener = Some(first);
    let mut pause = PAUSE;
    loop {
        if let Some(Listener { channel, begun, .. }) = listener.take() {
            let opened = Instant::now();
            let Channel {
                mut input,
                output,
                guard,
                ..
            } = channel;
            let error = session::carry(output, &mut input, begun, &service).await;
            let _ = input.shutdown().await;
            drop(guard);
            tracing::debug!(sandbox = door.place.id().0, %error, "the way out of a sandbox was closed");
            if opened.elapsed() > 4 * LONGEST_PAUSE {
                pause = PAUSE;
            }
        }
        sleep(pause).await;
        if door.is_gone().await {
            return;
        }
        match door.listen().await {
            Ok(opened) => {
                listener = Some(opened);
                pause = longer(pause, false);
            }
            Err(error) if error.is_hopeless() => {
                tracing::info!(sandbox = door.place.id().0, %error, "the way out of a sandbox is closed for good");
                return;
            }
            Err(error) => {
                pause = longer(pause, true);
                tracing::debug!(sandbox = door.place.id().0, %error, "the way out of a sandbox stays closed");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_door_that_cannot_be_opened_is_tried_ever_more_rarely() {
        let after = |pause, times, failed| (0..times).fold(pause, |pause, _| longer(pause, failed));
        assert_eq!(after(PAUSE, 20, false), LONGEST_PAUSE);
        assert_eq!(after(PAUSE, 5, true), 32 * PAUSE);
        assert_eq!(after(PAUSE, 20, true), LONGEST_FAILING);
        assert_eq!(after(LONGEST_FAILING, 1, false), LONGEST_PAUSE);
    }
}
