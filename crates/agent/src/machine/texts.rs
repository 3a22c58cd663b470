//! What the machine says to the model. None of it holds a time, a date or a random value: the same script must give the same requests.

use schema::{Outcome, StopReason};

pub(super) const NO_OUTPUT: &str = "[no output]";

pub(super) const NUDGE: &str = "Your last message called no tool, so nothing happened. Go on with the task by calling a tool. When the work is complete and checked, call `task_done`; the task ends in no other way.";

pub(super) const CUT_TEXT: &str = "Your last message hit the limit on its length and was cut. Go on with shorter messages, and call a tool in each.";

pub(super) const CUT_CALL: &str = "Not run: the message hit the limit on its length, so this call may be cut. Send it again in a shorter message; write large files in several parts.";

pub(super) const DUPLICATE_DONE: &str =
    "`task_done` was called more than once in this message; the other call is the one that counts.";

pub(super) const REPEATING: &str = "You have made the same calls with the same results several times now. They will not bring anything else. Look at what the results say, and try something different; the attempt is stopped when the repetition goes on.";

pub(super) const SAME_ERROR: &str = "Your calls have failed with the same kind of error many times in a row. Find out why before you try again: look at the file, the directory or the command that the error names.";

pub(super) const INTERRUPTED: &str =
    "[interrupted: the call may have run, in part or whole; look before you repeat it]";

pub(super) const NOT_STARTED: &str = "[not started: the work was interrupted before this call]";

/// The answer to a call that is still open when the attempt ends.
pub(super) fn left_open(outcome: &Outcome, started: bool) -> String {
    let run = if started {
        "interrupted, may have run in part"
    } else {
        "not run"
    };
    let why = match outcome {
        Outcome::Completed => return "The work is accepted.".to_owned(),
        Outcome::Cancelled => "the attempt was cancelled",
        Outcome::Stopped {
            reason: StopReason::MaxWallTime,
        } => "the time for the task is used up",
        Outcome::Stopped {
            reason: StopReason::Stuck,
        } => "the same calls gave the same results too often",
        Outcome::Stopped { .. } => "the attempt was stopped",
        Outcome::Failed { .. } => "the attempt failed",
    };
    format!("[{run}: {why}]")
}
