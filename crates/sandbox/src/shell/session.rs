//! The persistent shell: one command after the other, restarted when it dies, with what can be kept of its state.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::capture::Capture;
use super::channel::{Connection, Incoming};
use super::deadline;
use super::marker::Marker;
use super::script;
use super::{Captured, End, RunOptions};
use crate::error::Error;
use crate::place::{Place, Processes};

/// How long a new worker may take to say that it is there.
const UP: Duration = Duration::from_secs(20);
/// How long the internal command that restores the state may take.
const RESTORE: Duration = Duration::from_secs(3);
/// How long after the kill the end of the output is waited for.
const DRAIN: Duration = Duration::from_secs(1);
/// How long the whole kill may take before the channel is given up.
const KILL: Duration = Duration::from_millis(1700);
/// What a keeper says when no process was free to start a worker.
const NO_PROCESS: i32 = 254;

/// Text for the model after a restart that kept what it could.
const RESTARTED: &str = "The shell was restarted. Kept: the working directory and exported variables, as they were before this command. \
     Lost: functions, aliases, unexported variables and shell options.";
/// Text for the model after a restart that kept nothing.
const FRESH: &str = "The shell was restarted in the repository's directory. Its earlier state (working directory, variables, functions) is lost.";
/// Text for the model when the shell died before the command began.
const NOT_STARTED: &str = "The shell had ended before this command could start, so it was not run.";

/// One agent's shell, or one of ours.
pub(crate) struct Shell {
    place: Arc<dyn Place>,
    spool: PathBuf,
    connection: Mutex<Slot>,
}

#[derive(Default)]
struct Slot {
    connection: Option<Connection>,
    /// Whether a command was started and never seen to its end.
    busy: bool,
    /// Whether there has been a shell.
    used: bool,
    /// The last command that was seen to its end: its state is restored into the next shell.
    saved: Option<u64>,
}

/// How the conversation about one command ended.
enum Answer {
    Ended(i32),
    Dead {
        status: i32,
        started: bool,
    },
    /// The channel is of no more use.
    Closed,
}

impl Shell {
    pub(crate) fn new(place: Arc<dyn Place>) -> Self {
        let spool = place.private_directory();
        Self {
            place,
            spool,
            connection: Mutex::default(),
        }
    }

    /// Opens the channel, so that the first command finds it ready.
    pub(crate) async fn open(&self) -> Result<(), Error> {
        let mut slot = self.connection.lock().await;
        self.ready(&mut slot).await.map(|_| ())
    }

