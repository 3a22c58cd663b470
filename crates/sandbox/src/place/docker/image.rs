//! Images: what is known of one, and who waits for which.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bollard::Docker;
use bollard::models::ImageInspect;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use serde::{Deserialize, Serialize};

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::progress::Pulls;
use super::registries::Registries;
use super::{call, pull, pulls};
use crate::error::Error;
use crate::place::RegistryWatch;

/// How long the engine may take to say what it knows of an image.
pub(super) const ANSWER: Duration = Duration::from_secs(30);

/// When images are pulled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pull {
    /// Never: what the engine has must do.
    Never,
    /// Those that the engine does not have.
    #[default]
    Missing,
    /// Each once in every run.
    Always,
}

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
    /// `os/architecture`.
    platform: String,
    /// Whether it came from a registry, or went to one.
    is_of_registry: bool,
}

impl Image {
    fn new(name: &str, found: ImageInspect) -> Self {
        let id = found.id.unwrap_or_else(|| name.to_owned());
        let config = found.config.unwrap_or_default();
        let digests = found.repo_digests.unwrap_or_default();
        Self {
            is_of_registry: !digests.is_empty(),
            digest: digests.into_iter().next().unwrap_or_else(|| id.clone()),
            workdir: config
                .working_dir
                .filter(|directory| !directory.is_empty() && directory != "/"),
            environment: config.env.unwrap_or_default(),
            platform: format!(
                "{}/{}",
                found.os.unwrap_or_default(),
                found.architecture.unwrap_or_default()
            ),
            id,
        }
    }

    /// Whether its environment has a variable.
    pub(super) fn sets(&self, name: &str) -> bool {
        self.environment
            .iter()
            .any(|one| one.split('=').next() == Some(name))
    }

    /// Whether it is made for a platform, whose variant the engine itself looks at.
    fn is_for(&self, platform: &str) -> bool {
        let mut wanted = platform.split('/');
        let mut has = self.platform.split('/');
        (wanted.next(), wanted.next()) == (has.next(), has.next())
    }
}

/// Why an image cannot be had. It is the same for all who wait for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Nothing that waiting would change.
    Refused {
        /// What is wrong, in the registry's or the engine's words.
        problem: String,
        /// What the user can do.
        hint: String,
    },
    /// The registry gave nothing for too long.
    Away {
        /// Its host.
        registry: String,
        /// Its last answer, or what there was instead.
        problem: String,
    },
    /// It did not come, also when tried again.
    Failed {
        /// What is wrong.
        problem: String,
    },
    /// The engine itself did not answer, which says nothing of the image.
    Engine {
        /// What is wrong.
        problem: String,
    },
    /// The engine's disk is full.
    Full,
}

impl Trouble {
    fn error(self, image: &str) -> Error {
        let (problem, hint) = match self {
            Self::Full => {
                return Error::Disk {
                    operation: format!("pull the image `{image}`"),
                };
            }
            Self::Away { registry, problem } => {
                return Error::Registry {
                    registry,
                    image: image.to_owned(),
                    problem,
                };
            }
            Self::Engine { problem } => {
                return Error::start(format!("look for the image `{image}`"), problem);
            }
            Self::Refused { problem, hint } => (problem, hint),
            Self::Failed { problem } => (
                problem,
                String::from("see whether `docker pull` brings the image, and try again then"),
            ),
        };
        Error::Image {
            image: image.to_owned(),
            problem,
            hint,
        }
    }
}

type Job = Shared<BoxFuture<'static, Result<Arc<Image>, Trouble>>>;

/// How images are had.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) docker: Docker,
    pub(super) policy: Pull,
    /// Platform that they have to be made for.
    pub(super) platform: String,
    /// Directory of the user's Docker configuration.
    pub(super) configuration: Option<PathBuf>,
    /// Address of the engine's default registry.
    pub(super) default_registry: String,
    /// Turns at pulling.
    pub(super) turns: Arc<Semaphore>,
    /// What is known of registries.
    pub(super) registries: Arc<Registries>,
    /// Pulls that go on.
    pub(super) pulls: Pulls,
    /// Directory where it is remembered what was pulled.
    pub(super) pulled: PathBuf,
}

/// The images of a run: each is looked for, or pulled, once, however many wait for it.
pub(super) struct Images {
    source: Source,
    jobs: Mutex<HashMap<String, Job>>,
}

impl Images {
    pub(super) fn new(source: Source) -> Self {
        Self {
            source,
            jobs: Mutex::default(),
        }
    }

    /// The image of a name.
    ///
    /// # Errors
    /// `Image` with the registry's answer, `Registry` when it gives nothing, `Disk` when there is no room for it.
    pub(super) async fn get(&self, name: &str) -> Result<Arc<Image>, Error> {
        let job = self.job(name);
        let done = job.clone().await;
        if let Err(Trouble::Engine { .. } | Trouble::Away { .. } | Trouble::Full) = &done {
            // Who comes later may have more luck; what a registry refuses, it refuses all.
            self.forget_if(name, |known| known.ptr_eq(&job));
        }
        done.map_err(|trouble| trouble.error(name))
    }

    /// Looks for the image again: the engine no longer has the one that was `seen`. Where somebody looks already, this waits for the same.
    pub(super) async fn get_again(
        &self,
        name: &str,
        seen: &Arc<Image>,
    ) -> Result<Arc<Image>, Error> {
        self.forget_if(name, |job| found(job, seen));
        self.get(name).await
    }

