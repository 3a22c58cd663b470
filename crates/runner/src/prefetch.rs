//! Images: those of coming instances are got ahead, and those that nobody needs any more may go.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use sandbox::place::{Backend, PlaceSpec};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::error::chain;

/// How many attempts and gradings, running or to come, need each image.
#[derive(Debug, Default)]
pub struct Needs {
    counts: Mutex<HashMap<String, usize>>,
}

impl Needs {
    /// One more needs it.
    pub fn add(&self, image: &str) {
        *self.counts().entry(image.to_owned()).or_default() += 1;
    }

    /// One needs it no more.
    pub fn release(&self, image: &str) {
        let mut counts = self.counts();
        if let Some(count) = counts.get_mut(image) {
            *count -= 1;
            if *count == 0 {
                counts.remove(image);
            }
        }
    }

    /// All that are needed.
    pub fn all(&self) -> HashSet<String> {
        self.counts().keys().cloned().collect()
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, HashMap<String, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gets images before they are needed. What goes wrong is told by whoever needs the image.
#[derive(Default)]
pub struct Prefetch {
    asked: Mutex<HashSet<String>>,
    tasks: Mutex<JoinSet<()>>,
}

impl Prefetch {
    /// Gets the image of `spec`, once, unless `stop` comes first.
    pub fn get(&self, backend: &Arc<dyn Backend>, spec: PlaceSpec, stop: CancellationToken) {
        let Some(image) = spec.image.clone() else {
            return;
        };
        if !lock(&self.asked).insert(image.clone()) {
            return;
        }
        let backend = Arc::clone(backend);
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            let prepared = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                prepared = backend.prepare(&spec) => prepared,
            };
            if let Err(error) = prepared {
                tracing::info!(image, error = chain(&error), "an image was not got ahead");
            }
        });
    }

    /// Whether an image was asked for.
    pub fn has(&self, image: &str) -> bool {
        lock(&self.asked).contains(image)
    }

    /// Ends what goes on.
    pub fn end(&self) {
        lock(&self.tasks).abort_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_needed_until_the_last_is_done_with_it() {
        let needs = Needs::default();
        needs.add("a");
        needs.add("a");
        needs.add("b");
        needs.release("a");
        needs.release("b");
        assert_eq!(needs.all(), HashSet::from(["a".to_owned()]));
        needs.release("a");
        needs.release("a");
        assert!(needs.all().is_empty());
    }
}
