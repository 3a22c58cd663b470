//! The repository in a place whose files the host cannot reach: it goes in and comes out by archives, and no program in there is asked about it.

mod fetch;
mod image;
mod index;
mod pack_in;
mod remove;
mod start;

use std::collections::HashSet;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::io::SyncIoBridge;

use super::apply::{self, Staged, Staging};
use super::archive::{self, ArchiveError};
use super::checkout::Start;
use super::diff::{WorkspaceDiff, patch_of};
use super::excess;
use super::prepare::Prepared;
use super::snapshot::{Keep, Reader, Snapshot};
use super::survey::{Survey, Want, survey};
use super::work;
use crate::error::{Cause, Error};
use crate::place::{Archive, Archives, Place};
use crate::shell::Shell;

pub(crate) use image::ImageRepository;
pub use image::{Fallback, ImageRepositories};
pub(crate) use pack_in::Packer;
pub use start::Origin;
pub(crate) use start::{ImageNames, Started, start};

/// How often a workspace is read again for contents that seemed not to matter.
const READINGS: usize = 4;
/// Buffer between an engine's stream and its reader.
const BUFFER: usize = 256 << 10;

/// A place's workspace, by archives.
pub(crate) struct Inside<'a> {
    place: &'a dyn Place,
    archives: &'a dyn Archives,
    private: PathBuf,
}

impl<'a> Inside<'a> {
    pub(crate) fn new(place: &'a dyn Place, archives: &'a dyn Archives) -> Self {
        Self {
            place,
            archives,
            private: place.private_directory(),
        }
    }

    /// Compares the workspace with its start.
    pub(crate) async fn diff(
        &self,
        prepared: &Arc<Prepared>,
        start: &Arc<Start>,
    ) -> Result<WorkspaceDiff, Error> {
        let (_, found) = self
            .look(prepared, start, Keep::Differing, Want::Contents)
            .await?;
        self.patch_of(prepared, found).await
    }

    async fn patch_of(
        &self,
        prepared: &Arc<Prepared>,
        found: Survey,
    ) -> Result<WorkspaceDiff, Error> {
        let (prepared, place) = (Arc::clone(prepared), self.place.workdir().to_owned());
        work(move || patch_of(&prepared, found, &place)).await
    }

    /// Stages a patch on the workspace.
    pub(crate) async fn stage(
        &self,
        shell: &Shell,
        prepared: &Arc<Prepared>,
        start: &Arc<Start>,
        staging: Staging,
    ) -> Result<Staged, Error> {
        let (snapshot, found) = self
            .look(prepared, start, Keep::Differing, Want::Contents)
            .await?;
        let operation = format!("apply a patch in {}", self.place.workdir());
        let (prepared, private) = (Arc::clone(prepared), self.private.clone());
        let planned = work(move || {
            apply::plan(&prepared, found, &staging, &private)
                .map_err(|error| Error::lost(operation, error))
        });
        let (staged, steps) = planned.await?;
        let (gone, written): (Vec<_>, Vec<_>) =
            steps.into_iter().partition(|step| step.now.is_none());
        let gone: Vec<Vec<u8>> = gone.into_iter().map(|step| step.path).collect();
        // Directories that removing leaves empty go too.
        let emptied = gone.iter().flat_map(|path| parents(path)).collect();
        remove::files(self.place, shell, &gone).await?;
        self.install(snapshot, emptied, written).await?;
        Ok(staged)
    }

    /// Takes away what a start left that the workspace's git would stumble over. What matters is gone already: failing is no harm.
    pub(crate) async fn tidy(&self, shell: &Shell, start: &Start) {
        if start.emptied().is_empty() {
            return;
        }
        let removed = remove::directories(self.place, shell, start.emptied()).await;
        if let Err(error) = removed {
            tracing::warn!(sandbox = self.place.id().0, %error, "empty directories of submodules' repositories stay");
        }
    }

    /// Takes away the files that a change of the start commit removes: before this the workspace is not what the start says.
    pub(crate) async fn complete(&self, shell: &Shell, start: &Start) -> Result<(), Error> {
        remove::files_alone(self.place, shell, &start.to_remove).await
    }

