//! The repository of a fresh place: the image's own, sealed, or one from the host.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use tokio_util::io::SyncIoBridge;

use super::image::{Fallback, ImageRepositories, ImageRepository};
use super::index::index;
use super::pack_in::{Packer, REPOSITORY, settled};
use super::{BUFFER, Inside, Keep, Want};
use crate::error::Error;
use crate::repository::archive::{self, EntryKind};
use crate::repository::baseline::Baseline;
use crate::repository::change::StartChange;
use crate::repository::checkout::{DIRECTORIES, Start};
use crate::repository::prepare::Prepared;
use crate::repository::seal::SealRecord;
use crate::repository::snapshot::Owner;
use crate::repository::survey::Survey;
use crate::repository::work;

/// Where a sandbox's repository comes from.
#[derive(Clone)]
pub enum Origin {
    /// Checked out from one that was prepared on the host.
    Host(Arc<Prepared>),
    /// The image's own as it is found there, at its HEAD.
    Image {
        /// Those that are sealed already.
        repositories: Arc<ImageRepositories>,
        /// Commit that the row says it is at: only whether it is there is of interest.
        base_commit: Option<String>,
        /// What is done to it before anybody works in it.
        change: Option<Arc<StartChange>>,
        /// What is put in where the image has none.
        fallback: Option<Fallback>,
    },
}

/// The repository that a place has now, and how it looks.
pub(crate) type Started = (Arc<Prepared>, Start);

/// What an image is known by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ImageNames<'a> {
    /// As the user or the row names it: it may come to mean another image.
    pub(crate) given: &'a str,
    /// What says which image it is.
    pub(crate) digest: &'a str,
}

/// Gives a fresh place its sealed repository.
pub(crate) async fn start(
    inside: &Inside<'_>,
    origin: &Origin,
    image: ImageNames<'_>,
) -> Result<Started, Error> {
    match origin {
        Origin::Host(prepared) => inside.put_in(Arc::clone(prepared)).await,
        Origin::Image {
            repositories,
            base_commit,
            change,
            fallback,
        } => {
            let (base, change) = (base_commit.as_deref(), change.as_ref());
            let own = repositories.get(inside, image.digest, base, change).await;
            let workdir = inside.place.workdir();
            if let Some(own) = own.map_err(|error| of_image(error, image.given, workdir))? {
                return inside.put_back(&own).await;
            }
            match fallback {
                Some(fallback) => inside.put_in(fallback().await?).await,
                None => Err(unusable(
                    image.given,
                    format!("it has no git repository in {workdir}"),
                )),
            }
        }
    }
}

/// What is wrong with an image's own repository is so for every sandbox that is made of it.
fn of_image(error: Error, image: &str, workdir: &str) -> Error {
    match error {
        Error::Repository {
            problem, source, ..
        } => {
            let cause = source.map(|source| format!(": {source}"));
            let cause = cause.unwrap_or_default();
            unusable(
                image,
                format!("its repository in {workdir} cannot be used: {problem}{cause}"),
            )
        }
        other => other,
    }
}

fn unusable(image: &str, problem: String) -> Error {
    Error::Image {
        image: image.to_owned(),
        problem,
        hint: String::from(
            "name the directory where it has a repository (the row's `workdir`), or give the repository (the row's `repo_path`, or `--repos DIR`)",
        ),
    }
}

