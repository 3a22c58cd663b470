//! The images that an engine has, when places last used them, and their removal.
//!
//! Engines do not remember when an image was used. So each start touches an empty file named after the image below the sandboxes' root, and the
//! file's time is the image's.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bollard::models::ImageSummary;
use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListImagesOptionsBuilder, RemoveImageOptionsBuilder,
};

use tokio::sync::Semaphore;

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};

use super::image::{Image, Images, Source};
use super::progress::Pulls;
use super::registries::Registries;
use super::{Pull, REGISTRY_WAIT, call, connect, credentials, podman, pulls};
use crate::error::Error;

/// How long the engine may take to list what it has.
const LIST: Duration = Duration::from_mins(1);
/// How long it may take to remove an image: layers are deleted one by one.
const REMOVE: Duration = Duration::from_mins(5);
/// Directory below the root for the times of use.
const USED: &str = "images-used";
/// Label of images that scripts made on this machine: nobody could pull them again.
const BUILT: &str = "patchmill.inputs";

/// An image that the engine has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredImage {
    /// Its content's digest, as the engine names it.
    pub id: String,
    /// Names with tags, sorted; may be none.
    pub names: Vec<String>,
    /// Bytes of its layers, those that it shares with others included.
    pub bytes: u64,
    /// When a place was last started from it by this user; `None` when that is not known.
    pub used: Option<SystemTime>,
    /// When it was made.
    pub made: SystemTime,
    /// Whether a container, running or not, is made from it.
    pub in_use: bool,
    /// Whether it was built on this machine by this project's scripts.
    pub built: bool,
    /// Whether this tool pulled it, under every name that it has.
    pub pulled: bool,
}

/// The images of an engine.
pub struct Inventory {
    shelf: Shelf,
    images: Images,
}

impl Inventory {
    /// Connects to the engine that the `docker` backend would use. `root` is that of the sandboxes, `platform` that of images to pull, else the
    /// engine's own; images are pulled as `pull` says, `pulls` of them at the same time.
    ///
    /// # Errors
    /// `Engine` when none answers.
    pub async fn connect(
        root: &Path,
        platform: Option<&str>,
        pull: Pull,
        pulls: usize,
    ) -> Result<Self, Error> {
        let (docker, _, info) = connect::ask().await.map_err(connect::ProbeError::failure)?;
        let pulled = pulls::directory(root, &info);
        let shelf = Shelf::new(docker.clone(), root, pulled.clone());
        let images = Images::new(Source {
            docker,
            policy: pull,
            platform: platform.map_or_else(|| super::platform(&info), str::to_owned),
            configuration: credentials::directory(),
            default_registry: info.index_server_address.unwrap_or_default(),
            turns: Arc::new(Semaphore::new(pulls.max(1))),
            registries: Arc::new(Registries::new(REGISTRY_WAIT)),
            pulls: Pulls::default(),
            pulled,
        });
        Ok(Self { shelf, images })
    }

    /// All images, the least recently used first; those that were never used by this user come before, the oldest first.
    ///
    /// # Errors
    /// `Lost` when the engine does not answer.
    pub async fn list(&self) -> Result<Vec<StoredImage>, Error> {
        self.shelf.list().await
    }

    /// The pulls that go on.
    pub fn pulls(&self) -> Pulls {
        self.images.pulls()
    }

    /// Gets an image, and returns its digest.
    ///
    /// # Errors
    /// `Image` with the registry's answer, `Registry` when it gives nothing, `Disk` when there is no room for it.
    pub async fn pull(&self, name: &str) -> Result<String, Error> {
        let image = self.images.get(name).await?;
        // What was fetched for a run is the last that should be thrown away.
        touch(&self.shelf.used, &image.id);
        Ok(image.digest.clone())
    }

    /// Removes an image with all its names; one that is gone already is no error.
    ///
    /// # Errors
    /// `Lost` when the engine refuses, as it does when a container needs the image.
    pub async fn remove(&self, image: &StoredImage) -> Result<(), Error> {
        self.shelf.remove(image).await
    }
}

/// An engine's images and what is remembered of them.
pub(super) struct Shelf {
    docker: bollard::Docker,
    used: PathBuf,
    pulled: PathBuf,
}

impl Shelf {
    pub(super) fn new(docker: bollard::Docker, root: &Path, pulled: PathBuf) -> Self {
        Self {
            docker,
            used: root.join(USED),
            pulled,
        }
    }