    /// Writes files into the workspace, as its owner's.
    async fn install(
        &self,
        snapshot: Snapshot,
        emptied: HashSet<Vec<u8>>,
        steps: Vec<apply::Step>,
    ) -> Result<(), Error> {
        if steps.is_empty() {
            return Ok(());
        }
        let at = self.place.workdir();
        self.put(at, move |writer| {
            let mut tree = Packer::new(writer, snapshot.owner());
            let missing = |directory: &[u8]| {
                emptied.contains(directory) || !snapshot.has_directory(directory)
            };
            for step in steps {
                let Some((mode, content)) = step.now else {
                    continue;
                };
                tree.parents(&step.path, missing)?;
                tree.tracked(&step.path, mode, &content)?;
            }
            tree.finish()
        })
        .await
    }

    /// Extracts what `write` writes below `at`.
    async fn put(
        &self,
        at: &str,
        write: impl FnOnce(SyncIoBridge<tokio::io::DuplexStream>) -> std::io::Result<()>
        + Send
        + 'static,
    ) -> Result<(), Error> {
        let (near, far) = tokio::io::duplex(BUFFER);
        let near = SyncIoBridge::new(near);
        let operation = format!("write the files below {at}");
        let writing = tokio::task::spawn_blocking(move || write(near));
        let (put, written) = tokio::join!(self.archives.put(at, Box::new(far)), writing);
        put?;
        match written {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Error::lost(operation, error)),
            Err(panic) => Err(Error::lost(operation, panic)),
        }
    }

    /// The workspace and what differs in it from the start.
    async fn look(
        &self,
        prepared: &Arc<Prepared>,
        start: &Arc<Start>,
        mut keep: Keep,
        want: Want,
    ) -> Result<(Snapshot, Survey), Error> {
        for _ in 0..READINGS {
            let archive = self.workspace().await?;
            let (snapshot, found) = self.read(archive, prepared, start, keep, want).await?;
            match snapshot.lacking() {
                None => return Ok((snapshot, found)),
                Some(paths) => keep = Keep::Only(paths),
            }
        }
        Err(Error::lost(
            format!("read {}", self.place.workdir()),
            "its files change while they are read",
        ))
    }

    /// What differs in an archive of the workspace.
    async fn read(
        &self,
        archive: Option<Archive>,
        prepared: &Arc<Prepared>,
        start: &Arc<Start>,
        keep: Keep,
        want: Want,
    ) -> Result<(Snapshot, Survey), Error> {
        let (prepared, start) = (Arc::clone(prepared), Arc::clone(start));
        let (at, private) = (self.place.workdir().to_owned(), self.private.clone());
        let archive = archive.map(SyncIoBridge::new);
        let lost = move |error: Cause| excess::failed(format!("read {at}"), error);
        work(move || {
            let reader = Reader::new(&prepared.files, &start.baseline, keep, &private)
                .map_err(|error| lost(error.into()))?;
            let snapshot = fill(reader, archive).map_err(|error| lost(error.into()))?;
            let found =
                survey(&prepared, &start, &snapshot, want).map_err(|error| lost(error.into()))?;
            Ok((snapshot, found))
        })
        .await
    }

    /// The workspace's archive; `None` when the agent removed it.
    async fn workspace(&self) -> Result<Option<Archive>, Error> {
        self.get(self.place.workdir()).await
    }

    async fn get(&self, at: &str) -> Result<Option<Archive>, Error> {
        match self.archives.get(at).await {
            Ok(archive) => Ok(Some(archive)),
            Err(Error::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The directories above a path, without the top.
fn parents(path: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    memchr::memchr_iter(b'/', path).map(|end| path[..end].to_vec())
}

fn fill(
    mut reader: Reader<'_>,
    archive: Option<SyncIoBridge<Archive>>,
) -> Result<Snapshot, ArchiveError> {
    if let Some(archive) = archive {
        let buffered = BufReader::with_capacity(BUFFER, archive);
        archive::read(buffered, archive::MAX_STREAM, |entry, content| {
            reader.entry(&entry, content)
        })?;
    }
    Ok(reader.finish())
}
