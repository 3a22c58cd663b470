//! A shell that ended is started again: under its keeper where that lives, else in a channel of its own.

use std::time::Duration;

use tokio::time::timeout;

use super::channel::Connection;
use super::renewal::{Arrival, FRESH, Turn, arrival, clear, restore};
use super::script;
use super::upkeep::{NO_PROCESS_LEFT, Slot, Upkeep};
use crate::error::{Cause, Error};
use crate::place::PlaceState;

/// How long a place that lost a shell may take to say what has become of it.
const STATE: Duration = Duration::from_secs(2);

impl Upkeep {
    /// A new worker under the same keeper after the end of the last one, else a new channel; returns the text for the model. First everything else
    /// is ended where it leaves no room.
    pub(super) async fn renewed(&self, slot: &mut Slot, crowded: bool) -> Result<String, Error> {
        let mut cleared = false;
        if let Some(connection) = slot.connection.as_ref()
            && crowded
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
            note
        })
    }

    /// Asks the keeper for a new worker and gives it the state that the last one left; `None` when the channel is of no more use.
    async fn revive(&self, slot: &mut Slot, cleared: &mut bool) -> Option<String> {
        let connection = slot.connection.as_mut()?;
        connection.worker = None;
        let since = self.ticks(connection);
        let go = connection.go();
        if connection.send(&go).await.is_err() {
            return None;
        }
        let came = arrival(connection, &self.means, cleared, since, Turn::Later).await;
        slot.plain |= connection.plain;
        let changed = match came {
            Arrival::Asked => None,
            Arrival::Copy { why } => Some(why),
            Arrival::Nobody { .. } => return None,
        };
        // It stays remembered until the new shell has it: this may be given up at any time.
        let Some(saved) = slot.saved else {
            return Some(told(FRESH, changed));
        };
        let restored = restore(connection, &self.state_file(saved)).await;
        slot.saved = restored.sequence();
        restored.note().map(|note| told(note, changed))
    }

    /// Opens a new channel and restores what the last shell left; returns the text for the model.
    pub(super) async fn reopen(&self, slot: &mut Slot) -> Result<String, Error> {
        slot.connection = None;
        let (mut connection, mut changed) = self.connect(slot).await?;
        let mut note = FRESH;
        if let Some(saved) = slot.saved {
            let restored = restore(&mut connection, &self.state_file(saved)).await;
            slot.saved = restored.sequence();
            if let Some(told) = restored.note() {
                note = told;
            } else {
                (connection, changed) = self.connect(slot).await?;
            }
        }
        slot.busy = None;
        slot.connection = Some(connection);
        Ok(told(note, changed))
    }

    /// A new channel, and what the image's shell did where another had to take its place.
    async fn connect(&self, slot: &mut Slot) -> Result<(Connection, Option<String>), Error> {
        let turn = slot.turn;
        let error = match Connection::open(self.place.as_ref(), slot.plain).await {
            Ok(mut connection) => {
                let since = self.ticks(&connection);
                let came = arrival(&mut connection, &self.means, &mut false, since, turn).await;
                slot.plain |= connection.plain;
                let changed = match came {
                    Arrival::Asked => Ok(None),
                    Arrival::Copy { why } => Ok(Some(why)),
                    Arrival::Nobody { why, silent } => Err((why, silent)),
                };
                match (changed, turn) {
                    (Ok(changed), _) => {
                        slot.turn = Turn::Later;
                        slot.absent = None;
                        return Ok((connection, changed));
                    }
                    (Err((why, _)), Turn::First) | (Err((why, true)), Turn::Again) => {
                        Error::lost("start a shell", why)
                    }
                    (Err((said, silent)), Turn::Later | Turn::Again) => {
                        slot.turn = if silent { Turn::Again } else { Turn::Later };
                        Error::NotStarted { said }
                    }
                }
            }
            Err(Error::NotStarted { said }) if turn == Turn::First => {
                Error::lost("start a shell", said)
            }
            Err(error) => {
                if matches!(error, Error::NotStarted { .. }) {
                    slot.turn = Turn::Later;
                }
                error
            }
        };
        Err(self.lost(error).await)
    }

    fn state_file(&self, saved: u64) -> String {
        script::state_file(self.place.shell_state(), saved)
    }

    /// The error of a shell that could not be had, with what has become of the place where that explains it. Only of a place that says that it runs
    /// nothing but its shells is lost.
    pub(super) async fn lost(&self, error: Error) -> Error {
        let state = timeout(STATE, self.place.state()).await;
        let cause = match (state, error) {
            (Ok(Err(unknown)), Error::NotStarted { .. }) => return unknown,
            (Ok(Ok(PlaceState::Running) | Err(_)), error) => return error,
            (Ok(Ok(PlaceState::Paused)), _) => Cause::from("it is paused"),
            (Ok(Ok(PlaceState::Gone)), _) => Cause::from("it has been removed"),
            (
                Ok(Ok(PlaceState::Exited {
                    out_of_memory: true,
                    ..
                })),
                _,
            ) => Cause::from("it ran out of memory and was ended"),
            (Ok(Ok(PlaceState::Exited { code, .. })), _) => Cause::from(format!(
                "its main process ended with code {}",
                code.map_or_else(|| String::from("unknown"), |code| code.to_string())
            )),
            (Err(late), _) => Cause::from(late),
        };
        Error::lost("start a shell", cause)
    }
}

/// Text for the model about a new shell; `changed` says what the image's own did, where it is another one.
fn told(note: &str, changed: Option<String>) -> String {
    match changed {
        None => note.to_owned(),
        Some(why) => format!(
            "The image's own shell does not start any more in this sandbox ({why}), so commands run in a plain `sh`. {note}"
        ),
    }
}
