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
use super::script;
use super::{Captured, End, Means, RunOptions};
use crate::error::{Cause, Error};
use crate::place::{Place, PlaceState};

/// How long a new worker may take to say that it is there.
const UP: Duration = Duration::from_secs(20);
/// How long the internal command that restores the state may take.
const RESTORE: Duration = Duration::from_secs(3);
/// How long a place that lost a shell may take to say what has become of it.
const STATE: Duration = Duration::from_secs(2);
/// What a keeper says when no process was free to start a worker.
const NO_PROCESS: i32 = 254;

/// Text for the model after a restart that kept what it could.
const RESTARTED: &str = "The shell was restarted. Kept: the working directory and exported variables, as they were before this command. \
     Lost: functions, aliases, unexported variables and shell options.";
/// Text for the model after a restart that kept nothing.
const FRESH: &str = "The shell was restarted in the repository's directory. Its earlier state (working directory, variables, functions) is lost.";
/// Text for the model when the shell died before the command began.
const NOT_STARTED: &str = "The shell had ended before this command could start, so it was not run.";
/// Text for the model when everything had to be ended to get a new shell.
const NO_PROCESS_LEFT: &str =
    "No process could be started any more, so everything that ran in the background was ended.";

/// One agent's shell, or one of ours.
pub(crate) struct Shell {
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

impl Shell {
    pub(crate) fn new(place: Arc<dyn Place>, means: Means) -> Self {
        let spool = place.private_directory();
        Self {
            place,
            means,
            spool,
            slot: Mutex::default(),
        }
    }

    /// Opens the channel, so that the first command finds it ready.
    pub(crate) async fn open(&self) -> Result<(), Error> {
        self.ready(&mut *self.slot.lock().await).await.map(drop)
    }

    /// Ends the shell and all it started.
    pub(crate) async fn close(&self) {
        let mut slot = self.slot.lock().await;
        slot.connection = None;
        slot.busy = None;
    }

    /// Runs text and returns what it printed.
    pub(crate) async fn run(
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
            let (status_end, note) = self.settle(slot, answer).await?;
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
    ) -> Result<(End, Option<String>), Error> {
        let (end, mut note) = match answer {
            Answer::Ended(status) => {
                slot.saved = slot.connection.as_ref().map(Connection::sequence);
                return Ok((End::Exited(status), None));
            }
            Answer::Dead { status, .. } => {
                (End::ShellEnded(status), self.renewed(slot, status).await?)
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
            self.renewed(slot, 0).await?
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

    /// A new worker under the same keeper after `dead STATUS`, else a new channel; returns the text for the model.
    async fn renewed(&self, slot: &mut Slot, status: i32) -> Result<String, Error> {
        let mut cleared = false;
        if let Some(connection) = slot.connection.as_ref()
            && status == NO_PROCESS
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

/// What became of the state of a shell that ended.
enum Restored {
    /// The new shell has it, and saved it with this command.
    Whole(u64),
    /// Its file is missing or broken; the new shell is as good as any other.
    Nothing(u64),
    /// The new shell did not survive it.
    Stuck,
}

impl Restored {
    fn sequence(&self) -> Option<u64> {
        match *self {
            Self::Whole(sequence) | Self::Nothing(sequence) => Some(sequence),
            Self::Stuck => None,
        }
    }

    /// Text for the model, where there is a shell.
    fn note(&self) -> Option<&'static str> {
        match self {
            Self::Whole(_) => Some(RESTARTED),
            Self::Nothing(_) => Some(FRESH),
            Self::Stuck => None,
        }
    }
}

/// Ends everything but the keeper, so that a process is free again; `true` where that was possible.
async fn clear(means: &Means, spared: Vec<u32>) -> bool {
    let Means::Inside(control) = means else {
        return false;
    };
    let target = Target {
        spared,
        ..Target::default()
    };
    control.end(&target).await.is_ok()
}

/// Waits for a worker, asking again as long as no process is free.
async fn wait_for_up(connection: &mut Connection, means: &Means, cleared: &mut bool) -> bool {
    let wait = async {
        loop {
            match connection.next().await {
                Ok(Incoming::Marker(Marker::Up { pid })) => {
                    connection.worker = Some(pid);
                    return true;
                }
                Ok(Incoming::Marker(Marker::Keeper { pid, parent })) => {
                    connection.spared = vec![pid, parent];
                }
                Ok(Incoming::Marker(Marker::Dead { status: NO_PROCESS })) => {
                    if *cleared || !clear(means, connection.spared.clone()).await {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    } else {
                        *cleared = true;
                    }
                    let go = connection.go();
                    if connection.send(&go).await.is_err() {
                        return false;
                    }
                }
                Ok(Incoming::Data(_) | Incoming::Marker(_)) => {}
                Ok(Incoming::Closed) | Err(_) => return false,
            }
        }
    };
    timeout(UP, wait).await.unwrap_or(false)
}

/// Sources the state file.
async fn restore(connection: &mut Connection, file: &str) -> Restored {
    let quoted = file.replace('\'', r"'\''");
    let (sequence, request) = connection.request(&format!("command . '{quoted}'"));
    let wait = async {
        if connection.send(&request).await.is_err() {
            return Restored::Stuck;
        }
        loop {
            match connection.next().await {
                Ok(Incoming::Marker(Marker::End {
                    sequence: of,
                    status,
                })) if of == sequence => {
                    return if status == 0 {
                        Restored::Whole(sequence)
                    } else {
                        Restored::Nothing(sequence)
                    };
                }
                Ok(Incoming::Marker(Marker::Dead { .. }) | Incoming::Closed) | Err(_) => {
                    return Restored::Stuck;
                }
                Ok(Incoming::Data(_) | Incoming::Marker(_)) => {}
            }
        }
    };
    timeout(RESTORE, wait).await.unwrap_or(Restored::Stuck)
}