impl Inside<'_> {
    /// Puts the sealed repository in the place of the image's own.
    async fn put_back(&self, own: &Arc<ImageRepository>) -> Result<Started, Error> {
        if !self.unpacked(own).await? {
            let sealed = Arc::clone(own);
            self.put(self.place.workdir(), move |writer| {
                let mut packer = Packer::new(writer, sealed.owner);
                packer.repository(&sealed.prepared)?;
                packer.index(&sealed.index)?;
                for path in &sealed.submodules {
                    packer.emptied(path)?;
                }
                packer.finish()
            })
            .await?;
        }
        self.put_changes(own).await?;
        for path in &own.elsewhere {
            self.empty(path, own.owner).await?;
        }
        let verified = own.verified.get_or_try_init(|| async {
            Ok::<_, Error>(own.prepared.verified && self.is_sealed(&own.prepared).await?)
        });
        let gone = own.steps.iter().filter(|step| step.now.is_none());
        let start = Start {
            image: Some(Arc::clone(own)),
            to_remove: gone.map(|step| step.path.clone()).collect(),
            ..Start::new(own.seal(*verified.await?), Arc::clone(&own.baseline))
        };
        Ok((Arc::clone(&own.prepared), start))
    }

    /// The same by the image's own programs, where they are there and may; whether it was done.
    async fn unpacked(&self, own: &Arc<ImageRepository>) -> Result<bool, Error> {
        if !own.submodules.is_empty() || own.owner != Owner::of(self.place) {
            return Ok(false);
        }
        let sealed = Arc::clone(own);
        let measured = work(move || {
            let mut bytes = Bytes(0);
            own_repository(&sealed, &mut bytes)
                .map(|()| bytes.0)
                .map_err(|error| Error::start("measure the sealed repository", error))
        });
        let length = measured.await?;
        let (near, far) = tokio::io::duplex(BUFFER);
        let (sealed, near) = (Arc::clone(own), SyncIoBridge::new(near));
        let writing = tokio::task::spawn_blocking(move || own_repository(&sealed, near));
        let at = self.place.workdir();
        let unpacked = self
            .archives
            .unpack(at, REPOSITORY, length, Box::new(far))
            .await?;
        // Where nobody read it, it was not written to its end.
        let written = matches!(writing.await, Ok(Ok(())));
        Ok(unpacked && written)
    }

    /// Writes the files that a change of the start commit makes of the image's own.
    async fn put_changes(&self, own: &Arc<ImageRepository>) -> Result<(), Error> {
        if own.steps.iter().all(|step| step.now.is_none()) {
            return Ok(());
        }
        let sealed = Arc::clone(own);
        self.put(self.place.workdir(), move |writer| {
            let mut packer = Packer::new(writer, sealed.owner);
            for step in &sealed.steps {
                if let Some((mode, content)) = &step.now {
                    packer.parents(&step.path, |directory| {
                        sealed.new_directories.contains(directory)
                    })?;
                    packer.tracked(&step.path, *mode, content)?;
                }
            }
            packer.finish()
        })
        .await
    }

    /// Takes everything out of a directory of the place.
    async fn empty(&self, path: &str, owner: Owner) -> Result<(), Error> {
        let Some((parent, name)) = path.rsplit_once('/').filter(|(_, name)| !name.is_empty())
        else {
            return Ok(());
        };
        let parent = if parent.is_empty() { "/" } else { parent };
        let name = name.as_bytes().to_vec();
        self.put(parent, move |writer| {
            let mut packer = Packer::new(writer, owner);
            packer.emptied(&name)?;
            packer.finish()
        })
        .await
    }

    /// Checks a repository of the host out in the place.
    async fn put_in(&self, prepared: Arc<Prepared>) -> Result<Started, Error> {
        let blank = Arc::new(Start::new(
            SealRecord::new(&prepared, false),
            Arc::default(),
        ));
        let (before, found) = self
            .look(&prepared, &blank, Keep::Nothing, Want::Names)
            .await?;
        let baseline = Baseline::new(untracked(&prepared, found), HashMap::new());
        let (sealed, owner, private) = (
            Arc::clone(&prepared),
            Owner::of(self.place),
            self.private.clone(),
        );
        let (at, below) = self.target(!before.is_absent());
        let below = below.to_owned();
        self.put(at, move |writer| {
            let mut packer = Packer::new(writer, owner);
            packer.below(&below);
            packer.root()?;
            packer.repository(&sealed)?;
            let modified = settled();
            let sizes = packer
                .checkout(&sealed, modified)
                .map_err(io::Error::other)?;
            let index = index(&sealed, &private, |at, _| {
                sizes.get(at).map(|&size| (size, modified))
            });
            packer.index(&index.map_err(io::Error::other)?)?;
            packer.finish()
        })
        .await?;
        let verified = prepared.verified && self.is_sealed(&prepared).await?;
        let start = Start::new(SealRecord::new(&prepared, verified), Arc::new(baseline));
        Ok((prepared, start))
    }

    /// The directory to extract below, and the workspace's path below it: an engine gives what it extracts to its owner, not the directory itself. The
    /// directories above an absent workspace may be absent too.
    fn target(&self, exists: bool) -> (&str, &str) {
        let workdir = self.place.workdir().trim_end_matches('/');
        match workdir.rsplit_once('/') {
            Some((parent, name)) if exists && !parent.is_empty() => (parent, name),
            _ => ("/", workdir.trim_start_matches('/')),
        }
    }

    /// Looks again at what lies in the place's repository: the packs that were put in, no loose object, no reference.
    async fn is_sealed(&self, prepared: &Arc<Prepared>) -> Result<bool, Error> {
        let at = format!("{}/.git", self.place.workdir());
        let Some(archive) = self.get(&at).await? else {
            return Ok(false);
        };
        let (prepared, archive) = (Arc::clone(prepared), SyncIoBridge::new(archive));
        work(move || {
            let packs = prepared.objects_directory().join("pack");
            let mut expected: HashMap<Vec<u8>, u64> = HashMap::new();
            for name in prepared.pack_files() {
                let size = std::fs::metadata(packs.join(&name))
                    .map_err(|error| Error::start("look at the sealed repository", error))?;
                expected.insert(format!("objects/pack/{name}").into_bytes(), size.len());
            }
            let mut sealed = true;
            archive::read(archive, archive::MAX_STREAM, |entry, _| {
                let path = entry.path.as_slice();
                sealed &= match entry.kind {
                    EntryKind::Directory => {
                        path.is_empty() || DIRECTORIES.iter().any(|name| name.as_bytes() == path)
                    }
                    EntryKind::File if path.starts_with(b"objects/") => {
                        expected.remove(path) == Some(entry.size)
                    }
                    EntryKind::File => {
                        [&b"HEAD"[..], b"config", b"index", b"shallow"].contains(&path)
                    }
                    EntryKind::HardLink(_) | EntryKind::Link(_) | EntryKind::Special => false,
                };
                Ok(())
            })
            .map_err(|error| Error::start(format!("look at the repository {at}"), error))?;
            Ok(sealed && expected.is_empty())
        })
        .await
    }
}

/// Writes an image's sealed repository where none is.
fn own_repository(own: &ImageRepository, writer: impl Write) -> io::Result<()> {
    let mut packer = Packer::new(writer, own.owner);
    packer.first_repository(&own.prepared)?;
    packer.index(&own.index)?;
    packer.finish()
}

/// How many bytes were written.
struct Bytes(u64);

impl Write for &mut Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What lay in the workspace before the repository came and is no file of it.
fn untracked(prepared: &Prepared, mut found: Survey) -> Survey {
    found.changes.retain(|change| {
        change.now.is_some()
            && prepared
                .files
                .binary_search_by(|file| file.path.cmp(&change.path))
                .is_err()
    });
    found
}
