//! What can befall the process that is about to become an exec in a container: the container stops it, or somebody pauses the container just then.
//!
//! The engine waits for that process without a deadline, and holds what every other call about the container needs, that which ends a pause too. The
//! process belongs to the engine's user; where the runner may signal it, it wakes one that was stopped, and ends it, frozen or stopped, when the call
//! is given up.

use std::future::Future;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep_until};

use super::freezer;
use crate::processes;

/// How long a call takes at least before it is looked whether somebody stopped its process.
const PATIENCE: Duration = Duration::from_secs(2);

/// The name of the process before it becomes the program.
const NAME: &[u8] = b"(runc:[";

/// Waits for a call about a container, and sends `signal` to what is stopped there as long as it takes too long. `container` is the engine's own
/// identifier.
pub(super) async fn through<T>(
    container: &str,
    signal: Signal,
    call: impl Future<Output = T>,
) -> T {
    tokio::pin!(call);
    let mut look = Instant::now() + PATIENCE;
    loop {
        tokio::select! {
            done = &mut call => return done,
            () = sleep_until(look) => {
                look += PATIENCE;
                send(container, signal).await;
            }
        }
    }
}

/// Sends a signal to what cannot go on in a container before it is a program.
pub(super) async fn send(container: &str, signal: Signal) {
    let name = container.to_owned();
    let sent = tokio::task::spawn_blocking(move || signal_held(&name, signal)).await;
    if let Ok(1..) = sent {
        tracing::warn!(
            container,
            ?signal,
            "the engine's own process in a container could not go on, and got a signal"
        );
    }
}

/// How many there were.
fn signal_held(container: &str, signal: Signal) -> usize {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return 0;
    };
    let held = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, state(pid)?)))
        .filter(|&(pid, state)| is_of(pid, container) && is_held(pid, state, signal));
    held.map(|(pid, _)| processes::signal(pid, signal)).count()
}

/// Whether it cannot go on by itself. A pause is somebody's wish as long as nothing has to end: only then is what is frozen waked.
fn is_held(pid: u32, state: u8, signal: Signal) -> bool {
    state == b'T' || (signal == Signal::KILL && freezer::thaw(pid))
}

/// The state of a process that is on its way in; `None` for any other.
fn state(pid: u32) -> Option<u8> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let end = memchr::memrchr(b')', &stat)?;
    let name = stat.get(..end)?;
    let is_entering = name.windows(NAME.len()).any(|part| part == NAME);
    stat.get(end + 2).copied().filter(|_| is_entering)
}

/// By its control group, which it may not be in yet, or else by the words that its starter was started with.
fn is_of(pid: u32, container: &str) -> bool {
    let says = |pid: u32, file: &str| {
        std::fs::read(format!("/proc/{pid}/{file}"))
            .is_ok_and(|text| memchr::memmem::find(&text, container.as_bytes()).is_some())
    };
    says(pid, "cgroup")
        || processes::read(pid).is_some_and(|process| says(process.parent, "cmdline"))
}
