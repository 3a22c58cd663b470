//! This process's terminal, handed to a shell elsewhere: each key goes there as it is typed, and all is as before at the end.

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::pin::pin;

use rustix::fs::OFlags;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use sandbox::place::Ended;
use sandbox::place::terminal::{Size, Terminal};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::signal::unix::{SignalKind, signal};

/// Bytes that are moved at once.
const PIECE: usize = 16 << 10;

/// Whether people can type here and see what is shown.
pub fn is_there() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// The terminal, raw until this is dropped.
pub struct Raw {
    terminal: File,
    before: Termios,
}

/// Why a visit came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The shell ended.
    Shell(Ended),
    /// This process was told to end by this signal.
    Signal(i32),
}

impl Raw {
    /// Takes the terminal.
    ///
    /// # Errors
    /// When there is none.
    pub fn take() -> io::Result<Self> {
        let terminal = open()?;
        let before = tcgetattr(&terminal)?;
        let mut raw = before.clone();
        raw.make_raw();
        let taken = Self { terminal, before };
        tcsetattr(&taken.terminal, OptionalActions::Drain, &raw)?;
        Ok(taken)
    }

    /// Moves bytes both ways until the shell ends, or this process is told to.
    ///
    /// # Errors
    /// When the terminal or the shell's stream breaks.
    pub async fn hand_to(&self, shell: Terminal) -> io::Result<End> {
        let Terminal {
            input,
            output,
            sizes,
            mut ended,
        } = shell;
        let mut sized = signal(SignalKind::window_change())?;
        let mut ends = [
            signal(SignalKind::hangup())?,
            signal(SignalKind::terminate())?,
        ];
        let [hung_up, terminated] = &mut ends;
        // Each goes on while the others wait: a shell that takes no keys is still shown, and can be left.
        let mut typing = pin!(typing(open()?, input));
        let mut showing = pin!(showing(output, open()?));
        let mut sizing = pin!(async {
            while sized.recv().await.is_some() {
                sizes.resize(self.size()).await;
            }
        });
        let (mut is_typing, mut is_showing, mut is_sizing) = (true, true, true);
        loop {
            tokio::select! {
                typed = &mut typing, if is_typing => {
                    typed?;
                    is_typing = false;
                }
                shown = &mut showing, if is_showing => {
                    shown?;
                    is_showing = false;
                }
                () = &mut sizing, if is_sizing => is_sizing = false,
                _ = hung_up.recv() => return Ok(End::Signal(1)),
                _ = terminated.recv() => return Ok(End::Signal(15)),
                ended = &mut ended, if !is_showing => return Ok(End::Shell(ended)),
            }
        }
    }

    fn size(&self) -> Size {
        size_of(&self.terminal)
    }
}

/// Sends what is typed until one side ends. A shell that is gone takes nothing more, and says so by its end.
async fn typing(terminal: File, mut input: impl AsyncWrite + Unpin) -> io::Result<()> {
    // A terminal is waited for as a pipe is.
    let mut keys = Receiver::from_file_unchecked(terminal)?;
    let mut typed = vec![0; PIECE];
    loop {
        let length = keys.read(&mut typed).await?;
        let sent = async {
            input.write_all(&typed[..length]).await?;
            input.flush().await
        };
        if length == 0 || sent.await.is_err() {
            return Ok(());
        }
    }
}

/// Shows what the shell says until it says no more.
async fn showing(mut output: impl AsyncRead + Unpin, terminal: File) -> io::Result<()> {
    let mut screen = Sender::from_file_unchecked(terminal)?;
    let mut shown = vec![0; PIECE];
    loop {
        match output.read(&mut shown).await {
            Ok(0) | Err(_) => return Ok(()),
            Ok(length) => screen.write_all(&shown[..length]).await?,
        }
    }
}

/// Size of the terminal.
///
/// # Errors
/// When there is none.
pub fn size() -> io::Result<Size> {
    open().map(size_of)
}

/// Opens the terminal as a description of its own: what is set here concerns no other program.
fn open() -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    File::options()
        .read(true)
        .write(true)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
        .open("/dev/tty")
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

fn size_of(terminal: impl AsFd) -> Size {
    match tcgetwinsize(terminal) {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => Size {
            rows: size.ws_row,
            columns: size.ws_col,
        },
        _ => Size {
            rows: 24,
            columns: 80,
        },
    }
}
