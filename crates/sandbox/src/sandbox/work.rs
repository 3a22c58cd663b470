//! The work in a sandbox: what changed since its start, and patches that are put on it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::Sandbox;
use crate::error::Error;
use crate::place::Files;
use crate::repository::{
    self, Inside, PatchParts, PatchProof, Staged, Staging, WorkspaceDiff, Worktree,
};

impl Sandbox {
    /// Compares the repository with its sealed start.
    ///
    /// # Errors
    /// `Lost` or `Disk`: never an empty patch instead.
    pub async fn diff(&self) -> Result<WorkspaceDiff, Error> {
        match self.place.files() {
            Files::Host(workdir) => {
                let (prepared, start) = (Arc::clone(&self.prepared), Arc::clone(&self.start));
                let workdir = workdir.to_owned();
                repository::work(move || repository::diff(&prepared, &start, &workdir)).await
            }
            Files::Archive(archives) => {
                let diff = Inside::new(self.place.as_ref(), archives)
                    .diff(&self.prepared, &self.start)
                    .await?;
                self.not_silently_full()?;
                Ok(diff)
            }
        }
    }

    /// Applies the workspace's patch and the part of it that is handed on to the trees in memory that they are meant for. The workspace is not looked at.
    ///
    /// # Errors
    /// When the full patch is not one that [`Self::diff`] gave, or the sealed repository cannot be read.
    pub async fn prove(&self, parts: PatchParts) -> Result<PatchProof, Error> {
        let prepared = Arc::clone(&self.prepared);
        repository::work(move || repository::prove(&prepared, &parts)).await
    }

    /// Ends what runs in the sandbox and compares the repository with its sealed start. The next command opens a new shell.
    ///
    /// # Errors
    /// As [`Self::diff`]. That something still runs after `deadline` is no error: it is told in the log.
    pub async fn last_diff(&self, deadline: Duration) -> Result<WorkspaceDiff, Error> {
        self.close_gateway().await;
        if let Ok(Some(view)) = timeout(deadline, self.quiet_view()).await
            && let Some(diff) = self.diff_of(view).await
        {
            self.not_silently_full()?;
            return Ok(diff);
        }
        if let Err(error) = self.stop_processes(deadline).await {
            tracing::warn!(sandbox = self.id().0, %error, "something still runs in a sandbox whose diff is taken");
        }
        self.diff().await
    }

    /// The workspace as this machine sees it, once everything that ran in the sandbox is ended; `None` where that cannot be.
    async fn quiet_view(&self) -> Option<Worktree> {
        if !self.start.is_seen_whole() || !self.agent.clear().await {
            return None;
        }
        self.place.view().await.map(Worktree::of)
    }

    /// The workspace as this machine sees it, to be written into as its owner; `None` where that cannot be.
    async fn writable_view(&self) -> Option<Worktree> {
        if !self.start.is_seen_whole() || self.place.loses_writes() {
            return None;
        }
        let view = self.place.view().await.map(Worktree::of)?;
        view.for_its_owner().ok()
    }

    /// The diff of an opened workspace; `None` where it cannot be read.
    async fn diff_of(&self, view: Worktree) -> Option<WorkspaceDiff> {
        let (prepared, start) = (Arc::clone(&self.prepared), Arc::clone(&self.start));
        let workdir = self.workdir().to_owned();
        let diff =
            repository::work(move || repository::diff_of(&prepared, &start, &view, &workdir));
        match diff.await {
            Ok(diff) => Some(diff),
            Err(error) => {
                tracing::debug!(sandbox = self.id().0, %error, "the workspace is read by the engine instead");
                None
            }
        }
    }

    /// Puts a patch on the workspace in the first of the official ways that works, then the tests in their place.
    ///
    /// # Errors
    /// When the workspace cannot be read or written, or a program that the ways need cannot be run; a patch that does not apply is `Rejected`, not an
    /// error.
    pub async fn stage(&self, staging: Staging) -> Result<Staged, Error> {
        match self.place.files() {
            Files::Host(workdir) => {
                let (prepared, start) = (Arc::clone(&self.prepared), Arc::clone(&self.start));
                let workdir = workdir.to_owned();
                let private = self.place.private_directory();
                repository::work(move || {
                    repository::stage(&prepared, &start, &workdir, &private, &staging)
                })
                .await
            }
            Files::Archive(archives) => {
                if let Some(view) = self.writable_view().await {
                    let (prepared, start) = (Arc::clone(&self.prepared), Arc::clone(&self.start));
                    let (at, private) = (self.workdir().to_owned(), self.place.private_directory());
                    return repository::work(move || {
                        repository::stage_in(&prepared, &start, &view, &at, &private, &staging)
                    })
                    .await;
                }
                Inside::new(self.place.as_ref(), archives)
                    .stage(&self.agent, &self.prepared, &self.start, staging)
                    .await
            }
        }
    }
}
