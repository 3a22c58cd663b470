//! A new worker in the place of one that has ended: made room for, waited for, and given the old one's state.

use std::time::Duration;

use tokio::time::timeout;

use super::Means;
use super::channel::{Connection, Incoming};
use super::control::Target;
use super::marker::Marker;

/// How long a new worker may take to say that it is there.
const UP: Duration = Duration::from_secs(20);
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

/// Waits for a worker, asking again as long as no process is free.
pub(super) async fn wait_for_up(
    connection: &mut Connection,
    means: &Means,
    cleared: &mut bool,
) -> bool {
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
pub(super) async fn restore(connection: &mut Connection, file: &str) -> Restored {
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
