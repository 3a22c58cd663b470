//! What is done so that a shell waits for the next command: the end of the last one seen to, and a new shell in the place of one that is gone.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use tokio::time::{Instant, timeout};

use super::channel::{Connection, Incoming};
use super::control::Target;
use super::conversation::{Answer, DRAIN};
use super::marker::Marker;
use super::renewal::{NO_PROCESS, Turn, clear};
use super::{Means, absent};
use crate::error::Error;
use crate::place::Place;

/// Text for the model when everything had to be ended to get a new shell.
pub(super) const NO_PROCESS_LEFT: &str =
    "No process could be started any more, so everything that ran in the background was ended.";

/// The state of a shell between two commands.
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
    /// What came of the last [`Work`], until somebody is told.
    pub(super) news: Option<News>,
}

impl Slot {
    /// One whose place has had a shell, and that wants a plain one.
    pub(super) fn beside() -> Self {
        Self {
            plain: true,
            turn: Turn::Later,
            ..Self::default()
        }
    }

    /// Whether a worker waits for a request.
    pub(super) fn is_at_rest(&self) -> bool {
        self.connection.is_some() && self.busy.is_none() && self.absent.is_none()
    }

    /// Remembers the command that has just ended by itself as the one whose state the next shell gets.
    pub(super) fn keep_state(&mut self) {
        self.saved = self.connection.as_ref().map(Connection::sequence);
    }

    /// All processes but the shell's own.
    fn others(&self) -> Option<Target> {
        self.connection.as_ref().map(|connection| Target {
            worker: connection.worker,
            spared: connection.spared.clone(),
            ..Target::default()
        })
    }
}

/// What came of a [`Work`].
pub(super) struct News {
    /// When.
    pub(super) at: Instant,
    /// The text for the model, where there is one.
    pub(super) note: Result<Option<String>, Error>,
}

/// What may take long, so that no command waits for it beyond its deadline.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    /// Makes sure of a shell.
    Ready,
    /// Sees to what an answer left behind.
    Settle {
        answer: Answer,
        /// Whether the output spoke of a `fork` that failed.
        starved: bool,
    },
}

/// Has a shell ready in a place.
#[derive(Clone)]
pub(super) struct Upkeep {
    pub(super) place: Arc<dyn Place>,
    pub(super) means: Means,
}

impl Upkeep {
    /// Does it; what there is to tell is left in the slot.
    pub(super) async fn work(&self, slot: &mut Slot, work: Work) {
        let done = match work {
            Work::Ready => self.ready(slot).await,
            Work::Settle { answer, starved } => self.settle(slot, answer, starved).await,
        };
        let note = noted(slot, done);
        if note.is_ok() {
            slot.busy = None;
        }
        let at = Instant::now();
        slot.news = Some(News { at, note });
    }

    /// The present, by the clock that dates the place's processes.
    pub(super) fn ticks(&self, connection: &Connection) -> u64 {
        match &self.means {
            Means::Host => connection.ticks(),
            Means::Inside(control) => control.ticks(),
        }
    }

    /// After the answer the shell is ready again, or the next command opens a new one. Returns the text for the model.
    async fn settle(
        &self,
        slot: &mut Slot,
        answer: Answer,
        starved: bool,
    ) -> Result<Option<String>, Error> {
        let renewed = match answer {
            Answer::Ended(_) => {
                slot.keep_state();
                if !starved || !self.is_crowded(slot.others()).await {
                    return Ok(None);
                }
                self.make_room(slot).await
            }
            Answer::Full => self.make_room(slot).await,
            Answer::Growing => return Ok(None),
            Answer::Dead { status, .. } => {
                let crowded =
                    status == NO_PROCESS || starved && self.is_crowded(slot.others()).await;
                self.renewed(slot, crowded).await
            }
            Answer::Closed { .. } => self.reopen(slot).await,
        };
        renewed.map(Some)
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
        let note = noted(slot, renewed.map(Some))?.unwrap_or_default();
        Ok(format!("{NO_PROCESS_LEFT} {note}"))
    }

    /// Makes sure of a worker that waits for a request; returns the text for the model when that took a restart.
    pub(super) async fn ready(&self, slot: &mut Slot) -> Result<Option<String>, Error> {
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

/// The text for the model about a new shell. That none starts any more, or none answers, is no failure here: what the command printed is still an answer.
fn noted(slot: &mut Slot, renewed: Result<Option<String>, Error>) -> Result<Option<String>, Error> {
    match renewed {
        Err(Error::NotStarted { said }) => {
            slot.connection = None;
            let note = absent::told(&said, slot.turn);
            slot.absent = Some(said);
            Ok(Some(note))
        }
        renewed => renewed,
    }
}
