//! One command on one stream: what it prints, how it ends, and how it is ended.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::capture::Capture;
use super::channel::{Connection, Incoming};
use super::control::Target;
use super::marker::Marker;
use super::{End, Means, RunOptions, deadline};

/// How long after the kill the end of the output is waited for.
pub(super) const DRAIN: Duration = Duration::from_secs(1);
/// How long the whole kill may take before the channel is given up.
const KILL: Duration = Duration::from_millis(1600);
/// The same with the end of the output.
const END: Duration = Duration::from_millis(1750);
/// What a command may take beyond its deadline, whatever becomes of its shell: 2 s less what a busy machine takes to notice.
pub(crate) const GRACE: Duration = Duration::from_millis(1850);

/// Status of a shell of which nothing more is known.
const KILLED: i32 = 137;

/// How the conversation about one command ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum Answer {
    Ended(i32),
    Dead {
        status: i32,
        started: bool,
    },
    /// Not begun: so many processes run that it might find no room.
    Full,
    /// Not begun yet: there are many more processes than before, and there may soon be too many.
    Growing,
    /// The channel is of no more use.
    Closed {
        started: bool,
    },
}

impl Answer {
    /// How the command ended, where nothing else ended it.
    pub(super) fn end(self) -> End {
        match self {
            Self::Ended(status) => End::Exited(status),
            Self::Full | Self::Growing => End::Exited(0),
            Self::Dead { status, .. } => End::ShellEnded(status),
            Self::Closed { .. } => End::ShellEnded(KILLED),
        }
    }

    /// Whether the command is known not to have begun.
    pub(super) fn is_before_start(self) -> bool {
        matches!(
            self,
            Self::Dead { started: false, .. }
                | Self::Closed { started: false }
                | Self::Full
                | Self::Growing
        )
    }
}

/// Resolves when the processes have been ended, to whether that could be done.
type Kill = Pin<Box<dyn Future<Output = bool> + Send>>;

/// One command on one connection.
pub(super) struct Conversation<'a, 'b> {
    pub(super) connection: &'a mut Connection,
    pub(super) capture: &'a mut Capture<'b>,
    pub(super) options: &'a RunOptions,
    pub(super) cancel: &'a CancellationToken,
    pub(super) started: Instant,
    /// Ticks at which it is sent.
    pub(super) since: u64,
    pub(super) means: &'a Means,
    pub(super) ended_by: Option<End>,
    /// Whether it is run however many processes there are.
    pub(super) urgent: bool,
}

impl Conversation<'_, '_> {
    pub(super) async fn hold(&mut self, text: &str) -> Answer {
        let (sequence, request) = self.connection.request(text, self.urgent);
        let mut rest = request.as_slice();
        let deadline = self.started + self.options.timeout;
        let mut began = false;
        let mut heard = Instant::now();
        let mut kill: Option<Kill> = None;
        let mut give_up = None;
        let mut last = deadline;
        loop {
            let (reason, until) = self.next_limit(deadline, heard);
            // A flood is always ready: without this look it would outrun every timer.
            let wanted = if self.ended_by.is_none() && self.cancel.is_cancelled() {
                Some(End::Cancelled)
            } else if self.ended_by.is_none() && Instant::now() >= until {
                Some(reason)
            } else if give_up.is_some_and(|give_up| Instant::now() >= give_up) {
                return Answer::Closed { started: began };
            } else {
                tokio::select! {
                    biased;
                    // Before the output, which may never pause.
                    done = run(&mut kill), if kill.is_some() => {
                        if !done {
                            return Answer::Closed { started: began };
                        }
                        kill = None;
                        give_up = Some(last.min(Instant::now() + DRAIN));
                        None
                    }
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
                            Ok(Incoming::Marker(Marker::Full { sequence: of })) if of == sequence => {
                                return Answer::Full;
                            }
                            Ok(Incoming::Marker(Marker::More { sequence: of })) if of == sequence => {
                                return Answer::Growing;
                            }
                            Ok(Incoming::Marker(Marker::Dead { status })) => {
                                finish(kill, last).await;
                                return Answer::Dead { status, started: began };
                            }
                            Ok(Incoming::Marker(
                                Marker::Keeper { .. } | Marker::Up { .. } | Marker::Begin { .. } | Marker::End { .. } | Marker::Full { .. } | Marker::More { .. },
                            )) => None,
                            Ok(Incoming::Closed) | Err(_) => return Answer::Closed { started: began },
                        }
                    }
                    () = self.cancel.cancelled(), if self.ended_by.is_none() => Some(End::Cancelled),
                    () = sleep_until(until), if self.ended_by.is_none() => Some(reason),
                    () = sleep_until(give_up.unwrap_or(until)), if give_up.is_some() => {
                        return Answer::Closed { started: began };
                    }
                }
            };
            if let (Some(end), None) = (wanted, self.ended_by) {
                self.ended_by = Some(end);
                give_up = Some(Instant::now() + KILL);
                last = Instant::now() + END;
                match self.kill() {
                    Some(future) => kill = Some(future),
                    None => return Answer::Closed { started: began },
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
    fn kill(&self) -> Option<Kill> {
        let worker = self.connection.worker?;
        match self.means {
            Means::Host => {
                let command = deadline::Command {
                    keeper: self.connection.keeper()?,
                    worker: Some(worker),
                    since: self.since,
                };
                Some(Box::pin(async move {
                    command.end().await;
                    true
                }))
            }
            Means::Inside(control) => {
                let control = control.clone();
                let target = Target {
                    worker: Some(worker),
                    since: self.since,
                    spared: self.connection.spared.clone(),
                    interrupt: true,
                };
                Some(Box::pin(async move {
                    let done = control.end(&target).await;
                    if let Err(error) = &done {
                        tracing::debug!(%error, "a command was not ended");
                    }
                    done.is_ok()
                }))
            }
        }
    }
}

/// Lets a kill come to its end, so that it cannot meet the next worker.
async fn finish(kill: Option<Kill>, until: Instant) {
    if let Some(kill) = kill {
        let _ = timeout_at(until, kill).await;
    }
}

async fn run(kill: &mut Option<Kill>) -> bool {
    match kill {
        Some(kill) => kill.as_mut().await,
        None => std::future::pending().await,
    }
}
