//! The persistent shell: one command after the other, restarted when it dies, with what can be kept of its state.

use std::path::PathBuf;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::capture::Capture;
use super::conversation::{Answer, Conversation, GRACE};
use super::patience::Patience;
use super::renewal::clear;
use super::room::{self, Room};
use super::upkeep::{News, Slot, Upkeep, Work};
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
/// Text for the model when the shell was not there before the command's deadline.
const NOT_READY: &str =
    "This command was not run: no shell was ready for it in time. The next command waits for one.";
/// Text for the model when there was no time left to wait for the next shell.
const UNDER_WAY: &str = "The shell is being restarted; the next command waits for it.";

/// A persistent shell in a place, and programs beside it.
pub struct Shell {
    upkeep: Upkeep,
    spool: PathBuf,
    slot: Arc<Mutex<Slot>>,
    /// What is done for the next command, by whoever waits for it or by nobody.
    works: Lock<JoinSet<()>>,
}

/// The shell for one command, and the text for the model where it is another than before.
type Had = (OwnedMutexGuard<Slot>, Option<String>);

impl Shell {
    /// A shell that is not open yet. The first of a place has to be opened before anything else is run in that place.
    pub fn of(place: Arc<dyn Place>) -> Self {
        let means = Means::of(&place);
        Self::new(Upkeep { place, means }, Slot::default())
    }

    /// Another shell in the same place, once the first is open. It runs as little of what the place holds as it can.
    pub(crate) fn beside(&self) -> Self {
        Self::new(self.upkeep.clone(), Slot::beside())
    }

    fn new(upkeep: Upkeep, slot: Slot) -> Self {
        Self {
            spool: upkeep.place.private_directory(),
            upkeep,
            slot: Arc::new(Mutex::new(slot)),
            works: Lock::default(),
        }
    }

    /// Opens the shell, so that the first command finds it ready, and what ends its commands.
    ///
    /// # Errors
    /// When no shell can be had.
    pub async fn open(&self) -> Result<(), Error> {
        self.upkeep.ready(&mut *self.slot.lock().await).await?;
        self.upkeep.means.open().await
    }

    /// Lets the shell and all it started go. The next command opens a new one.
    pub async fn close(&self) {
        // Nothing is to be started any more while everything is ended.
        let mut works = std::mem::take(&mut *self.works());
        works.shutdown().await;
        self.upkeep.means.close().await;
        let mut slot = self.slot.lock().await;
        slot.connection = None;
        slot.busy = None;
        slot.news = None;
    }

    /// Ends everything in a place with processes of its own but what ends them; whether that was done. The next command opens a new shell.
    pub(crate) async fn clear(&self) -> bool {
        let mut slot = self.slot.lock().await;
        let Some(connection) = slot.connection.take() else {
            return false;
        };
        slot.busy = None;
        clear(&self.upkeep.means, connection.spared).await
    }

