//! Prepared repositories, shared by all sandboxes that start from the same commit.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use sandbox::Error;
use sandbox::repository::{
    self, Fallback, ImageRepositories, Origin, Prepared, StartChange, Unpacked, prepare,
    prepare_changed, prepare_unpacked,
};

/// Repository, commit, and what is done to it before anybody works in it.
type Key = (PathBuf, Option<String>, Option<Arc<StartChange>>);
type Slot = Arc<tokio::sync::Mutex<Weak<Prepared>>>;

/// Bytes of bundles that are unpacked before anything starts, so that a broken one shows then. It takes a few seconds, and that much disk until
/// the end of the run; what is beyond shows when it is prepared.
const UNPACKED: u64 = 256 << 20;

/// Prepares each repository once while anybody uses it, however many ask at the same time.
///
/// A few that nobody uses any more are kept, the last used ones: a patch is graded soon after it was made.
pub struct Repositories {
    root: PathBuf,
    slots: Mutex<HashMap<Key, Slot>>,
    kept: usize,
    recent: Mutex<VecDeque<Arc<Prepared>>>,
    images: Arc<ImageRepositories>,
    bundles: Mutex<Bundles>,
}

/// Bundles that were unpacked ahead.
#[derive(Default)]
struct Bundles {
    unpacked: HashMap<PathBuf, Arc<Unpacked>>,
    bytes: u64,
}

impl Repositories {
    /// A cache that puts its files below `root`, the sandboxes' directory, and keeps the `kept` last used ones.
    pub fn new(root: PathBuf, kept: usize) -> Self {
        Self {
            images: Arc::new(ImageRepositories::new(root.clone(), kept)),
            root,
            slots: Mutex::default(),
            kept,
            recent: Mutex::default(),
            bundles: Mutex::default(),
        }
    }

    /// Looks whether the repository at `path` can be read and has `commit`, so that a mistake shows before anything starts. Blocks.
    ///
    /// # Errors
    /// When it cannot, or has not, as far as can be told cheaply.
    pub fn check(&self, path: &Path, commit: Option<&str>) -> Result<(), Error> {
        match self.unpack(path)? {
            Some(unpacked) => unpacked.check(commit),
            None => repository::check(path, commit),
        }
    }

    /// The bundle at `path`, unpacked; `None` where there is none, and where it is more than [`UNPACKED`] leaves room for.
    fn unpack(&self, path: &Path) -> Result<Option<Arc<Unpacked>>, Error> {
        let mut bundles = lock(&self.bundles);
        if let Some(unpacked) = bundles.unpacked.get(path) {
            return Ok(Some(Arc::clone(unpacked)));
        }
        let metadata = std::fs::metadata(path).ok();
        let Some(file) = metadata.filter(std::fs::Metadata::is_file) else {
            return Ok(None);
        };
        if bundles.bytes + file.len() > UNPACKED {
            return Ok(None);
        }
        let unpacked = Arc::new(Unpacked::of(path, &self.root)?);
        bundles.bytes += file.len();
        bundles
            .unpacked
            .insert(path.to_owned(), Arc::clone(&unpacked));
        Ok(Some(unpacked))
    }

    /// Lets go of those that nobody uses.
    pub fn clear(&self) {
        lock(&self.recent).clear();
        *lock(&self.bundles) = Bundles::default();
        self.images.clear();
    }

    /// The repository that an image brings; where it has none, the one at `path` at `commit`. Either is changed before anybody works in it.
    pub fn in_image(
        self: &Arc<Self>,
        path: Option<&Path>,
        commit: Option<&str>,
        change: Option<Arc<StartChange>>,
    ) -> Origin {
        let commit = commit.map(str::to_owned);
        let fallback = path.map(|path| {
            let wanted = (path.to_owned(), commit.clone(), change.clone());
            let repositories = Arc::clone(self);
            let fallback: Fallback = Arc::new(move || {
                let (repositories, wanted) = (Arc::clone(&repositories), wanted.clone());
                Box::pin(async move {
                    let (path, commit, change) = wanted;
                    repositories.get(&path, commit.as_deref(), change).await
                })
            });
            fallback
        });
        Origin::Image {
            repositories: Arc::clone(&self.images),
            base_commit: commit,
            change,
            fallback,
        }
    }

    fn remember(&self, prepared: &Arc<Prepared>) {
        let mut recent = lock(&self.recent);
        recent.retain(|known| !Arc::ptr_eq(known, prepared));
        recent.push_back(Arc::clone(prepared));
        let excess = recent.len().saturating_sub(self.kept);
        let gone: Vec<_> = recent.drain(..excess).collect();
        // Its files are removed with the last user: not while others wait for the lock.
        drop(recent);
        drop(gone);
    }

    /// The repository at `path`, ready to be checked out at `commit`, or at what a change makes of that.
    ///
    /// # Errors
    /// When it cannot be read or has no such commit, or the change does not apply to it.
    pub async fn get(
        &self,
        path: &Path,
        commit: Option<&str>,
        change: Option<Arc<StartChange>>,
    ) -> Result<Arc<Prepared>, Error> {
        let slot = self.slot((path.to_owned(), commit.map(str::to_owned), change.clone()));
        let mut slot = slot.lock().await;
        if let Some(prepared) = slot.upgrade() {
            self.remember(&prepared);
            return Ok(prepared);
        }
        let (source, commit, root) = (
            path.to_owned(),
            commit.map(str::to_owned),
            self.root.clone(),
        );
        let unpacked = lock(&self.bundles).unpacked.get(path).cloned();
        let prepared = tokio::task::spawn_blocking(move || match (change, unpacked) {
            (Some(change), unpacked) => prepare_changed(
                &source,
                unpacked.as_deref(),
                commit.as_deref(),
                &change,
                &root,
            ),
            (None, Some(unpacked)) => prepare_unpacked(&unpacked, commit.as_deref(), &root),
            (None, None) => prepare(&source, commit.as_deref(), &root),
        })
        .await
        .unwrap_or_else(|panic| {
            Err(Error::Start {
                operation: format!("prepare the repository `{}`", path.display()),
                source: Box::new(panic),
            })
        })?;
        *slot = Arc::downgrade(&prepared);
        self.remember(&prepared);
        Ok(prepared)
    }

    fn slot(&self, key: Key) -> Slot {
        Arc::clone(lock(&self.slots).entry(key).or_default())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
