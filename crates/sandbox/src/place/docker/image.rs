//! Images: what is known of one, and who waits for which.

use std::time::Duration;

use bollard::Docker;
use bollard::models::ImageInspect;

use super::call;
use crate::error::Error;

/// How long the engine may take to say what it knows of an image.
const ANSWER: Duration = Duration::from_secs(30);

/// An image that the engine has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Image {
    /// Its content's digest, as the engine names it.
    pub(super) id: String,
    /// The repository's digest, else its identifier.
    pub(super) digest: String,
    /// Directory that its programs start in.
    pub(super) workdir: Option<String>,
    environment: Vec<String>,
}

impl Image {
    fn new(name: &str, found: ImageInspect) -> Self {
        let id = found.id.unwrap_or_else(|| name.to_owned());
        let config = found.config.unwrap_or_default();
        let digests = found.repo_digests.unwrap_or_default();
        Self {
            digest: digests.into_iter().next().unwrap_or_else(|| id.clone()),
            workdir: config
                .working_dir
                .filter(|directory| !directory.is_empty() && directory != "/"),
            environment: config.env.unwrap_or_default(),
            id,
        }
    }

    /// Whether its environment has a variable.
    pub(super) fn sets(&self, name: &str) -> bool {
        self.environment
            .iter()
            .any(|one| one.split('=').next() == Some(name))
    }
}

/// What the engine knows of an image; `None` when it has none of that name.
pub(super) async fn inspect(docker: &Docker, name: &str) -> Result<Option<Image>, Error> {
    match call::within(ANSWER, docker.inspect_image(name)).await {
        Ok(found) => Ok(Some(Image::new(name, found))),
        Err(failure) if failure.status() == Some(404) => Ok(None),
        Err(failure) => Err(failure.starting(format!("look for the image `{name}`"))),
    }
}
