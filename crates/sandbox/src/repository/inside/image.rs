//! The repository that an image brings: sealed on the host once for each image, however many sandboxes start from it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use futures_util::future::BoxFuture;
use tokio::sync::OnceCell;

use super::fetch::Fetched;
use super::index::index;
use super::{Inside, Keep, Snapshot, Want, parents};
use crate::error::Error;
use crate::place::directory;
use crate::place::removal;
use crate::repository::apply::Step;
use crate::repository::baseline::Baseline;
use crate::repository::change::StartChange;
use crate::repository::checkout::Start;
use crate::repository::prepare::{OfImage, Prepared, mode, prepare_fetched};
use crate::repository::seal::{ImageState, SealRecord};
use crate::repository::snapshot::Owner;
use crate::repository::survey::Survey;
use crate::repository::tree::Tree;
use crate::repository::work;

/// Gives the repository that is put in where an image has none.
pub type Fallback = Arc<dyn Fn() -> BoxFuture<'static, Result<Arc<Prepared>, Error>> + Send + Sync>;

/// Image, directory, the commit that the row says it is at, and what is done to it.
type Key = (String, String, Option<String>, Option<Arc<StartChange>>);
type Slot = Arc<tokio::sync::Mutex<Weak<ImageRepository>>>;

/// Repositories of images, each sealed once while anybody uses it. A few that nobody uses any more are kept.
pub struct ImageRepositories {
    root: PathBuf,
    kept: usize,
    slots: Mutex<HashMap<Key, Slot>>,
    recent: Mutex<VecDeque<Arc<ImageRepository>>>,
}

/// An image's repository, sealed.
pub(crate) struct ImageRepository {
    pub(super) prepared: Arc<Prepared>,
    pub(super) baseline: Arc<Baseline>,
    /// The agent's index.
    pub(super) index: Vec<u8>,
    pub(super) owner: Owner,
    /// Paths in the workspace where a submodule says where its repository is, or has it.
    pub(in crate::repository) submodules: Vec<Vec<u8>>,
    /// Directories of the place beside `.git` that hold some of its history.
    pub(super) elsewhere: Vec<String>,
    /// What a change of the start commit does to the image's files.
    pub(super) steps: Vec<Step>,
    /// Directories that those files need and the image does not have.
    pub(super) new_directories: HashSet<Vec<u8>>,
    state: ImageState,
    /// Whether a sandbox was looked at after its repository had been put in.
    pub(super) verified: OnceCell<bool>,
}

impl ImageRepository {
    pub(super) fn seal(&self, verified: bool) -> SealRecord {
        SealRecord {
            image: Some(self.state.clone()),
            ..SealRecord::new(&self.prepared, verified)
        }
    }
}

impl ImageRepositories {
    /// Keeps its files below `root`, the sandboxes' directory, and the `kept` last used repositories.
    pub fn new(root: PathBuf, kept: usize) -> Self {
        Self {
            root,
            kept,
            slots: Mutex::default(),
            recent: Mutex::default(),
        }
    }

    /// Lets go of those that nobody uses.
    pub fn clear(&self) {
        lock(&self.recent).clear();
    }

    /// The repository of a fresh place's image; `None` when it has none.
    pub(super) async fn get(
        &self,
        inside: &Inside<'_>,
        image: &str,
        base: Option<&str>,
        change: Option<&Arc<StartChange>>,
    ) -> Result<Option<Arc<ImageRepository>>, Error> {
        let key = (
            image.to_owned(),
            inside.place.workdir().to_owned(),
            base.map(str::to_owned),
            change.cloned(),
        );
        let slot = Arc::clone(lock(&self.slots).entry(key).or_default());
        let mut slot = slot.lock().await;
        if let Some(known) = slot.upgrade() {
            self.remember(&known);
            return Ok(Some(known));
        }
        let Some(sealed) = self.seal(inside, image, base, change).await? else {
            return Ok(None);
        };
        let sealed = Arc::new(sealed);
        *slot = Arc::downgrade(&sealed);
        self.remember(&sealed);
        Ok(Some(sealed))
    }

    fn remember(&self, used: &Arc<ImageRepository>) {
        let mut recent = lock(&self.recent);
        recent.retain(|known| !Arc::ptr_eq(known, used));
        recent.push_back(Arc::clone(used));
        let excess = recent.len().saturating_sub(self.kept);
        let gone: Vec<_> = recent.drain(..excess).collect();
        // Its files are removed with the last user: not while others wait for the lock.
        drop(recent);
        drop(gone);
    }

