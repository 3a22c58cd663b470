//! Prepared repositories, shared by all sandboxes that start from the same commit.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use sandbox::Error;
use sandbox::repository::{Prepared, prepare};

type Key = (PathBuf, Option<String>);
type Slot = Arc<tokio::sync::Mutex<Weak<Prepared>>>;

/// Prepares each repository once while anybody uses it, however many ask at the same time.
pub struct Repositories {
    root: PathBuf,
    slots: Mutex<HashMap<Key, Slot>>,
}

impl Repositories {
    /// A cache that puts its files below `root`, the sandboxes' directory.
    pub fn new(root: PathBuf) -> Self {
        Self {
            root,
            slots: Mutex::default(),
        }
    }

    /// The repository at `path`, ready to be checked out at `commit`.
    ///
    /// # Errors
    /// When it cannot be read or has no such commit.
    pub async fn get(&self, path: &Path, commit: Option<&str>) -> Result<Arc<Prepared>, Error> {
        let slot = self.slot((path.to_owned(), commit.map(str::to_owned)));
        let mut slot = slot.lock().await;
        if let Some(prepared) = slot.upgrade() {
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
        Ok(prepared)
    }

    fn slot(&self, key: Key) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(key).or_default())
    }
}
