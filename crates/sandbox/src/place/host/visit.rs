//! A shell for people in a place on the host that was kept: as the agent's programs were started, at a terminal of its own.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::pin::Pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::future::BoxFuture;
use pty_process::{Command, OwnedReadPty};
use rustix::termios::Winsize;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, ReadBuf};

use super::{HostPlace, PRIVATE};
use crate::place::Ended;
use crate::place::terminal::{Resize, Size, Terminal, Visit, shell};

/// File in the private directory of a kept place.
const FILE: &str = "visit.json";
/// The wrapper takes the terminal away, so that nothing inside can type at it; here it is one that nobody else has.
const NEW_SESSION: &str = "--new-session";

/// Variable that tells programs which terminal they are at.
const TERMINAL: &str = "TERM";

/// What is kept of a place to start programs in it. It names no variable that the user gave: their values may be secret.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    /// Words before the program.
    wrapper: Vec<String>,
    /// Directory on the host that it is started in.
    directory: String,
    environment: Vec<(String, String)>,
}

impl Kept {
    fn of(place: &HostPlace) -> io::Result<Self> {
        let text = |word: &std::ffi::OsStr| {
            let text = word.to_str().map(str::to_owned);
            text.ok_or_else(|| io::Error::other("a path of it is not UTF-8"))
        };
        let words = match &place.wrapper {
            Some(wrapper) => wrapper(&place.workdir),
            None => Vec::new(),
        };
        let wrapper = words
            .iter()
            .filter(|word| *word != NEW_SESSION)
            .map(|word| text(word));
        let own = place.environment.iter();
        let own = own.filter(|(name, _)| !place.given.contains(name));
        Ok(Self {
            wrapper: wrapper.collect::<Result<_, _>>()?,
            directory: match place.wrapper {
                Some(_) => String::from("/"),
                None => text(place.host_workdir.as_os_str())?,
            },
            environment: own.cloned().collect(),
        })
    }
}

/// Writes down how programs are started in a place.
pub(super) fn remember(place: &HostPlace) -> io::Result<()> {
    let path = place.directory.join(PRIVATE).join(FILE);
    std::fs::write(path, serde_json::to_vec(&Kept::of(place)?)?)
}

/// Opens a shell in a kept place.
pub(super) fn open(directory: &Path, visit: &Visit) -> io::Result<Terminal> {
    let private = directory.join(PRIVATE);
    let file = private.join(FILE);
    for path in [directory, &private, &file] {
        refuse_others(path)?;
    }
    let kept = std::fs::read(file)?;
    let kept: Kept = serde_json::from_slice(&kept)?;
    let (pty, pts) = pty_process::open().map_err(io::Error::other)?;
    pty.resize(pty_process::Size::new(visit.size.rows, visit.size.columns))
        .map_err(io::Error::other)?;
    let words = kept.wrapper.iter().cloned().chain(shell(&visit.init));
    let mut words = words.collect::<Vec<_>>().into_iter();
    let program = words.next().ok_or(io::ErrorKind::InvalidData)?;
    let environment = kept.environment.into_iter().map(|(name, value)| {
        // Also where a program hands it on under a name of its own.
        let value = if name.ends_with(TERMINAL) {
            visit.terminal.clone()
        } else {
            value
        };
        (name, value)
    });
    let mut child = Command::new(program)
        .args(words)
        .env_clear()
        .envs(environment)
        .env(TERMINAL, &visit.terminal)
        .current_dir(kept.directory)
        .kill_on_drop(true)
        .spawn(pts)
        .map_err(io::Error::other)?;
    let sizes = Arc::new(Sizes(pty.as_fd().try_clone_to_owned()?));
    let (shown, typed) = pty.into_split();
    Ok(Terminal {
        input: Box::new(typed),
        output: Box::new(Shown(shown)),
        sizes,
        ended: Box::pin(async move {
            Ended {
                code: child.wait().await.ok().and_then(code),
            }
        }),
    })
}

/// What another user wrote down would be started with this one's rights.
fn refuse_others(path: &Path) -> io::Result<()> {
    let owner = std::fs::symlink_metadata(path)?.uid();
    if owner == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!("`{}` belongs to another user (uid {owner})", path.display()),
    ))
}

fn code(status: ExitStatus) -> Option<i32> {
    let killed = status.signal().map(|signal| 128 + signal);
    status.code().or(killed)
}

/// What the shell shows: its end is an error to read, since nobody has the other side any more.
struct Shown(OwnedReadPty);

impl AsyncRead for Shown {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let gone = rustix::io::Errno::IO.raw_os_error();
        match ready!(Pin::new(&mut self.0).poll_read(context, buffer)) {
            Err(error) if error.raw_os_error() == Some(gone) => Poll::Ready(Ok(())),
            other => Poll::Ready(other),
        }
    }
}

/// The terminal's own side.
struct Sizes(OwnedFd);

impl Resize for Sizes {
    fn resize(&self, size: Size) -> BoxFuture<'_, ()> {
        let size = Winsize {
            ws_row: size.rows,
            ws_col: size.columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let _ = rustix::termios::tcsetwinsize(&self.0, size);
        Box::pin(std::future::ready(()))
    }
}
