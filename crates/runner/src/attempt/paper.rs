//! What the end of an attempt puts on disk.

use agent::ports::Clock as _;
use schema::{AttemptKey, FailureKind, Outcome};

use super::Life;
use super::failure::Failure;
use super::harvest::Harvest;
use crate::error::chain;
use crate::recorder::SharedTrajectory;
use crate::settings::PatchKind;
use crate::store::ledger::settles;
use crate::store::{AttemptDirectory, RunDirectory, derived};

impl Life<'_> {
    /// Ends the trajectory and writes the patches, all synced; then puts them where the attempt that counts lies.
    pub(super) async fn write(&mut self, outcome: &Outcome) -> Result<(), Failure> {
        if self.trajectory.is_none() {
            let header = self.header(None, "", "");
            self.begin_trajectory(&header)?;
        }
        let Some(trajectory) = self.trajectory.clone() else {
            return Ok(());
        };
        let paper = Paper {
            trajectory,
            at: self.clock.elapsed(),
            outcome: outcome.clone(),
            harvest: self.harvest.clone(),
            directory: self.directory.clone(),
            publish: (settles(outcome) || !self.job.settled).then(|| {
                (
                    self.context.run.clone(),
                    self.job.key.clone(),
                    self.context.identity.patch,
                )
            }),
        };
        // Waiting for the disk must not hold up the attempts that share this thread.
        tokio::task::spawn_blocking(move || paper.write())
            .await
            .unwrap_or_else(|panic| {
                Err(Failure {
                    kind: FailureKind::Internal,
                    message: panic.to_string(),
                })
            })
    }
}

/// What the end of an attempt puts on disk.
struct Paper {
    trajectory: SharedTrajectory,
    at: schema::Elapsed,
    outcome: Outcome,
    harvest: Option<Harvest>,
    directory: AttemptDirectory,
    publish: Option<(RunDirectory, AttemptKey, PatchKind)>,
}

impl Paper {
    fn write(self) -> Result<(), Failure> {
        let path = self.directory.trajectory();
        self.trajectory
            .with(|writer| {
                writer.finish(self.at, &self.outcome)?;
                writer.sync()
            })
            .map_err(|error| Failure::file("write", &path, &error))?;
        if let Some(harvest) = &self.harvest {
            harvest.write(&self.directory)?;
        }
        if let Some((run, key, kind)) = &self.publish {
            derived::publish(run, key, *kind).map_err(|error| Failure {
                kind: FailureKind::EnvironmentDisk,
                message: chain(&error),
            })?;
        }
        Ok(())
    }
}
