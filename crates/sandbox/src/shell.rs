//! The shell protocol: a keeper that owns the stream, a worker that runs the commands, and what becomes of both.

pub(crate) mod absent;
pub(crate) mod capture;
mod channel;
mod control;
mod conversation;
mod deadline;
mod marker;
pub(crate) mod once;
mod patience;
mod renewal;
mod restart;
mod room;
mod script;
mod session;
mod upkeep;

use std::sync::Arc;
use std::time::Duration;

pub use capture::{Kept, Spool};
pub use session::Shell;

use crate::error::Error;
use crate::place::{Place, Processes};
use control::Control;
pub(crate) use conversation::GRACE;

/// Names the sender of what is said on a stream that hostile programs write to as well.
pub(crate) fn nonce() -> String {
    format!("{:016x}{:08x}", fastrand::u64(..), fastrand::u32(..))
}

/// By what means the commands of a place are ended.
#[derive(Clone)]
pub(crate) enum Means {
    /// By signals from the host.
    Host,
    /// By a shell inside.
    Inside(Arc<Control>),
}

impl Means {
    pub(crate) fn of(place: &Arc<dyn Place>) -> Self {
        match place.processes() {
            Processes::HostTree => Self::Host,
            Processes::Inside => Self::Inside(Arc::new(Control::new(Arc::clone(place)))),
        }
    }

    /// Makes them ready, before there is anything to be ended. The place's first program has to be open already.
    pub(crate) async fn open(&self) -> Result<(), Error> {
        match self {
            Self::Host => Ok(()),
            Self::Inside(control) => control.open().await,
        }
    }

    pub(crate) async fn close(&self) {
        if let Self::Inside(control) = self {
            control.close().await;
        }
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this exit code (128 + n for signal n).
    Exited(i32),
    /// The shell itself ended with this status; it was started again.
    ShellEnded(i32),
    /// Killed at its deadline.
    TimedOut,
    /// Killed since nothing was printed for too long.
    Idle,
    /// Killed since it printed too much.
    OutputLimit,
    /// Killed on request.
    Cancelled,
}

/// Bounds of one command.
#[derive(Debug, Clone, Copy)]
pub struct RunOptions {
    /// How long it may take.
    pub timeout: Duration,
    /// How long it may print nothing, `None` for as long as it likes.
    pub idle: Option<Duration>,
    /// Bytes after which it is killed.
    pub max_output: u64,
    /// What is kept of its output.
    pub kept: Kept,
}

impl Default for RunOptions {
    /// 120 s, no idle limit, 256 MiB printed, 64 KiB kept in memory and 16 MiB in a file.
    fn default() -> Self {
        Self {
            timeout: Duration::from_mins(2),
            idle: None,
            max_output: 256 << 20,
            kept: Kept {
                memory: 64 << 10,
                stored: 16 << 20,
            },
        }
    }
}

/// What a command printed (standard output and error in order) and how it ended.
#[derive(Debug)]
pub struct Captured {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes, where there are more than `head` holds; empty otherwise.
    pub tail: Vec<u8>,
    /// Bytes printed in all.
    pub total: u64,
    /// Hexadecimal SHA-256 of all that was printed.
    pub sha256: String,
    /// The stored bytes, where memory does not hold everything.
    pub spool: Option<Spool>,
    /// How it ended.
    pub end: End,
    /// Text for the model about a shell that had to be restarted: what was kept and what was lost.
    pub shell_note: Option<String>,
    /// How long it took.
    pub elapsed: Duration,
}

impl Captured {
    fn new(
        finished: capture::Finished,
        end: End,
        shell_note: Option<String>,
        elapsed: Duration,
    ) -> Self {
        Self {
            head: finished.head,
            tail: finished.tail,
            total: finished.total,
            sha256: finished.sha256,
            spool: finished.spool,
            end,
            shell_note,
            elapsed,
        }
    }

    /// Whether memory holds the whole output, in `head`.
    pub fn is_whole(&self) -> bool {
        self.total == self.head.len() as u64
    }
}
