//! The persistent shell: one command after the other, restarted when it dies, with what can be kept of its state.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::capture::Capture;
use super::channel::{Connection, Incoming};
use super::control::Target;
use super::conversation::{Answer, Conversation, DRAIN};
use super::marker::Marker;
use super::renewal::{FRESH, NO_PROCESS, clear, restore, wait_for_up};
use super::script;
use super::{Captured, End, Means, RunOptions, once};
use crate::error::{Cause, Error};
use crate::place::{Place, PlaceState};

/// How long a place that lost a shell may take to say what has become of it.
const STATE: Duration = Duration::from_secs(2);
/// What shells and others say of a `fork` that failed.
const NO_PROCESS_WORDS: [&[u8]; 3] = [
    b"annot fork",
    b"an't fork",
    b"Resource temporarily unavailable",
];

/// Text for the model when the shell died before the command began.
const NOT_STARTED: &str = "The shell had ended before this command could start, so it was not run.";
/// Text for the model when everything had to be ended to get a new shell.
const NO_PROCESS_LEFT: &str =
    "No process could be started any more, so everything that ran in the background was ended.";

/// A persistent shell in a place, and programs beside it.
pub struct Shell {
    place: Arc<dyn Place>,
    means: Means,
    spool: PathBuf,
    slot: Mutex<Slot>,
}

#[derive(Default)]
struct Slot {
    connection: Option<Connection>,
    /// Since when a command runs that nobody has seen the end of.
    busy: Option<u64>,
    /// Whether there has been a shell.
    used: bool,
    /// The last command that was seen to its end: its state is restored into the next shell.
    saved: Option<u64>,
}

impl Slot {
    /// All processes but the shell's own.
    fn others(&self) -> Option<Target> {
        self.connection.as_ref().map(|connection| Target {
            worker: connection.worker,
            spared: connection.spared.clone(),
            ..Target::default()
        })
    }
}

impl Shell {
    /// A shell that is not open yet. The first of a place has to be opened before anything else is run in that place.
    pub fn of(place: Arc<dyn Place>) -> Self {
        let means = Means::of(&place);
        Self::new(place, means)
    }

    /// Another shell in the same place.
    pub(crate) fn beside(&self) -> Self {
        Self::new(Arc::clone(&self.place), self.means.clone())
    }

    fn new(place: Arc<dyn Place>, means: Means) -> Self {
        let spool = place.private_directory();
        Self {
            place,
            means,
            spool,
            slot: Mutex::default(),
        }
    }

    /// Opens the shell, so that the first command finds it ready, and what ends its commands.
    ///
    /// # Errors
    /// When no shell can be had.
    pub async fn open(&self) -> Result<(), Error> {
        self.ready(&mut *self.slot.lock().await).await?;
        self.means.open().await
    }

    /// Lets the shell and all it started go. The next command opens a new one.
    pub async fn close(&self) {
        self.means.close().await;
        let mut slot = self.slot.lock().await;
        slot.connection = None;
        slot.busy = None;
    }

    /// Runs text and returns what it printed. When the future is dropped, the command is ended before the next one starts.
    ///
    /// # Errors
    /// `Refused` when the text cannot be run at all, `Lost` when no shell can be had.
    pub async fn run(
        &self,
        text: &str,
        options: &RunOptions,
        cancel: &CancellationToken,
    ) -> Result<Captured, Error> {
        if text.contains('\0') {
            return Err(Error::Refused(String::from(
                "a command cannot hold a NUL character",
            )));
        }
        let started = Instant::now();
        let mut guard = self.slot.lock().await;
        let slot = &mut *guard;
        let mut earlier = self.ready(slot).await?;
        loop {
            let Some(connection) = slot.connection.as_mut() else {
                return Err(Error::lost(
                    "reach the shell",
                    std::io::Error::from(std::io::ErrorKind::NotConnected),
                ));
            };
            let since = self.ticks(connection);
            slot.busy = Some(since);
            let mut capture = Capture::new(options.kept, &self.spool);
            let mut conversation = Conversation {
                connection,
                capture: &mut capture,
                options,
                cancel,
                started,
                since,
                means: &self.means,
                ended_by: None,
            };
            let answer = conversation.hold(text).await;
            let ended_by = conversation.ended_by;
            let starved = answer.is_failure() && capture.mentions(&NO_PROCESS_WORDS);
            let (status_end, note) = self.settle(slot, answer, starved).await?;
            slot.busy = None;
            // A worker that died while it waited never saw the command: that one case is worth one more try.
            if answer.is_before_start() && ended_by.is_none() && earlier.is_none() {
                earlier = note;
                continue;
            }
            return Ok(Captured::new(
                capture.finish(),
                ended_by.unwrap_or(status_end),
                note.or(earlier),
                started.elapsed(),
            ));
        }
    }

