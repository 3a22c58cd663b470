//! The agent as a state machine without I/O.
//!
//! [`Machine::decide`] turns an input into events and changes nothing; [`Machine::apply`] is the only mutation; [`Machine::pending`] says what
//! should be going on. An input from outside becomes one *fact*; the decisions that follow from it are taken one by one with
//! [`Input::Proceed`], each on the state that the last one left, until none is due. So a log that ends anywhere, also between a fact and its
//! decisions, folds into a machine that goes on from there.

mod apply;
mod decide;
mod effect;
mod replay;
mod state;
mod texts;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use schema::{Elapsed, Event, Outcome};

pub use self::effect::{Effect, Input};
pub use self::replay::{Divergence, replay};
pub use self::state::Phase;
use self::state::{Progress, State};
use crate::budget::Spent;
use crate::condense::Window;
use crate::history::{Encode, History};
use crate::limits::Limits;
use crate::tools::catalog::Catalog;

/// What a machine is made with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// Limits of the attempt.
    pub limits: Limits,
    /// What the model can hold.
    pub window: Window,
}

/// One attempt of an agent.
pub struct Machine {
    settings: Settings,
    catalog: Arc<Catalog>,
    encode: Arc<dyn Encode>,
    progress: Progress,
    history: History,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine")
            .field("progress", &self.progress)
            .field("history", &self.history)
            .finish_non_exhaustive()
    }
}

impl PartialEq for Machine {
    /// Whether both are at the same point of the same attempt.
    fn eq(&self, other: &Self) -> bool {
        self.progress == other.progress && self.history == other.history
    }
}

impl Machine {
    /// A machine that has not started.
    pub fn new(settings: Settings, catalog: Arc<Catalog>, encode: Arc<dyn Encode>) -> Self {
        Self {
            settings,
            catalog,
            encode,
            progress: Progress::default(),
            history: History::default(),
        }
    }

    /// A machine brought to the end of a log.
    pub fn fold<'a>(
        settings: Settings,
        catalog: Arc<Catalog>,
        encode: Arc<dyn Encode>,
        events: impl IntoIterator<Item = &'a Event>,
    ) -> Self {
        let mut machine = Self::new(settings, catalog, encode);
        for event in events {
            machine.apply(event);
        }
        machine
    }

    /// Takes an input and every decision that follows from it; `sink` gets each event before it is applied.
    ///
    /// # Errors
    /// The error of `sink`; the event that it refused is not applied.
    pub fn advance<E>(
        &mut self,
        at: Elapsed,
        input: Input,
        mut sink: impl FnMut(Event) -> Result<Event, E>,
    ) -> Result<(), E> {
        let mut events = self.decide(at, input);
        loop {
            for event in events {
                let event = sink(event)?;
                self.apply(&event);
            }
            events = self.decide(at, Input::Proceed);
            if events.is_empty() {
                return Ok(());
            }
        }
    }

    /// Where the attempt stands.
    pub fn phase(&self) -> Phase {
        self.progress.state.phase()
    }

    /// How it ended, once it has.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.progress.state {
            State::Finished(outcome) => Some(outcome),
            State::Idle
            | State::Ready
            | State::Condensing
            | State::AwaitingModel { .. }
            | State::Working { .. } => None,
        }
    }

    /// What was spent.
    pub fn spent(&self) -> &Spent {
        &self.progress.spent
    }

    /// The conversation: complete turns only.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The settings it was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
