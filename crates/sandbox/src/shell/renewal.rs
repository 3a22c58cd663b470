//! A new worker in the place of one that has ended: made room for, waited for, and given the old one's state.

use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

use super::channel::{Connection, Incoming};
use super::control::Target;
use super::conversation::DRAIN;
use super::marker::Marker;
use super::{Means, deadline, script};

/// How long a keeper, and the first worker of a place, may take to say that they are there. Only a machine that is busy takes long.
const FIRST: Duration = Duration::from_secs(20);
/// The same for the worker where one has been before. Whoever worked there may have made anything of its shell, and waits.
const LATER: Duration = Duration::from_secs(3);
/// How long the internal command that restores the state may take.
const RESTORE: Duration = Duration::from_secs(3);
/// What a keeper says when no process was free to start a worker.
pub(super) const NO_PROCESS: i32 = 254;

/// Text for the model after a restart that kept what it could.
const RESTARTED: &str = "The shell was restarted. Kept: the working directory and exported variables, as they were before this command. \
     Lost: functions, aliases, unexported variables and shell options.";
/// Text for the model after a restart that kept nothing.
pub(super) const FRESH: &str = "The shell was restarted in the repository's directory. Its earlier state (working directory, variables, functions) is lost.";

/// What became of the state of a shell that ended.
pub(super) enum Restored {
    /// The new shell has it, and saved it with this command.
    Whole(u64),
    /// Its file is missing or broken; the new shell is as good as any other.
    Nothing(u64),
    /// The new shell did not survive it.
    Stuck,
}

impl Restored {
    pub(super) fn sequence(&self) -> Option<u64> {
        match *self {
            Self::Whole(sequence) | Self::Nothing(sequence) => Some(sequence),
            Self::Stuck => None,
        }
    }

    /// Text for the model, where there is a shell.
    pub(super) fn note(&self) -> Option<&'static str> {
        match self {
            Self::Whole(_) => Some(RESTARTED),
            Self::Nothing(_) => Some(FRESH),
            Self::Stuck => None,
        }
    }
}

/// Ends everything but the keeper, so that a process is free again; `true` where that was possible.
pub(super) async fn clear(means: &Means, spared: Vec<u32>) -> bool {
    let Means::Inside(control) = means else {
        return false;
    };
    let target = Target {
        spared,
        ..Target::default()
    };
    control.end(&target).await.is_ok()
}

/// Whether a place has had a worker before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Turn {
    #[default]
    First,
    Later,
    /// It has, and the last one that was asked for said nothing: the machine may only have been slow.
    Again,
}

impl Turn {
    fn patience(self) -> Duration {
        match self {
            Self::First | Self::Again => FIRST,
            Self::Later => LATER,
        }
    }
}

/// Who came when a worker was asked for.
pub(super) enum Arrival {
    /// The one that was asked for.
    Asked,
    /// A copy of the keeper, since the image's shell is not what it was.
    Copy {
        /// What the image's shell did.
        why: String,
    },
    /// Nobody.
    Nobody {
        /// What came instead.
        why: String,
        /// Whether anybody asked for said nothing, so that it may yet come.
        silent: bool,
    },
}

/// What came of one that was asked for.
enum Sign {
    Up,
    Ended(i32),
    Silent,
    Closed,
}

impl Sign {
    fn explained(&self) -> String {
        match self {
            Self::Up => String::from("it is there"),
            Self::Ended(127) => String::from("it is not found, or what it needs is not"),
            Self::Ended(126) => String::from("it cannot be executed: permission denied"),
            Self::Ended(status) => format!("it ended at once with status {status}"),
            Self::Silent => String::from("it does not answer"),
            Self::Closed => String::from("its stream ended"),
        }
    }
}