    /// All images, the least recently used first; those that were never used by this user come before, the oldest first.
    ///
    /// # Errors
    /// `Lost` when the engine does not answer.
    pub(super) async fn list(&self) -> Result<Vec<StoredImage>, Error> {
        let operation = "list the images";
        let options = ListImagesOptionsBuilder::default().build();
        let found = call::within(LIST, self.docker.list_images(Some(options)))
            .await
            .map_err(|failure| failure.losing(operation))?;
        let in_use = self.in_use().await?;
        let mut images: Vec<_> = found
            .into_iter()
            .map(|summary| self.stored(summary, &in_use))
            .collect();
        images.sort_by(|a, b| (a.used, a.made, &a.id).cmp(&(b.used, b.made, &b.id)));
        Ok(images)
    }

    async fn in_use(&self) -> Result<HashSet<String>, Error> {
        let options = ListContainersOptionsBuilder::default().all(true).build();
        let containers = call::within(LIST, podman::containers(&self.docker, &options))
            .await
            .map_err(|failure| failure.losing("list the containers"))?;
        let images = containers.into_iter().filter_map(|one| one.image_id);
        Ok(images.collect())
    }

    fn stored(&self, summary: ImageSummary, in_use: &HashSet<String>) -> StoredImage {
        let mut names = summary.repo_tags;
        names.retain(|name| name != "<none>:<none>");
        names.sort();
        let seconds = u64::try_from(summary.created).unwrap_or_default();
        StoredImage {
            bytes: u64::try_from(summary.size).unwrap_or_default(),
            used: last_use(&self.used, &summary.id),
            made: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds),
            in_use: in_use.contains(&summary.id),
            built: is_built(&summary.labels),
            pulled: pulls::are_all(&self.pulled, &summary.id, &names),
            names,
            id: summary.id,
        }
    }

    /// Removes an image with all its names; one that is gone already is no error.
    ///
    /// # Errors
    /// `Lost` when the engine refuses, as it does when a container needs the image.
    pub(super) async fn remove(&self, image: &StoredImage) -> Result<(), Error> {
        let mut targets: Vec<&str> = image.names.iter().map(String::as_str).collect();
        if targets.is_empty() {
            targets.push(&image.id);
        }
        for target in targets {
            let options = RemoveImageOptionsBuilder::default().build();
            let removed = self.docker.remove_image(target, Some(options), None);
            match call::within(REMOVE, removed).await {
                Ok(_) => {}
                Err(failure) if failure.status() == Some(404) => {}
                Err(failure) => {
                    return Err(failure.losing(format!("remove the image `{target}`")));
                }
            }
        }
        for record in [&self.used, &self.pulled] {
            let _ = fs::remove_file(record.join(file_name(&image.id)));
        }
        Ok(())
    }
}

fn is_built(labels: &HashMap<String, String>) -> bool {
    labels.contains_key(BUILT)
}

/// Remembers that an image was used now. Nothing depends on it: where it cannot be written, images are only removed in another order.
pub(super) fn remember_use(root: &Path, image: &Image) {
    touch(&root.join(USED), &image.id);
}

fn touch(directory: &Path, id: &str) {
    if let Err(error) = try_touch(directory, id) {
        tracing::debug!(image = id, %error, "the use of an image is not remembered");
    }
}

fn try_touch(directory: &Path, id: &str) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(directory.join(file_name(id)))?;
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    Ok(futimens(&file, &times)?)
}

fn last_use(directory: &Path, id: &str) -> Option<SystemTime> {
    let found = fs::metadata(directory.join(file_name(id))).ok()?;
    found.modified().ok()
}

/// An identifier is `sha256:` and hexadecimal digits; nothing else may become a path.
pub(super) fn file_name(id: &str) -> String {
    id.chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '-'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_are_remembered_by_image() {
        let directory = tempfile::tempdir().unwrap();
        let used = directory.path().join(USED);
        assert_eq!(last_use(&used, "sha256:00"), None);
        touch(&used, "sha256:00");
        let first = last_use(&used, "sha256:00").unwrap();
        assert!(first > SystemTime::UNIX_EPOCH);
        touch(&used, "sha256:00");
        assert!(last_use(&used, "sha256:00").unwrap() >= first);
        assert_eq!(last_use(&used, "sha256:01"), None);
    }

    #[test]
    fn no_identifier_leads_out_of_the_directory() {
        assert_eq!(file_name("../../x"), "------x");
    }
}
