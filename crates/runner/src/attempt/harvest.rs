//! The end of an attempt: the diff taken, split, and on disk, whatever the ending was.

use std::io::Write;
use std::time::Duration;

use patch::PathClasses;
use sandbox::Sandbox;
use sandbox::repository::{PatchParts, WorkspaceDiff};
use schema::journal::{EmptyReason, OnBase, PatchSummary};
use schema::{FailureKind, Outcome, StopReason};
use tokio::sync::Semaphore;

use super::failure::Failure;
use crate::error::chain;
use crate::store::{AttemptDirectory, atomic};

/// Time for ending what runs in a sandbox before the diff.
const QUIET_LIMIT: Duration = Duration::from_secs(10);

/// Diffs that are taken at once: a run that is told to end takes all of them together.
static TURNS: Semaphore = Semaphore::const_new(4);

/// Time for the diff.
const DIFF_LIMIT: Duration = Duration::from_mins(2);

/// What the workspace held at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Harvest {
    /// Everything that changed.
    pub full: Vec<u8>,
    /// The same without tests.
    pub model: Vec<u8>,
    /// Files in the model patch.
    pub files: usize,
    /// Files of class `runner_config` in it.
    pub runner_config: Vec<String>,
    /// Files of class `test` that were left out.
    pub tests: usize,
    /// What changed and is in no patch, and why.
    pub omissions: Vec<String>,
    /// How the patches fare on the commit that the row names.
    pub on_base: Option<OnBase>,
}

/// Ends what runs in the sandbox and takes the diff.
///
/// # Errors
/// When the sandbox is gone or the diff cannot be taken: that is never an empty patch.
pub async fn harvest(sandbox: &Sandbox, classes: &PathClasses) -> Result<Harvest, Failure> {
    // Time that passes before it is its turn is none of its own. The semaphore is never closed.
    let _turn = TURNS.acquire().await;
    let taken = tokio::time::timeout(DIFF_LIMIT, take(sandbox, classes));
    taken.await.map_err(|_| Failure {
        kind: FailureKind::EnvironmentLost,
        message: format!("the diff took longer than {} s", DIFF_LIMIT.as_secs()),
    })?
}

/// Takes the diff, splits it, and sees that what is handed on applies.
async fn take(sandbox: &Sandbox, classes: &PathClasses) -> Result<Harvest, Failure> {
    let diff = sandbox.last_diff(QUIET_LIMIT).await;
    let diff = diff.map_err(|error| match error {
        // There is more of the workspace than can be compared.
        sandbox::Error::Refused(message) => Failure {
            kind: FailureKind::Check,
            message,
        },
        error => error.into(),
    })?;
    let omissions = omissions(&diff);
    if diff.full.is_empty() {
        return Ok(Harvest {
            omissions,
            ..Harvest::default()
        });
    }
    let split = patch::split(&diff.full, classes).map_err(|error| Failure {
        kind: FailureKind::Internal,
        message: format!("our own diff cannot be read: {}", chain(&error)),
    })?;
    let tests = split.test_files.len();
    let parts = PatchParts {
        full: diff.full,
        model: split.model,
        left_out: split.test_files,
    };
    let proof = sandbox.prove(parts.clone()).await?;
    if let Some(fault) = proof.fault {
        return Err(Failure {
            kind: FailureKind::Internal,
            message: format!("the patch without tests is wrong: {fault}"),
        });
    }
    Ok(Harvest {
        full: parts.full,
        model: parts.model,
        files: split.source_files.len() + split.runner_config_files.len(),
        runner_config: split
            .runner_config_files
            .iter()
            .map(|path| path.to_str_lossy().into_owned())
            .collect(),
        tests,
        omissions,
        on_base: proof.on_base,
    })
}

fn omissions(diff: &WorkspaceDiff) -> Vec<String> {
    let more = diff.unlisted_omissions;
    diff.omissions
        .iter()
        .map(|omission| format!("{}: {}", omission.path, omission.reason))
        .chain((more > 0).then(|| format!("and {more} more")))
        .collect()
}

impl Harvest {
    /// Writes `full.patch` and `model.patch`, synced.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write(&self, directory: &AttemptDirectory) -> Result<(), Failure> {
        for (path, patch) in [
            (directory.full_patch(), &self.full),
            (directory.model_patch(), &self.model),
        ] {
            atomic::replace(&path, |file| file.write_all(patch))
                .map_err(|error| Failure::file("write", &path, &error))?;
        }
        Ok(())
    }

    /// The summary for the journal.
    pub fn summary(&self, outcome: &Outcome, edited: bool) -> PatchSummary {
        PatchSummary {
            bytes: self.model.len() as u64,
            files: self.files,
            full_bytes: self.full.len() as u64,
            runner_config: self.runner_config.clone(),
            empty_reason: self
                .model
                .is_empty()
                .then(|| self.empty_reason(outcome, edited)),
            on_base: self.on_base,
        }
    }

    fn empty_reason(&self, outcome: &Outcome, edited: bool) -> EmptyReason {
        if matches!(outcome, Outcome::Failed { .. } | Outcome::Cancelled) {
            EmptyReason::Failed
        } else if self.tests > 0 {
            EmptyReason::TestsOnly
        } else if !self.omissions.is_empty() {
            EmptyReason::IgnoredOnly
        } else if edited {
            EmptyReason::Reverted
        } else if stopped_by_limit(outcome) {
            EmptyReason::Limit
        } else {
            EmptyReason::NeverEdited
        }
    }
}

fn stopped_by_limit(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Stopped { reason } => match reason {
            StopReason::MaxSteps
            | StopReason::MaxWallTime
            | StopReason::MaxCost
            | StopReason::MaxTokens
            | StopReason::ContextExhausted => true,
            StopReason::FormatErrors
            | StopReason::NoToolCalls
            | StopReason::Stuck
            | StopReason::CompletionRejected
            | StopReason::AgentExited => false,
        },
        Outcome::Completed | Outcome::Failed { .. } | Outcome::Cancelled => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopped(reason: StopReason) -> Outcome {
        Outcome::Stopped { reason }
    }

    #[test]
    fn an_empty_patch_has_a_reason() {
        let reason = |harvest: Harvest, outcome: Outcome, edited| {
            harvest.summary(&outcome, edited).empty_reason
        };
        let nothing = Harvest::default;
        let tests = Harvest {
            full: b"x".to_vec(),
            tests: 1,
            ..nothing()
        };
        let ignored = Harvest {
            omissions: vec!["a.o: ignored".into()],
            ..nothing()
        };
        let limit = || stopped(StopReason::MaxSteps);
        assert_eq!(reason(nothing(), limit(), false), Some(EmptyReason::Limit));
        assert_eq!(
            reason(nothing(), stopped(StopReason::Stuck), false),
            Some(EmptyReason::NeverEdited)
        );
        assert_eq!(
            reason(nothing(), limit(), true),
            Some(EmptyReason::Reverted)
        );
        assert_eq!(reason(tests, limit(), true), Some(EmptyReason::TestsOnly));
        assert_eq!(
            reason(ignored, limit(), true),
            Some(EmptyReason::IgnoredOnly)
        );
        assert_eq!(
            reason(nothing(), Outcome::Cancelled, true),
            Some(EmptyReason::Failed)
        );
        let model = Harvest {
            model: b"x".to_vec(),
            ..nothing()
        };
        assert_eq!(reason(model, limit(), true), None);
    }
}