/// Waits for a worker that was asked for at `since` of the place's clock, or with its keeper. Where the image's shell does not start, a copy of the
/// keeper takes its place.
pub(super) async fn arrival(
    connection: &mut Connection,
    means: &Means,
    cleared: &mut bool,
    since: u64,
    turn: Turn,
) -> Arrival {
    let sign = sign(connection, means, cleared, turn.patience()).await;
    match sign {
        Sign::Up => return Arrival::Asked,
        Sign::Silent if !connection.plain => end_newer(connection, means, since).await,
        Sign::Ended(_) if !connection.plain => {}
        Sign::Silent | Sign::Ended(_) | Sign::Closed => {
            return Arrival::Nobody {
                why: sign.explained(),
                silent: matches!(sign, Sign::Silent),
            };
        }
    }
    let why = sign.explained();
    let lasting = matches!(sign, Sign::Silent);
    connection.plain = true;
    let go = connection.go();
    let copy = if connection.send(&go).await.is_ok() {
        self::sign(connection, means, cleared, LATER).await
    } else {
        Sign::Closed
    };
    // One that ends at once costs nothing to try again.
    connection.plain = lasting;
    match copy {
        Sign::Up => Arrival::Copy { why },
        Sign::Silent => Arrival::Nobody { why, silent: true },
        Sign::Ended(_) | Sign::Closed => Arrival::Nobody {
            why,
            silent: lasting,
        },
    }
}

/// Ends a worker that says nothing, and whatever it started; until its keeper has told of its end, or long enough.
async fn end_newer(connection: &mut Connection, means: &Means, since: u64) {
    match means {
        Means::Host => {
            if let Some(keeper) = connection.keeper() {
                let newer = deadline::Command {
                    keeper,
                    worker: None,
                    since,
                };
                newer.end().await;
            }
        }
        Means::Inside(control) => {
            let newer = Target {
                worker: None,
                since,
                spared: connection.spared.clone(),
                interrupt: false,
            };
            if let Err(error) = control.end(&newer).await {
                tracing::debug!(%error, "a shell that says nothing was not ended");
            }
        }
    }
    let told = async {
        loop {
            match connection.next().await {
                Ok(Incoming::Marker(Marker::Dead { .. }) | Incoming::Closed) | Err(_) => return,
                Ok(Incoming::Data(_) | Incoming::Marker(_)) => {}
            }
        }
    };
    let _ = timeout(DRAIN, told).await;
}

/// Waits for the first sign of a worker, asking again as long as no process is free.
async fn sign(
    connection: &mut Connection,
    means: &Means,
    cleared: &mut bool,
    patience: Duration,
) -> Sign {
    let keeper_is_there = !connection.spared.is_empty();
    let mut until = Instant::now() + if keeper_is_there { patience } else { FIRST };
    loop {
        let Ok(incoming) = timeout_at(until, connection.next()).await else {
            return Sign::Silent;
        };
        match incoming {
            Ok(Incoming::Marker(Marker::Up { pid, flavour })) => {
                connection.worker = Some(pid);
                connection.flavour = flavour;
                return Sign::Up;
            }
            Ok(Incoming::Marker(Marker::Keeper { pid, parent })) => {
                connection.spared = vec![pid, parent];
                until = Instant::now() + patience;
            }
            Ok(Incoming::Marker(Marker::Dead { status: NO_PROCESS })) => {
                if *cleared || !clear(means, connection.spared.clone()).await {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                } else {
                    *cleared = true;
                    until = Instant::now() + patience;
                }
                let go = connection.go();
                if connection.send(&go).await.is_err() {
                    return Sign::Closed;
                }
            }
            Ok(Incoming::Marker(Marker::Dead { status })) => return Sign::Ended(status),
            Ok(Incoming::Data(_) | Incoming::Marker(_)) => {}
            Ok(Incoming::Closed) | Err(_) => return Sign::Closed,
        }
    }
}

/// Sources the state file.
pub(super) async fn restore(connection: &mut Connection, file: &str) -> Restored {
    let text = script::restore(file, connection.flavour);
    let (sequence, request) = connection.request(&text, true);
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
