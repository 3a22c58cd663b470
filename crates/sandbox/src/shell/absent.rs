//! What is told of commands when no shell starts any more: the sandbox is still there, and what became of its shells is whoever worked in it's own doing.

use std::path::Path;
use std::time::Duration;

use super::capture::Capture;
use super::renewal::Turn;
use super::{Captured, End, RunOptions};

/// Exit codes by which shells say that a program is not there, or cannot be run.
const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;

/// The result of a command that could not be run; `said` is what came instead of a shell.
pub(super) fn captured(
    said: &str,
    turn: Turn,
    options: &RunOptions,
    spool: &Path,
    elapsed: Duration,
) -> Captured {
    let code = if said.to_ascii_lowercase().contains("permission denied") {
        NOT_EXECUTABLE
    } else {
        NOT_FOUND
    };
    let mut capture = Capture::new(options.kept, spool);
    capture.push(format!("{}\n", told(said, turn)).as_bytes());
    Captured::new(capture.finish(), End::Exited(code), None, elapsed)
}

/// Text for the model.
pub(super) fn told(said: &str, turn: Turn) -> String {
    match turn {
        Turn::First | Turn::Later => format!(
            "No shell starts any more in this sandbox, so no command can be run in it: {said}. Its files can still be read and written."
        ),
        Turn::Again => format!(
            "No shell could be started in this sandbox just now: {said}. The next command tries again."
        ),
    }
}

/// Whether a command ended as one does that was not there to be run.
pub(crate) fn is_told_by(end: End) -> bool {
    matches!(end, End::Exited(NOT_FOUND | NOT_EXECUTABLE))
}
