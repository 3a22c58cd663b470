//! Prepared repositories, shared by all sandboxes that start from the same commit.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use sandbox::Error;
use sandbox::repository::{Prepared, prepare};

type Key = (PathBuf, Option<String>);
type Slot = Arc<tokio::sync::Mutex<Weak<Prepared>>>;

/// Prepares each repository once while anybody uses it, however many ask at the same time.
///
/// A few that nobody uses any more are kept, the last used ones: a patch is graded soon after it was made.
pub struct Repositories {
    root: PathBuf,
    slots: Mutex<HashMap<Key, Slot>>,
    kept: usize,
    recent: Mutex<VecDeque<Arc<Prepared>>>,
}

impl Repositories {
    /// A cache that puts its files below `root`, the sandboxes' directory, and keeps the `kept` last used ones.
    pub fn new(root: PathBuf, kept: usize) -> Self {
        Self {
            root,
            slots: Mutex::default(),
            kept,
            recent: Mutex::default(),
        }
    }

    /// Lets go of those that nobody uses.
    pub fn clear(&self) {
        lock(&self.recent).clear();
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

    /// The repository at `path`, ready to be checked out at `commit`.
    ///
    /// # Errors
    /// When it cannot be read or has no such commit.
    pub async fn get(&self, path: &Path, commit: Option<&str>) -> Result<Arc<Prepared>, Error> {
        let slot = self.slot((path.to_owned(), commit.map(str::to_owned)));
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
        let prepared =
            tokio::task::spawn_blocking(move || prepare(&source, commit.as_deref(), &root))
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
