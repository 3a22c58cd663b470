//! Removing images when the disk is nearly full: only what this tool pulled and nobody needs.

use std::collections::HashSet;
use std::time::SystemTime;

use super::inventory::{Shelf, StoredImage};
use super::{Docker, Pull, call, image, pulls};
use crate::error::Error;
use crate::place::RemovedImage;

impl Docker {
    /// Removes the one that was used least recently; `None` when there is none that may go. Images of the names `needed` stay.
    pub(super) async fn evict_one(
        &self,
        needed: &HashSet<String>,
    ) -> Result<Option<RemovedImage>, Error> {
        // What could not be pulled again is not removed.
        if self.settings.pull == Pull::Never {
            return Ok(None);
        }
        let needed: HashSet<String> = needed.iter().map(|name| pulls::full(name)).collect();
        let shelf = Shelf::new(
            self.engine.clone(),
            &self.settings.root,
            self.pulled.clone(),
        );
        for stored in shelf.list().await? {
            let asked_for = pulls::names(&self.pulled, &stored.id);
            let wanted = asked_for.iter().chain(&stored.names);
            let is_needed = wanted.into_iter().any(|name| needed.contains(name));
            if !stored.pulled || stored.in_use || is_needed || !self.is_ours(&stored).await {
                continue;
            }
            if let Err(error) = shelf.remove(&stored).await {
                // Somebody began to use it just now.
                tracing::warn!(image = stored.id, error = %error, "an image was not removed");
                continue;
            }
            self.images.forget_all(&asked_for);
            let name = stored.names.first().or(asked_for.iter().next());
            return Ok(Some(RemovedImage {
                name: name.unwrap_or(&stored.id).clone(),
                id: stored.id,
                bytes: stored.bytes,
            }));
        }
        Ok(None)
    }

    /// Whether nobody has pulled or named it since. Where the engine does not say, somebody may have.
    async fn is_ours(&self, stored: &StoredImage) -> bool {
        let inspected = self.engine.inspect_image(&stored.id);
        let Ok(found) = call::within(image::ANSWER, inspected).await else {
            return false;
        };
        let tagged = found.metadata.and_then(|metadata| metadata.last_tag_time);
        let tagged = tagged.and_then(|tagged| tagged.parse::<jiff::Timestamp>().ok());
        let tagged = tagged.and_then(|tagged| SystemTime::try_from(tagged).ok());
        tagged.is_some_and(|tagged| !pulls::is_overtaken(&self.pulled, &stored.id, tagged))
    }
}
