//! `bash`: a command in the agent's shell.

use std::time::Duration;

use super::action::Bash;
use super::{CallLimits, Said, Toolbox, Trouble, output};
use crate::ports::{Command, CommandEnd, CommandOutput, WorkspaceError};

/// Ends the shell, whichever it is, also one that has a function of its own called `exit`; the workspace starts a new one and says what was kept.
const RESTART: &str = "command exit 0";

impl Toolbox {
    pub(super) async fn bash(&mut self, bash: &Bash, limits: CallLimits) -> Result<Said, Trouble> {
        match bash {
            Bash::Run { command, timeout } => {
                let wanted = timeout.unwrap_or(self.limits.command_timeout);
                let command = Command {
                    idle: self.limits.command_idle_timeout,
                    ..self.command(command.clone(), wanted, limits)
                };
                let output = self.workspace.run(&command).await?;
                self.said(&output, &command).await
            }
            Bash::Restart => {
                let command = self.command(RESTART.to_owned(), self.limits.command_timeout, limits);
                let output = self.workspace.run(&command).await?;
                match output.end {
                    // The workspace says what was kept; once is enough.
                    CommandEnd::ShellEnded(_) => {
                        Ok(Said::done(output.shell_note.unwrap_or_else(|| {
                            "The shell was started afresh.".to_owned()
                        })))
                    }
                    CommandEnd::Exited(_)
                    | CommandEnd::TimedOut
                    | CommandEnd::Idle
                    | CommandEnd::OutputLimit
                    | CommandEnd::Cancelled => self.said(&output, &command).await,
                }
            }
        }
    }

    pub(super) fn command(&self, text: String, wanted: Duration, limits: CallLimits) -> Command {
        let timeout = wanted.min(self.limits.max_command_timeout);
        Command {
            text,
            timeout: limits.time_left.map_or(timeout, |left| left.min(timeout)),
            idle: None,
            cancel: limits.cancel,
        }
    }

    pub(super) async fn said(
        &self,
        output: &CommandOutput,
        command: &Command,
    ) -> Result<Said, Trouble> {
        let cut = output.total > self.limits.max_observation_bytes as u64;
        if cut {
            match self.workspace.keep_output(output).await {
                Ok(()) => {}
                Err(WorkspaceError::Refused(message)) => {
                    // The model still gets its part; only the whole is missing from the store.
                    tracing::warn!(message, "an output could not be kept");
                }
                Err(error @ WorkspaceError::Failed { .. }) => return Err(error.into()),
            }
        }
        let (exit_code, is_error, timed_out) = match output.end {
            CommandEnd::Exited(code) | CommandEnd::ShellEnded(code) => (Some(code), false, false),
            CommandEnd::TimedOut => (None, true, true),
            CommandEnd::Idle | CommandEnd::OutputLimit | CommandEnd::Cancelled => {
                (None, true, false)
            }
        };
        Ok(Said {
            text: output::render(output, command, self.limits.max_observation_bytes),
            is_error,
            exit_code,
            timed_out,
            output_sha256: cut.then(|| output.sha256.clone()),
            output_bytes: Some(output.total),
        })
    }
}
