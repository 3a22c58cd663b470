//! A run in the form that others want it in.

mod leaderboard;
mod papers;

pub use leaderboard::{Exported, leaderboard};
