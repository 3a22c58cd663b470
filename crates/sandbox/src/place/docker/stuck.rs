//! What a container can do to the engine: stop the process that is about to become an exec in it.
//!
//! The engine waits for that process without a deadline, and holds what every other call about the container needs. The process belongs to the
//! engine's user; where the runner may signal it, it wakes it again, and ends it when the call is given up.

use std::future::Future;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep_until};

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

/// Sends a signal to what is stopped in a container before it is a program.
pub(super) async fn send(container: &str, signal: Signal) {
    let name = container.to_owned();
    let sent = tokio::task::spawn_blocking(move || signal_stopped(&name, signal)).await;
    if let Ok(1..) = sent {
        tracing::warn!(
            container,
            ?signal,
            "something in a container stopped the engine's own process there, which got a signal"
        );
    }
}

/// How many there were.
fn signal_stopped(container: &str, signal: Signal) -> usize {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return 0;
    };
    let stopped: Vec<u32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|&pid| is_stopped(pid) && is_of(pid, container))
        .collect();
    for &pid in &stopped {
        processes::signal(pid, signal);
    }
    stopped.len()
}

fn is_stopped(pid: u32) -> bool {
    std::fs::read(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let end = memchr::memrchr(b')', &stat).unwrap_or_default();
        stat[..end].windows(NAME.len()).any(|part| part == NAME) && stat[end..].starts_with(b") T")
    })
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