    /// Runs text and returns what it printed. When the future is dropped, the command is ended before the next one starts. Where no shell starts any
    /// more in a place that is still there, that is what the command "printed", with the exit code of a program that is not found.
    ///
    /// It takes at most 2 s longer than its deadline, whatever has become of the shell: what is to be done for the next one goes on by itself.
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
        let deadline = started + options.timeout;
        let before = Patience {
            until: deadline,
            cancel,
        };
        let after = Patience {
            until: deadline + GRACE,
            cancel,
        };
        let (mut slot, mut earlier) = match self.had(before, Want::Shell).await {
            Ok(had) => had?,
            Err(end) => return Ok(self.unstarted(end, options, started)),
        };
        let mut room = Room::default();
        loop {
            let slot_of_command = &mut *slot;
            let Some(connection) = slot_of_command.connection.as_mut() else {
                let said = slot.absent.clone().unwrap_or_default();
                return Ok(absent::captured(
                    &said,
                    slot.turn,
                    options,
                    &self.spool,
                    started.elapsed(),
                ));
            };
            let since = self.upkeep.ticks(connection);
            slot_of_command.busy = Some(since);
            let mut capture = Capture::new(options.kept, &self.spool);
            let mut conversation = Conversation {
                connection,
                capture: &mut capture,
                options,
                cancel,
                started,
                since,
                means: &self.upkeep.means,
                ended_by: None,
                urgent: room.is_had(&self.upkeep.means),
            };
            let answer = conversation.hold(text).await;
            let ended_by = conversation.ended_by;
            let starved = capture.mentions(&NO_PROCESS_WORDS);
            let settled = self.settled(slot, answer, starved, after).await;
            let (end, note, next) = match settled {
                Ok(had) => {
                    let (slot, note) = had?;
                    (ended_by.unwrap_or(answer.end()), note, Some(slot))
                }
                Err(late) if answer.is_before_start() => (ended_by.unwrap_or(late), None, None),
                Err(_) => {
                    let note = Some(UNDER_WAY.to_owned());
                    (ended_by.unwrap_or(answer.end()), note, None)
                }
            };
            if let Some(next) = next
                && ended_by.is_none()
                // A worker that died while it waited never saw the command: that one case is worth one more try.
                && (room.is_looked_for(answer) || answer.is_before_start() && earlier.is_none())
            {
                earlier = note.or(earlier);
                if matches!(answer, Answer::Growing) {
                    sleep(room::LOOK).await;
                }
                slot = next;
                continue;
            }
            let note = match note {
                Some(note) if answer.is_before_start() => Some(format!("{NOT_STARTED} {note}")),
                None if answer.is_before_start() => Some(NOT_READY.to_owned()),
                note => note.or(earlier),
            };
            return Ok(Captured::new(
                capture.finish(),
                end,
                note,
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
        let Upkeep { place, means } = &self.upkeep;
        once::run(place.as_ref(), means, text, options, cancel).await
    }

    /// How many kills for memory the kernel has counted in the place, where it says within `limit`.
    pub(crate) async fn memory_kills(&self, limit: Duration) -> Option<u64> {
        match &self.upkeep.means {
            Means::Host => None,
            Means::Inside(control) => timeout(limit, control.memory_kills()).await.ok()?,
        }
    }

    /// Waits for the shell, which is started where it is not there; how the command ends that has no time for that.
    async fn had(&self, patience: Patience<'_>, mut want: Want) -> Result<Result<Had, Error>, End> {
        let asked = Instant::now();
        let mut told = None;
        loop {
            let lock = Arc::clone(&self.slot).lock_owned();
            let mut slot = patience.wait(lock).await?;
            match slot.news.take() {
                None => {}
                Some(News { note: Ok(note), .. }) => told = note.or(told),
                // What failed before may work by now.
                Some(News { at, note: Err(_) }) if want == Want::Shell && at < asked => {}
                Some(News {
                    note: Err(error), ..
                }) => return Ok(Err(error)),
            }
            if slot.is_at_rest() || want == Want::News && slot.absent.is_some() {
                return Ok(Ok((slot, told)));
            }
            want = Want::News;
            self.begin(slot, Work::Ready);
        }
    }

    /// Sees to what an answer left behind.
    async fn settled(
        &self,
        mut slot: OwnedMutexGuard<Slot>,
        answer: Answer,
        starved: bool,
        patience: Patience<'_>,
    ) -> Result<Result<Had, Error>, End> {
        match answer {
            Answer::Ended(_) if !starved => slot.keep_state(),
            Answer::Growing => {}
            Answer::Ended(_) | Answer::Dead { .. } | Answer::Full | Answer::Closed { .. } => {
                self.begin(slot, Work::Settle { answer, starved });
                return self.had(patience, Want::News).await;
            }
        }
        slot.busy = None;
        Ok(Ok((slot, None)))
    }

    /// Does something for the shell that goes on when nobody waits for it any more.
    fn begin(&self, mut slot: OwnedMutexGuard<Slot>, work: Work) {
        let upkeep = self.upkeep.clone();
        let mut works = self.works();
        while works.try_join_next().is_some() {}
        works.spawn(async move { upkeep.work(&mut slot, work).await });
    }

    fn works(&self) -> std::sync::MutexGuard<'_, JoinSet<()>> {
        self.works.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of a command that never began.
    fn unstarted(&self, end: End, options: &RunOptions, started: Instant) -> Captured {
        let nothing = Capture::new(options.kept, &self.spool).finish();
        let note = Some(NOT_READY.to_owned());
        Captured::new(nothing, end, note, started.elapsed())
    }
}

/// What somebody waits for who waits for a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    /// A shell, by all means.
    Shell,
    /// What comes of something that was begun for it.
    News,
}
