//! The tools: what a call does in the workspace, and what the model reads of it.

pub mod action;
mod arguments;
mod bash;
pub mod catalog;
mod edit;
pub mod output;
mod search;
mod specs;
mod think;

use std::sync::Arc;
use std::time::Duration;

use schema::event::ToolRun;
use schema::{FailureKind, ToolResult};
use tokio_util::sync::CancellationToken;

use self::action::Action;
use self::edit::Undo;
use crate::limits::Limits;
use crate::ports::{Workspace, WorkspaceError};

/// The sandbox failed under a tool: the attempt ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) kind: FailureKind,
    pub(crate) message: String,
}

/// What a tool says: text for the model, and what was measured.
#[derive(Debug, Default)]
pub(crate) struct Said {
    text: String,
    is_error: bool,
    exit_code: Option<i32>,
    timed_out: bool,
    output_sha256: Option<String>,
    output_bytes: Option<u64>,
}

impl Said {
    fn done(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    fn refused(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_error: true,
            ..Self::default()
        }
    }
}

/// Why a tool did not do what it was asked.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The model reads it and goes on.
    Refused(String),
    /// The attempt ends.
    Lost(Lost),
}

impl From<WorkspaceError> for Trouble {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Refused(message) => Self::Refused(message),
            WorkspaceError::Failed { kind, message } => Self::Lost(Lost { kind, message }),
        }
    }
}

/// Limits of one call.
#[derive(Debug, Clone)]
pub(crate) struct CallLimits {
    /// Wall time that the attempt has left.
    pub(crate) time_left: Option<Duration>,
    /// Interrupts the call.
    pub(crate) cancel: CancellationToken,
}

/// The tools of one attempt with what they remember.
pub(crate) struct Toolbox {
    workspace: Arc<dyn Workspace>,
    workdir: String,
    limits: Limits,
    undo: Undo,
}

impl Toolbox {
    pub(crate) fn new(workspace: Arc<dyn Workspace>, workdir: &str, limits: &Limits) -> Self {
        Self {
            workspace,
            workdir: workdir.trim_end_matches('/').to_owned(),
            limits: limits.clone(),
            undo: Undo::default(),
        }
    }

    /// Runs one call to its end.
    pub(crate) async fn run(
        &mut self,
        call_id: &str,
        action: &Action,
        limits: CallLimits,
    ) -> Result<ToolRun, Lost> {
        let said = match action {
            Action::Bash(bash) => self.bash(bash, limits).await,
            Action::Edit(edit) => self.edit(edit, limits).await,
            Action::Search(search) => self.search(search, limits).await,
            Action::Think(thought) => Ok(think::think(thought)),
            // The machine answers `task_done` itself.
            Action::Done => Ok(Said::done("The work is being checked.")),
        };
        let said = match said {
            Ok(said) => said,
            Err(Trouble::Refused(message)) => Said::refused(message),
            Err(Trouble::Lost(lost)) => return Err(lost),
        };
        Ok(ToolRun {
            output_bytes: said.output_bytes.unwrap_or(said.text.len() as u64),
            result: ToolResult {
                call_id: call_id.to_owned(),
                content: said.text,
                is_error: said.is_error,
            },
            exit_code: said.exit_code,
            timed_out: said.timed_out,
            output_sha256: said.output_sha256,
            elapsed_ms: 0,
        })
    }

    /// Where a path of the model's points: relative ones start in the repository.
    fn absolute(&self, path: &str) -> String {
        if path.starts_with('/') {
            path.to_owned()
        } else {
            let path = path.strip_prefix("./").unwrap_or(path);
            format!("{}/{path}", self.workdir)
        }
    }
}