    async fn seal(
        &self,
        inside: &Inside<'_>,
        image: &str,
        base: Option<&str>,
        change: Option<&Arc<StartChange>>,
    ) -> Result<Option<ImageRepository>, Error> {
        let label = PathBuf::from(format!("{image}:{}", inside.place.workdir()));
        let root = self.root.clone();
        let made = directory::create_kin(&root).map_err(|error| {
            Error::start(format!("seal the repository {}", label.display()), error)
        });
        let scratch = Scratch(made?);
        let Some(fetched) = inside.fetch(scratch.0.join("image.git")).await? else {
            return Ok(None);
        };
        let (wanted, change) = (base.map(str::to_owned), change.cloned());
        let (own, fetched) = work(move || {
            let own = prepare_fetched(
                &fetched.directory,
                &label,
                wanted.as_deref(),
                change.as_deref(),
                &root,
                &fetched.left_out,
            )?;
            drop(scratch);
            Ok((own, fetched))
        })
        .await?;
        describe(inside, own, fetched).await.map(Some)
    }
}

/// What the untouched workspace is like.
async fn describe(
    inside: &Inside<'_>,
    own: OfImage,
    fetched: Fetched,
) -> Result<ImageRepository, Error> {
    let OfImage {
        prepared,
        base_commit,
        steps,
    } = own;
    let blank = Arc::new(Start::new(
        SealRecord::new(&prepared, false),
        Arc::default(),
    ));
    let (snapshot, mut found) = inside
        .look(&prepared, &blank, Keep::Nothing, Want::Names)
        .await?;
    // What the change is about will be as the start commit has it.
    let changed: HashSet<&[u8]> = steps.iter().map(|step| &*step.path).collect();
    found
        .changes
        .retain(|change| !changed.contains(&*change.path));
    drop(changed);
    let private = inside.private.clone();
    work(move || {
        let submodules = submodules_with_repositories(&prepared, &snapshot);
        let index = clean_index(&prepared, &snapshot, &private)?;
        let baseline = Arc::new(baseline(&prepared, &snapshot, found));
        let written = steps.iter().filter(|step| step.now.is_some());
        let new_directories = written
            .flat_map(|step| parents(&step.path))
            .filter(|directory| !snapshot.has_directory(directory))
            .collect();
        Ok(ImageRepository {
            owner: snapshot.owner(),
            index,
            state: ImageState {
                base_commit,
                differing_at_start: baseline.len() as u64,
                histories_removed: fetched.elsewhere.len() as u64
                    + fetched.modules.max(submodules.len() as u64),
            },
            submodules,
            elsewhere: fetched.elsewhere,
            steps,
            new_directories,
            baseline,
            prepared,
            verified: OnceCell::new(),
        })
    })
    .await
}

fn clean_index(prepared: &Prepared, snapshot: &Snapshot, private: &Path) -> Result<Vec<u8>, Error> {
    index(prepared, private, |_, file| {
        let same = snapshot.blob(&file.path) == Some(file.id)
            && snapshot.is_executable(&file.path) == Some(file.mode == mode::EXECUTABLE);
        same.then(|| snapshot.size_and_time(&file.path)).flatten()
    })
    .map_err(|error| Error::start("write the index of the image's repository", error))
}

fn baseline(prepared: &Prepared, snapshot: &Snapshot, found: Survey) -> Baseline {
    let submodules = prepared
        .files
        .iter()
        .filter(|file| file.mode == mode::SUBMODULE)
        .filter_map(|file| Some((file.path.clone(), snapshot.fingerprint(&file.path)?)));
    Baseline::new(found, submodules.collect())
}

/// Where `.git` stands in a submodule's directory: it leads to the submodule's history.
fn submodules_with_repositories(prepared: &Prepared, snapshot: &Snapshot) -> Vec<Vec<u8>> {
    prepared
        .files
        .iter()
        .filter(|file| file.mode == mode::SUBMODULE)
        .map(|file| [file.path.as_slice(), b"/.git"].concat())
        .filter(|path| snapshot.has(path))
        .collect()
}

/// A directory that goes when nobody needs it any more.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays is found again as an orphan.
        let _ = removal::remove_tree(&self.0);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
