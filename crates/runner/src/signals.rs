//! Signals that end a run: the first cancels and harvests, the second ends it now.

use std::io;

use tokio::signal::unix::{self, SignalKind};
use tokio::sync::mpsc;

/// A signal that ends a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl Signal {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        }
    }
}

/// Where signals come from.
#[derive(Debug)]
pub enum Signals {
    /// The operating system.
    System {
        /// SIGINT.
        interrupt: unix::Signal,
        /// SIGTERM.
        terminate: unix::Signal,
    },
    /// A caller that plays the user.
    Given(mpsc::Receiver<Signal>),
    /// Nowhere.
    Never,
}

impl Signals {
    /// Takes over SIGINT and SIGTERM of this process.
    ///
    /// # Errors
    /// When a handler cannot be installed.
    pub fn listen() -> io::Result<Self> {
        Ok(Self::System {
            interrupt: unix::signal(SignalKind::interrupt())?,
            terminate: unix::signal(SignalKind::terminate())?,
        })
    }

    /// The next signal, `None` when there will be none.
    pub async fn next(&mut self) -> Option<Signal> {
        match self {
            Self::System {
                interrupt,
                terminate,
            } => tokio::select! {
                received = interrupt.recv() => received.map(|()| Signal::Interrupt),
                received = terminate.recv() => received.map(|()| Signal::Terminate),
            },
            Self::Given(receiver) => receiver.recv().await,
            Self::Never => None,
        }
    }
}