    /// Runs text in a fresh process in the repository's directory. Whatever it leaves running is ended with it.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub async fn run_apart(
        &self,
        text: &str,
        options: &RunOptions,
        cancel: &CancellationToken,
    ) -> Result<Captured, Error> {
        once::run(self.place.as_ref(), &self.means, text, options, cancel).await
    }

    /// The present, by the clock that dates the place's processes.
    fn ticks(&self, connection: &Connection) -> u64 {
        match &self.means {
            Means::Host => connection.ticks(),
            Means::Inside(control) => control.ticks(),
        }
    }

    /// After the answer the shell is ready again, or the next command opens a new one.
    async fn settle(
        &self,
        slot: &mut Slot,
        answer: Answer,
        starved: bool,
    ) -> Result<(End, Option<String>), Error> {
        let (end, mut note) = match answer {
            Answer::Ended(status) => {
                slot.saved = slot.connection.as_ref().map(Connection::sequence);
                if !starved || !self.is_crowded(slot.others()).await || !self.abort(slot, 0).await {
                    return Ok((End::Exited(status), None));
                }
                let note = self.renewed(slot, false).await?;
                return Ok((
                    End::Exited(status),
                    Some(format!("{NO_PROCESS_LEFT} {note}")),
                ));
            }
            Answer::Dead { status, .. } => {
                let crowded =
                    status == NO_PROCESS || starved && self.is_crowded(slot.others()).await;
                (End::ShellEnded(status), self.renewed(slot, crowded).await?)
            }
            Answer::Closed { .. } => (End::ShellEnded(137), self.reopen(slot).await?.to_owned()),
        };
        if answer.is_before_start() {
            note = format!("{NOT_STARTED} {note}");
        }
        Ok((end, Some(note)))
    }

    /// Makes sure of a worker that waits for a request; returns the text for the model when that took a restart.
    async fn ready(&self, slot: &mut Slot) -> Result<Option<String>, Error> {
        let Some(since) = slot.busy else {
            if slot.connection.is_some() {
                return Ok(None);
            }
            let used = slot.used;
            let note = self.reopen(slot).await?;
            return Ok(used.then(|| note.to_owned()));
        };
        // A future that was dropped left the stream in the middle of something.
        let note = if self.abort(slot, since).await {
            self.renewed(slot, false).await?
        } else {
            self.reopen(slot).await?.to_owned()
        };
        slot.busy = None;
        Ok(Some(note))
    }

    /// Ends a command that nobody waits for any more, where that does not take the end of its stream; `true` when the keeper has told it.
    async fn abort(&self, slot: &mut Slot, since: u64) -> bool {
        let (Means::Inside(control), Some(connection)) = (&self.means, slot.connection.as_mut())
        else {
            return false;
        };
        let target = Target {
            worker: connection.worker,
            since,
            spared: connection.spared.clone(),
            interrupt: false,
        };
        let told = async {
            loop {
                match connection.next().await {
                    Ok(Incoming::Marker(Marker::Dead { .. })) => return true,
                    Ok(Incoming::Closed) | Err(_) => return false,
                    Ok(Incoming::Data(_) | Incoming::Marker(_)) => {}
                }
            }
        };
        // What it prints is read meanwhile.
        let (ended, told) = tokio::join!(control.end(&target), timeout(DRAIN, told));
        ended.is_ok() && told.unwrap_or(false)
    }

    /// Whether so many processes run beside a shell's own that there may be no room for another.
    async fn is_crowded(&self, others: Option<Target>) -> bool {
        let (Means::Inside(control), Some(others)) = (&self.means, others) else {
            return false;
        };
        control.is_crowded(&others).await.unwrap_or(true)
    }

    /// A new worker under the same keeper after the end of the last one, else a new channel; returns the text for the model. First everything else
    /// is ended where it leaves no room.
    async fn renewed(&self, slot: &mut Slot, crowded: bool) -> Result<String, Error> {
        let mut cleared = false;
        if let Some(connection) = slot.connection.as_ref()
            && crowded
        {
            cleared = clear(&self.means, connection.spared.clone()).await;
        }
        let note = match self.revive(slot, &mut cleared).await {
            Some(note) => note,
            None => self.reopen(slot).await?,
        };
        Ok(if cleared {
            format!("{NO_PROCESS_LEFT} {note}")
        } else {
            note.to_owned()
        })
    }

    /// Asks the keeper for a new worker and gives it the state that the last one left; `None` when the channel is of no more use.
    async fn revive(&self, slot: &mut Slot, cleared: &mut bool) -> Option<&'static str> {
        let saved = slot.saved.take();
        let connection = slot.connection.as_mut()?;
        connection.worker = None;
        let go = connection.go();
        if connection.send(&go).await.is_err()
            || !wait_for_up(connection, &self.means, cleared).await
        {
            slot.saved = saved;
            return None;
        }
        let Some(saved) = saved else {
            return Some(FRESH);
        };
        let restored = restore(connection, &self.state_file(saved)).await;
        slot.saved = restored.sequence();
        restored.note()
    }

    /// Opens a new channel and restores what the last shell left; returns the text for the model.
    async fn reopen(&self, slot: &mut Slot) -> Result<&'static str, Error> {
        slot.used = true;
        slot.connection = None;
        let mut connection = self.connect().await?;
        let mut note = FRESH;
        if let Some(saved) = slot.saved.take() {
            let restored = restore(&mut connection, &self.state_file(saved)).await;
            slot.saved = restored.sequence();
            match restored.note() {
                Some(told) => note = told,
                None => connection = self.connect().await?,
            }
        }
        slot.busy = None;
        slot.connection = Some(connection);
        Ok(note)
    }

    async fn connect(&self) -> Result<Connection, Error> {
        let error = match Connection::open(self.place.as_ref(), None).await {
            Ok(mut connection) => {
                if wait_for_up(&mut connection, &self.means, &mut false).await {
                    return Ok(connection);
                }
                let late = std::io::Error::from(std::io::ErrorKind::TimedOut);
                Error::lost("start a shell", late)
            }
            Err(error) => error,
        };
        Err(self.lost(error).await)
    }

    fn state_file(&self, saved: u64) -> String {
        script::state_file(self.place.shell_state(), saved)
    }

    /// The error of a shell that could not be had, with what has become of the place where that explains it.
    async fn lost(&self, error: Error) -> Error {
        let cause = match timeout(STATE, self.place.state()).await {
            Ok(Ok(PlaceState::Running) | Err(_)) => return error,
            Ok(Ok(PlaceState::Paused)) => Cause::from("it is paused"),
            Ok(Ok(PlaceState::Gone)) => Cause::from("it has been removed"),
            Ok(Ok(PlaceState::Exited {
                out_of_memory: true,
                ..
            })) => Cause::from("it ran out of memory and was ended"),
            Ok(Ok(PlaceState::Exited { code, .. })) => Cause::from(format!(
                "its main process ended with code {}",
                code.map_or_else(|| String::from("unknown"), |code| code.to_string())
            )),
            Err(late) => Cause::from(late),
        };
        Error::lost("start a shell", cause)
    }
}
