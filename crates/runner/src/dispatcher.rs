//! The dispatcher: one task owns the run's state, awaits one bounded channel, and writes the journal before it acts.

pub mod live;

pub use live::{AttemptStatus, LiveState, Phase, RunEnd, Sink};
