//! Kills for memory while a command ran. An exit code alone may stand for any kill.
//!
//! An engine tells of them as they happen, and what it tells may be lost on the way. The kernel's own counter loses nothing, but costs a question: it is
//! read where a command was killed, and before the first command after each kill that was heard of.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::place::Place;
use crate::shell::{Captured, End, Shell};

/// Text for the model after a kill for memory.
const NOTE: &str = "The sandbox's memory was used up while this command ran, so the system killed one or more of its processes.";
/// Exit code of what was killed.
const KILLED: i32 = 137;
/// How long the counter may be waited for.
const COUNT: Duration = Duration::from_secs(1);
/// How long after a command it may take to hear of a kill, where the counter cannot be read.
const HEAR: Duration = Duration::from_millis(100);

/// Kills up to some moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Kills {
    /// As the backend told of them.
    heard: u64,
    /// As the kernel counts them, where that can be read.
    counted: Option<u64>,
}

/// The kills of one place.
pub(crate) struct MemoryKills {
    place: Arc<dyn Place>,
    /// When the counter was last read, `None` before the first time.
    known: Mutex<Option<Kills>>,
}

impl MemoryKills {
    pub(crate) fn new(place: Arc<dyn Place>) -> Self {
        Self {
            place,
            known: Mutex::default(),
        }
    }

    /// Those before a command that is about to run.
    pub(crate) async fn before(&self, shell: &Shell) -> Kills {
        let heard = self.place.memory_kills();
        let mut known = self.known.lock().await;
        if let Some(known) = *known
            && known.heard == heard
            && self.place.hears_of_kills()
        {
            return known;
        }
        let counted = if self.is_limited() {
            shell.memory_kills(COUNT).await
        } else {
            None
        };
        *known.insert(Kills { heard, counted })
    }

    /// Tells the model of those since then; `left` is the time until the command's result is due.
    pub(crate) async fn told(
        &self,
        before: Kills,
        mut captured: Captured,
        shell: &Shell,
        left: Duration,
    ) -> Captured {
        if self.are_more(before, captured.end, shell, left).await {
            captured.shell_note = Some(match captured.shell_note.take() {
                Some(note) => format!("{NOTE} {note}"),
                None => NOTE.to_owned(),
            });
        }
        captured
    }

    async fn are_more(&self, before: Kills, end: End, shell: &Shell, left: Duration) -> bool {
        let heard = || self.place.memory_kills() > before.heard;
        let killed = matches!(end, End::Exited(KILLED) | End::ShellEnded(KILLED));
        if !killed || !self.is_limited() || heard() {
            return heard();
        }
        if let Some(counted) = before.counted
            && let Some(now) = shell.memory_kills(COUNT.min(left)).await
        {
            // Whether or not the backend ever tells of it, it is told only once.
            *self.known.lock().await = None;
            return now > counted || heard();
        }
        let until = Instant::now() + HEAR;
        while !heard() && Instant::now() < until {
            sleep(HEAR / 20).await;
        }
        heard()
    }

    fn is_limited(&self) -> bool {
        let enforced = &self.place.applied().enforced;
        enforced.iter().any(|name| name == "memory")
    }
}