    /// Ends the shell and all it started.
    pub(crate) async fn close(&self) {
        let mut slot = self.connection.lock().await;
        slot.connection = None;
        slot.busy = false;
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
        let mut slot = self.connection.lock().await;
        let mut earlier = self.ready(&mut slot).await?;
        loop {
            slot.busy = true;
            let Some(connection) = slot.connection.as_mut() else {
                return Err(Error::lost(
                    "reach the shell",
                    std::io::Error::from(std::io::ErrorKind::NotConnected),
                ));
            };
            let mut capture = Capture::new(options.kept, &self.spool);
            let mut conversation = Conversation {
                connection,
                capture: &mut capture,
                options,
                cancel,
                started,
                place: self.place.as_ref(),
                ended_by: None,
            };
            let answer = conversation.hold(text).await;
            let ended_by = conversation.ended_by;
            let (status_end, note) = self.settle(&mut slot, &answer).await?;
            slot.busy = false;
            // A worker that died while it waited never saw the command: that one case is worth one more try.
            if matches!(answer, Answer::Dead { started: false, .. })
                && ended_by.is_none()
                && earlier.is_none()
            {
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

    /// After the answer the shell is ready again, or the next command opens a new one.
    async fn settle(
        &self,
        slot: &mut MutexGuard<'_, Slot>,
        answer: &Answer,
    ) -> Result<(End, Option<String>), Error> {
        match *answer {
            Answer::Ended(status) => {
                slot.saved = slot.connection.as_ref().map(Connection::sequence);
                Ok((End::Exited(status), None))
            }
            Answer::Dead { status, started } => {
                let note = match self.revive(slot).await {
                    Some(note) => note,
                    None => self.reopen(slot).await?,
                };
                let note = if started {
                    note.to_owned()
                } else {
                    format!("{NOT_STARTED} {note}")
                };
                Ok((End::ShellEnded(status), Some(note)))
            }
            Answer::Closed => {
                let note = self.reopen(slot).await?;
                Ok((End::ShellEnded(137), Some(note.to_owned())))
            }
        }
    }

    /// Makes sure of a worker that waits for a request; returns the text for the model when that took a restart.
    async fn ready(&self, slot: &mut MutexGuard<'_, Slot>) -> Result<Option<String>, Error> {
        if slot.connection.is_some() && !slot.busy {
            return Ok(None);
        }
        // A future that was dropped left the stream in the middle of something.
        let used = slot.used;
        let note = self.reopen(slot).await?;
        Ok(used.then(|| note.to_owned()))
    }

    /// Asks the keeper for a new worker and gives it the state that the last one left; `None` when the channel is of no more use.
    async fn revive(&self, slot: &mut MutexGuard<'_, Slot>) -> Option<&'static str> {
        let saved = slot.saved.take();
        let connection = slot.connection.as_mut()?;
        connection.worker = None;
        let go = connection.go();
        if connection.send(&go).await.is_err() || !wait_for_up(connection).await {
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
    async fn reopen(&self, slot: &mut MutexGuard<'_, Slot>) -> Result<&'static str, Error> {
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
        slot.busy = false;
        slot.connection = Some(connection);
        Ok(note)
    }

    async fn connect(&self) -> Result<Connection, Error> {
        let mut connection = Connection::open(self.place.as_ref(), None).await?;
        if wait_for_up(&mut connection).await {
            return Ok(connection);
        }
        Err(Error::lost(
            "start a shell",
            std::io::Error::from(std::io::ErrorKind::TimedOut),
        ))
    }

    fn state_file(&self, saved: u64) -> String {
        script::state_file(self.place.shell_state(), saved)
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

/// Waits for a worker, asking again as long as no process is free.
async fn wait_for_up(connection: &mut Connection) -> bool {
    let wait = async {
        loop {
            match connection.next().await {
                Ok(Incoming::Marker(Marker::Up { pid })) => {
                    connection.worker = Some(pid);
                    return true;
                }
                Ok(Incoming::Marker(Marker::Dead { status: NO_PROCESS })) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
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

type Kill = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One command on one connection.
struct Conversation<'a, 'b> {
    connection: &'a mut Connection,
    capture: &'a mut Capture<'b>,
    options: &'a RunOptions,
    cancel: &'a CancellationToken,
    started: Instant,
    place: &'a dyn Place,
    ended_by: Option<End>,
}

impl Conversation<'_, '_> {
    async fn hold(&mut self, text: &str) -> Answer {
        let since = self.connection.ticks();
        let (sequence, request) = self.connection.request(text);
        let mut rest = request.as_slice();
        let deadline = self.started + self.options.timeout;
        let mut began = false;
        let mut heard = Instant::now();
        let mut kill: Option<Kill> = None;
        let mut give_up = None;
        loop {
            let (reason, until) = self.next_limit(deadline, heard);
            // A flood is always ready: without this look it would outrun every timer.
            let wanted = if self.ended_by.is_none() && Instant::now() >= until {
                Some(reason)
            } else if give_up.is_some_and(|give_up| Instant::now() >= give_up) {
                return Answer::Closed;
            } else {
                tokio::select! {
                    biased;
                    incoming = self.connection.next_while_sending(&mut rest) => {
                        match incoming {
                            Ok(Incoming::Data(bytes)) if began => {
                                heard = Instant::now();
                                self.capture.push(&bytes);
                                (self.capture.total() > self.options.max_output).then_some(End::OutputLimit)
                            }
                            Ok(Incoming::Data(bytes)) => {
                                tracing::debug!(bytes = bytes.len(), "output of a background process between commands");
                                None
                            }
                            Ok(Incoming::Marker(Marker::Begin { sequence: of })) if of == sequence => {
                                began = true;
                                heard = Instant::now();
                                None
                            }
                            Ok(Incoming::Marker(Marker::End { sequence: of, status })) if of == sequence => {
                                return Answer::Ended(status);
                            }
                            Ok(Incoming::Marker(Marker::Dead { status })) => {
                                finish(kill).await;
                                return Answer::Dead { status, started: began };
                            }
                            Ok(Incoming::Marker(Marker::Up { .. } | Marker::Begin { .. } | Marker::End { .. })) => None,
                            Ok(Incoming::Closed) | Err(_) => return Answer::Closed,
                        }
                    }
                    () = self.cancel.cancelled(), if self.ended_by.is_none() => Some(End::Cancelled),
                    () = sleep_until(until), if self.ended_by.is_none() => Some(reason),
                    () = run(&mut kill), if kill.is_some() => {
                        kill = None;
                        give_up = Some(Instant::now() + DRAIN);
                        None
                    }
                    () = sleep_until(give_up.unwrap_or(until)), if give_up.is_some() => return Answer::Closed,
                }
            };
            if let (Some(end), None) = (wanted, self.ended_by) {
                self.ended_by = Some(end);
                give_up = Some(Instant::now() + KILL);
                match self.kill(since) {
                    Some(future) => kill = Some(future),
                    None => return Answer::Closed,
                }
            }
        }
    }

    /// What ends the command next if nothing else does, and when.
    fn next_limit(&self, deadline: Instant, heard: Instant) -> (End, Instant) {
        match self.options.idle {
            Some(idle) if heard + idle < deadline => (End::Idle, heard + idle),
            _ => (End::TimedOut, deadline),
        }
    }

    /// Ends the command's processes; `None` where only the end of the whole channel does.
    fn kill(&self, since: u64) -> Option<Kill> {
        match (
            self.place.processes(),
            self.connection.keeper(),
            self.connection.worker,
        ) {
            (Processes::HostTree, Some(keeper), Some(worker)) => {
                let command = deadline::Command {
                    keeper,
                    worker: Some(worker),
                    since,
                };
                Some(Box::pin(command.end()))
            }
            (Processes::HostTree | Processes::Inside, _, _) => None,
        }
    }
}

/// Lets a kill come to its end, so that it cannot meet the next worker.
async fn finish(kill: Option<Kill>) {
    if let Some(kill) = kill {
        let _ = timeout(DRAIN, kill).await;
    }
}

async fn run(kill: &mut Option<Kill>) {
    match kill {
        Some(kill) => kill.as_mut().await,
        None => std::future::pending().await,
    }
}
