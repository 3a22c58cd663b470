//! The persistent shell: one command after the other, restarted when it dies, with what can be kept of its state.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::capture::Capture;
use super::channel::{Connection, Incoming};
use super::control::Target;
use super::conversation::{Answer, Conversation, DRAIN};
use super::marker::Marker;
use super::renewal::{NO_PROCESS, Turn, clear};
use super::room::{self, Room};
use super::{Captured, End, Means, RunOptions, absent, once};
use crate::error::Error;
use crate::place::Place;

/// What shells and others say of a `fork` that failed.
const NO_PROCESS_WORDS: [&[u8]; 3] = [
    b"annot fork",
    b"an't fork",
    b"Resource temporarily unavailable",
];

/// Text for the model when the shell died before the command began.
const NOT_STARTED: &str = "The shell had ended before this command could start, so it was not run.";
/// Text for the model when everything had to be ended to get a new shell.
pub(super) const NO_PROCESS_LEFT: &str =
    "No process could be started any more, so everything that ran in the background was ended.";

/// A persistent shell in a place, and programs beside it.
pub struct Shell {
    pub(super) place: Arc<dyn Place>,
    pub(super) means: Means,
    spool: PathBuf,
    slot: Mutex<Slot>,
}

#[derive(Default)]
pub(super) struct Slot {
    pub(super) connection: Option<Connection>,
    /// Since when a command runs that nobody has seen the end of.
    pub(super) busy: Option<u64>,
    /// Whether there has been a shell.
    used: bool,
    /// Whether only a plain one is wanted.
    pub(super) plain: bool,
    /// Whether the place has had a shell, this one or another.
    pub(super) turn: Turn,
    /// The last command that was seen to its end: its state is restored into the next shell.
    pub(super) saved: Option<u64>,
    /// What came instead of a shell, where none starts any more; or where none did the last time, while the turn is [`Turn::Again`].
    pub(super) absent: Option<String>,
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
        Self::new(place, means, Slot::default())
    }

    /// Another shell in the same place, once the first is open. It runs as little of what the place holds as it can.
    pub(crate) fn beside(&self) -> Self {
        let slot = Slot {
            plain: true,
            turn: Turn::Later,
            ..Slot::default()
        };
        Self::new(Arc::clone(&self.place), self.means.clone(), slot)
    }

    fn new(place: Arc<dyn Place>, means: Means, slot: Slot) -> Self {
        let spool = place.private_directory();
        Self {
            place,
            means,
            spool,
            slot: Mutex::new(slot),
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

    /// Runs text and returns what it printed. When the future is dropped, the command is ended before the next one starts. Where no shell starts any
    /// more in a place that is still there, that is what the command "printed", with the exit code of a program that is not found.
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
        let mut earlier = match self.ready(slot).await {
            Ok(note) => note,
            Err(Error::NotStarted { said }) => {
                slot.absent = Some(said.clone());
                return Ok(absent::captured(
                    &said,
                    slot.turn,
                    options,
                    &self.spool,
                    started.elapsed(),
                ));
            }
            Err(error) => return Err(error),
        };
        let mut room = Room::default();
        loop {
            let Some(connection) = slot.connection.as_mut() else {
                let said = slot.absent.clone().unwrap_or_default();
                return Ok(absent::captured(
                    &said,
                    slot.turn,
                    options,
                    &self.spool,
                    started.elapsed(),
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
                urgent: room.is_had(&self.means),
            };
            let answer = conversation.hold(text).await;
            let ended_by = conversation.ended_by;
            let starved = capture.mentions(&NO_PROCESS_WORDS);
            let (status_end, note) = self.settle(slot, answer, starved).await?;
            slot.busy = None;
            if ended_by.is_none() && room.is_looked_for(answer) {
                earlier = note.or(earlier);
                if matches!(answer, Answer::Growing) {
                    sleep(room::LOOK).await;
                }
                continue;
            }
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
    pub(super) fn ticks(&self, connection: &Connection) -> u64 {
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
        let (end, renewed) = match answer {
            Answer::Ended(status) => {
                slot.saved = slot.connection.as_ref().map(Connection::sequence);
                let note = if starved && self.is_crowded(slot.others()).await {
                    Some(self.make_room(slot).await?)
                } else {
                    None
                };
                return Ok((End::Exited(status), note));
            }
            Answer::Full => return Ok((End::Exited(0), Some(self.make_room(slot).await?))),
            Answer::Growing => return Ok((End::Exited(0), None)),
            Answer::Dead { status, .. } => {
                let crowded =
                    status == NO_PROCESS || starved && self.is_crowded(slot.others()).await;
                (End::ShellEnded(status), self.renewed(slot, crowded).await)
            }
            Answer::Closed { .. } => (End::ShellEnded(137), self.reopen(slot).await),
        };
        let note = noted(slot, renewed)?;
        let note = if answer.is_before_start() {
            format!("{NOT_STARTED} {note}")
        } else {
            note
        };
        Ok((end, Some(note)))
    }

    /// Ends everything and starts a new shell, which shows that a process can be started again; returns the text for the model.
    async fn make_room(&self, slot: &mut Slot) -> Result<String, Error> {
        let renewed = if self.abort(slot, 0).await {
            self.renewed(slot, false).await
        } else {
            // Its keeper may have been too busy to tell of it; a new one needs processes, too.
            slot.connection = None;
            clear(&self.means, Vec::new()).await;
            self.reopen(slot).await
        };
        let note = noted(slot, renewed)?;
        Ok(format!("{NO_PROCESS_LEFT} {note}"))
    }

    /// Makes sure of a worker that waits for a request; returns the text for the model when that took a restart.
    async fn ready(&self, slot: &mut Slot) -> Result<Option<String>, Error> {
        if let Some(said) = slot.absent.clone()
            && slot.turn != Turn::Again
        {
            return Err(self.lost(Error::NotStarted { said }).await);
        }
        let Some(since) = slot.busy else {
            if slot.connection.is_some() {
                return Ok(None);
            }
            let used = std::mem::replace(&mut slot.used, true);
            let note = self.reopen(slot).await?;
            return Ok(used.then_some(note));
        };
        // A future that was dropped left the stream in the middle of something.
        let note = if self.abort(slot, since).await {
            self.renewed(slot, false).await?
        } else {
            self.reopen(slot).await?
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
        let ending = control.end(&target);
        match select(pin!(ending), pin!(told)).await {
            Either::Left((ended, told)) => {
                ended.is_ok() && timeout(DRAIN, told).await.unwrap_or(false)
            }
            Either::Right((told, ending)) => ending.await.is_ok() && told,
        }
    }

    /// Whether so many processes run beside a shell's own that there may be no room for another.
    async fn is_crowded(&self, others: Option<Target>) -> bool {
        let (Means::Inside(control), Some(others)) = (&self.means, others) else {
            return false;
        };
        control.is_crowded(&others).await.unwrap_or(true)
    }
}

/// The text for the model after a shell's end. That none starts any more, or none answers, is no failure here: what the command printed is still an answer.
fn noted(slot: &mut Slot, renewed: Result<String, Error>) -> Result<String, Error> {
    match renewed {
        Err(Error::NotStarted { said }) => {
            slot.connection = None;
            let note = absent::told(&said, slot.turn);
            slot.absent = Some(said);
            Ok(note)
        }
        renewed => renewed,
    }
}
