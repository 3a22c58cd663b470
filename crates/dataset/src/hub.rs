//! Datasets on the Hugging Face hub, or on a mirror that speaks its protocol.
//!
//! Files are kept in the hub's own cache layout (`blobs`, `snapshots`, `refs`), so that what `huggingface_hub` and `datasets` have downloaded is
//! not downloaded again, and the other way round.

mod cache;
mod digest;
mod download;
mod error;
mod exchange;
mod id;
mod listing;
mod pace;
mod settings;

use std::path::Path;
use std::sync::Arc;

use cache::Cache;
pub use error::Error;
use exchange::Exchange;
pub use id::Id;
pub use settings::{Deadlines, Retries, Settings};

use crate::files::{self, Located};
use crate::layout::{self, Wanted};

/// What happens while a dataset is fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The revision was resolved to this commit.
    Resolved {
        /// Its 40 hexadecimal digits.
        commit: String,
    },
    /// The hub could not be asked; what the cache holds is used.
    Stale {
        /// Why.
        reason: String,
    },
    /// A file is in the cache.
    Cached {
        /// Its path in the repository.
        file: String,
    },
    /// A download begins, or goes on.
    Started {
        /// Its path in the repository.
        file: String,
        /// Bytes that are there from an earlier try.
        from: u64,
        /// Bytes in all, where the hub says so.
        size: Option<u64>,
    },
    /// More of it came.
    Received {
        /// Its path in the repository.
        file: String,
        /// Bytes so far.
        bytes: u64,
    },
    /// It is whole and checked.
    Finished {
        /// Its path in the repository.
        file: String,
    },
    /// Another program is downloading the same file.
    Waiting {
        /// Its path in the repository.
        file: String,
    },
    /// A request failed and is made again.
    Retry {
        /// Why.
        reason: String,
        /// Milliseconds until then.
        after: u64,
    },
}

/// Hears what happens.
pub type Listener = Arc<dyn Fn(Event) + Send + Sync>;

/// A client of the hub.
pub struct Hub {
    exchange: Exchange,
    cache: Cache,
    settings: Settings,
    listener: Listener,
}

impl Hub {
    /// A client that asks by way of `client`, which must not follow redirects: they are followed here, so that the token stays with its host.
    pub fn new(client: reqwest::Client, settings: Settings, listener: Listener) -> Self {
        Self {
            exchange: Exchange::new(client, settings.clone(), Arc::clone(&listener)),
            cache: Cache::new(settings.cache.clone()),
            settings,
            listener,
        }
    }

    /// Finds the files of a dataset, downloading those that the cache lacks.
    ///
    /// # Errors
    /// When the hub refuses or cannot be asked and the cache does not hold them, when they cannot be got whole, and when the dataset has no such part.
    pub async fn locate(&self, id: &Id, wanted: &Wanted) -> Result<Located, crate::Error> {
        if self.settings.offline {
            let found = self.in_cache(id, wanted)?;
            return found.ok_or_else(|| self.not_cached(id).into());
        }
        let listing = match listing::ask(&self.exchange, id).await {
            Ok(listing) => listing,
            Err(error) if error.is_passing() => {
                let Some(located) = self.in_cache(id, wanted)? else {
                    return Err(error.into());
                };
                (self.listener)(Event::Stale {
                    reason: error.chain(),
                });
                return Ok(located);
            }
            Err(error) => return Err(error.into()),
        };
        (self.listener)(Event::Resolved {
            commit: listing.commit.clone(),
        });
        let names = listing.files.iter().map(|file| file.name.as_str());
        let choice = layout::choose(Path::new(&id.to_string()), names, wanted)?;
        let repository = self.cache.repository(id);
        for name in &choice.files {
            if let Some(file) = listing.files.iter().find(|file| file.name == *name) {
                let fetch = download::Fetch {
                    exchange: &self.exchange,
                    repository: &repository,
                    listener: &self.listener,
                    deadlines: self.settings.deadlines,
                };
                fetch.file(id, &listing.commit, file).await?;
            }
        }
        repository.remember(&id.revision, &listing.commit)?;
        let root = repository.snapshot(&listing.commit);
        let mut located = files::of_choice(Path::new(&id.to_string()), &root, choice);
        located.revision = Some(listing.commit);
        Ok(located)
    }

    /// What the cache holds of a dataset, where it holds all of what is wanted.
    fn in_cache(&self, id: &Id, wanted: &Wanted) -> Result<Option<Located>, crate::Error> {
        let repository = self.cache.repository(id);
        let Some(commit) = repository.resolve(&id.revision)? else {
            return Ok(None);
        };
        let root = repository.snapshot(&commit);
        let names = files::listed(&root)?;
        let shown = id.to_string();
        let choice = layout::choose(Path::new(&shown), names.iter().map(String::as_str), wanted)?;
        let mut located = files::of_choice(Path::new(&shown), &root, choice);
        located.revision = Some(commit);
        Ok(Some(located))
    }

    fn not_cached(&self, id: &Id) -> Error {
        Error::NotCached {
            id: id.to_string(),
            cache: self.settings.cache.clone(),
        }
    }
}
