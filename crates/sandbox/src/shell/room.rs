//! Whether there is room for the processes of a command: what its worker says of that before it begins, and how often it is asked.

use std::time::Duration;

use super::Means;
use super::conversation::Answer;

/// How often everything is ended for one command before it has to take its chance.
const SWEEPS: u32 = 3;
/// How often a worker is asked again while there are more and more processes: for half a second. A bomb has filled its place by then, or will not soon.
const LOOKS: u32 = 25;
/// How long it is left alone between two looks.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// What was done for one command until it could begin.
#[derive(Debug, Default)]
pub(super) struct Room {
    sweeps: u32,
    looks: u32,
}

impl Room {
    /// Whether the command is to begin however many processes there are. Those of this machine are not the place's own.
    pub(super) fn is_had(&self, means: &Means) -> bool {
        matches!(means, Means::Host) || self.sweeps >= SWEEPS || self.looks >= LOOKS
    }

    /// Notes an answer; whether the command is to be sent again.
    pub(super) fn is_looked_for(&mut self, answer: Answer) -> bool {
        match answer {
            Answer::Full => self.sweeps += 1,
            Answer::Growing => self.looks += 1,
            Answer::Ended(_) | Answer::Dead { .. } | Answer::Closed { .. } => return false,
        }
        true
    }
}