    /// From now on the image of a name is refused, unless it is another one by now: no place can be made from the one that was `seen`.
    pub(super) fn refuse(&self, name: &str, seen: &Arc<Image>, problem: &str, hint: &str) {
        let trouble = Trouble::Refused {
            problem: problem.to_owned(),
            hint: hint.to_owned(),
        };
        if let Some(job) = self.jobs().get_mut(name).filter(|job| found(job, seen)) {
            *job = std::future::ready(Err(trouble)).boxed().shared();
        }
    }

    /// Forgets what is known of images: they are gone.
    pub(super) fn forget_all(&self, names: &HashSet<String>) {
        self.jobs()
            .retain(|name, _| !names.contains(&pulls::full(name)));
    }

    /// What is known of registries.
    pub(super) fn registries(&self) -> RegistryWatch {
        self.source.registries.watch()
    }

    /// The pulls that go on.
    pub(super) fn pulls(&self) -> Pulls {
        self.source.pulls.clone()
    }

    fn job(&self, name: &str) -> Job {
        let mut jobs = self.jobs();
        if let Some(job) = jobs.get(name) {
            return job.clone();
        }
        let (source, subject) = (self.source.clone(), name.to_owned());
        // Its own task: the one who asked first may stop waiting.
        let mut task = JoinSet::new();
        task.spawn(async move { obtain(&source, &subject).await });
        let job = async move {
            let problem = match task.join_next().await {
                Some(Ok(done)) => return done,
                Some(Err(panic)) => panic.to_string(),
                None => String::from("nothing was done"),
            };
            Err(Trouble::Engine { problem })
        };
        let job = job.boxed().shared();
        jobs.insert(name.to_owned(), job.clone());
        job
    }

    fn forget_if(&self, name: &str, is_it: impl Fn(&Job) -> bool) {
        let mut jobs = self.jobs();
        if jobs.get(name).is_some_and(is_it) {
            jobs.remove(name);
        }
    }

    fn jobs(&self) -> std::sync::MutexGuard<'_, HashMap<String, Job>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether it was this job that found an image.
fn found(job: &Job, image: &Arc<Image>) -> bool {
    matches!(job.peek(), Some(Ok(known)) if Arc::ptr_eq(known, image))
}

async fn obtain(source: &Source, name: &str) -> Result<Arc<Image>, Trouble> {
    let found = inspect(&source.docker, name).await?;
    let fits = found
        .as_ref()
        .is_some_and(|image| image.is_for(&source.platform));
    match (source.policy, &found) {
        (Pull::Never | Pull::Missing, Some(image)) if fits => return Ok(Arc::new(image.clone())),
        (Pull::Never, Some(image)) => return Err(other_platform(image, &source.platform)),
        // No registry has what was made here.
        (Pull::Missing, Some(image)) if !image.is_of_registry => {
            return Err(other_platform(image, &source.platform));
        }
        (Pull::Never, None) => {
            return Err(Trouble::Refused {
                problem: String::from("the engine does not have it, and it is not to be pulled"),
                hint: String::from("build or load it, or let it be pulled with --pull missing"),
            });
        }
        (Pull::Missing | Pull::Always, _) => {}
    }
    if let Err(trouble) = pull::run(source, name).await {
        return Err(match found.filter(|_| !fits) {
            Some(image) => not_instead(&image, &source.platform, trouble),
            None => trouble,
        });
    }
    match inspect(&source.docker, name).await? {
        Some(image) if image.is_for(&source.platform) => {
            pulls::remember(&source.pulled, name, &image, found.as_ref());
            Ok(Arc::new(image))
        }
        Some(image) => Err(other_platform(&image, &source.platform)),
        None => Err(Trouble::Failed {
            problem: String::from("it was pulled, but the engine does not have it"),
        }),
    }
}

/// The engine has it for another platform, and the registry did not give it for this one.
fn not_instead(image: &Image, platform: &str, trouble: Trouble) -> Trouble {
    let why = match trouble {
        Trouble::Refused { problem, .. } | Trouble::Failed { problem } => problem,
        Trouble::Away { .. } | Trouble::Engine { .. } | Trouble::Full => return trouble,
    };
    match other_platform(image, platform) {
        Trouble::Refused { problem, hint } => Trouble::Refused {
            problem: format!("{problem}, and the registry has none: {why}"),
            hint,
        },
        other => other,
    }
}

fn other_platform(image: &Image, platform: &str) -> Trouble {
    Trouble::Refused {
        problem: format!(
            "the engine has it for {}, not for {platform}, which was asked for",
            image.platform
        ),
        hint: String::from(
            "use an image for this platform, or ask for the image's own with --platform where the engine emulates it",
        ),
    }
}

/// What the engine knows of an image; `None` when it has none of that name.
async fn inspect(docker: &Docker, name: &str) -> Result<Option<Image>, Trouble> {
    match call::within(ANSWER, docker.inspect_image(name)).await {
        Ok(found) => Ok(Some(Image::new(name, found))),
        Err(failure) if failure.status() == Some(404) => Ok(None),
        Err(failure) if failure.is_bad_name() => Err(Trouble::Refused {
            problem: failure.to_string(),
            hint: String::from(
                "write it as `registry/name:tag` or `name@sha256:…`, in small letters",
            ),
        }),
        Err(failure) => Err(Trouble::Engine {
            problem: failure.to_string(),
        }),
    }
}
