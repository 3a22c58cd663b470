//! What `task_done` has to pass.

use std::fmt::Write as _;
use std::time::Duration;

use schema::event::CheckVerdict;
use tokio_util::sync::CancellationToken;

use crate::ports::{Command, CommandEnd, CommandOutput, DiffSummary, Workspace, WorkspaceError};
use crate::tools::output;

/// Paths that a message names at most.
const NAMED_PATHS: usize = 10;

/// One thing that must hold before an attempt counts as completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// Something other than tests was changed (`--must-patch`).
    NonEmptyPatch,
    /// A command exits with 0.
    VerifyCommand {
        /// Shell text, run in the repository's directory apart from the agent's shell.
        command: String,
        /// How long it may take.
        timeout: Duration,
    },
}

/// The sandbox failed under a check.
pub(crate) type Lost = (schema::FailureKind, String);

/// Runs the checks in order, up to the first that does not accept.
pub(crate) async fn run(
    checks: &[Check],
    workspace: &dyn Workspace,
    time_left: Option<Duration>,
    max_output: usize,
    cancel: &CancellationToken,
) -> Result<Vec<CheckVerdict>, Lost> {
    let mut verdicts = Vec::with_capacity(checks.len());
    for check in checks {
        let verdict = match check {
            Check::NonEmptyPatch => match workspace.diff().await {
                Ok(diff) => judge_diff(&diff),
                Err(error) => broken("the diff could not be taken", error)?,
            },
            Check::VerifyCommand { command, timeout } => {
                let command = Command {
                    text: command.clone(),
                    timeout: time_left.map_or(*timeout, |left| left.min(*timeout)),
                    idle: None,
                    cancel: cancel.clone(),
                };
                match workspace.exec(&command).await {
                    Ok(output) => judge_command(&output, &command, max_output),
                    Err(error) => broken("the verify command could not be run", error)?,
                }
            }
        };
        let accepted = verdict == CheckVerdict::Accept;
        verdicts.push(verdict);
        if !accepted {
            break;
        }
    }
    Ok(verdicts)
}

/// A failure of the environment ends the attempt as such; anything else only breaks the check. Neither is ever an empty patch.
fn broken(what: &str, error: WorkspaceError) -> Result<CheckVerdict, Lost> {
    use schema::FailureKind::{
        Check, EnvironmentDisk, EnvironmentImage, EnvironmentLost, EnvironmentRegistry,
        EnvironmentStart, Internal, Model,
    };
    match error {
        WorkspaceError::Failed {
            kind:
                kind @ (EnvironmentImage | EnvironmentRegistry | EnvironmentStart | EnvironmentLost
                | EnvironmentDisk | Internal),
            message,
        } => Err((kind, message)),
        WorkspaceError::Failed {
            kind: Check | Model(_),
            message,
        }
        | WorkspaceError::Refused(message) => Ok(CheckVerdict::Broken {
            message: format!("{what}: {message}"),
        }),
    }
}

/// Whether a diff is one that may end the work.
pub fn judge_diff(diff: &DiffSummary) -> CheckVerdict {
    if !diff.counted.is_empty() {
        return CheckVerdict::Accept;
    }
    let message = if diff.tests.is_empty() {
        "Not accepted: no file of the repository has changed. (Files that git ignores and files outside the repository do not count.) Make the change that the task asks for, check it, then call `task_done` again.".to_owned()
    } else {
        format!(
            "Not accepted: only tests were changed ({}). Tests do not count as a solution; change the code that they test, then call `task_done` again.",
            list(&diff.tests)
        )
    };
    CheckVerdict::Reject { message }
}

fn list(paths: &[String]) -> String {
    let mut named = paths
        .iter()
        .take(NAMED_PATHS)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    if paths.len() > NAMED_PATHS {
        let _ = write!(named, " and {} more", paths.len() - NAMED_PATHS);
    }
    named
}

fn judge_command(output: &CommandOutput, command: &Command, max_output: usize) -> CheckVerdict {
    match output.end {
        CommandEnd::Exited(0) | CommandEnd::ShellEnded(0) => CheckVerdict::Accept,
        CommandEnd::Cancelled => CheckVerdict::Broken {
            message: "the verify command was cancelled".to_owned(),
        },
        CommandEnd::Exited(_)
        | CommandEnd::ShellEnded(_)
        | CommandEnd::TimedOut
        | CommandEnd::Idle
        | CommandEnd::OutputLimit => CheckVerdict::Reject {
            message: format!(
                "Not accepted: the check of the work failed. Its output is below. Mend what it shows, then call `task_done` again.\n{}",
                output::render(output, command, max_output)
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(paths: &[&str]) -> Vec<String> {
        paths.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn one_counted_file_is_enough() {
        let diff = DiffSummary {
            counted: paths(&["src/latest_version.py"]),
            tests: paths(&["tests/a.py"]),
        };
        assert_eq!(judge_diff(&diff), CheckVerdict::Accept);
    }

    #[test]
    fn a_rejection_says_why() {
        let CheckVerdict::Reject { message } = judge_diff(&DiffSummary::default()) else {
            panic!("an empty diff was accepted");
        };
        assert!(message.contains("no file of the repository has changed"));
        let many: Vec<String> = (0..12).map(|n| format!("tests/{n}.py")).collect();
        let only_tests = DiffSummary {
            counted: vec![],
            tests: many,
        };
        let CheckVerdict::Reject { message } = judge_diff(&only_tests) else {
            panic!("tests alone were accepted");
        };
        assert!(message.contains("tests/9.py and 2 more"), "{message}");
    }
}
