//! The `docker` backend: a container for each place, by way of the engine's API.
//!
//! Podman's service speaks the same API; where its answers differ is in `podman`.
//!
//! The shell is the container's main process, attached before it starts and without an init; what else runs is an exec as the same user.

mod address;
mod answers;
mod applied;
mod archive;
mod boot;
mod call;
mod channel;
mod connect;
mod container;
mod context;
mod create;
mod credentials;
mod evict;
mod exec;
mod forsaken;
mod health;
mod image;
mod inventory;
mod labels;
mod leftovers;
mod limits;
mod living;
mod main_process;
mod memory;
mod podman;
mod progress;
mod pull;
mod pulls;
mod registries;
mod remove;
mod state;
mod stuck;
mod sweeps;
mod view;
mod visit;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bollard::models::SystemInfo;
use bollard::query_parameters::CreateContainerOptionsBuilder;
use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;
use tokio::time::Instant;

pub use self::connect::{EngineInfo, ProbeError, probe};
pub use self::context::ContextError;
pub use self::image::Pull;
pub use self::inventory::{Inventory, StoredImage};
pub use self::podman::probe_podman;
pub use self::progress::{PullPhase, PullProgress, Pulls};

use self::address::Address;
use self::applied::{applied, capabilities, platform};
use self::channel::Held;
use self::container::Container;
use self::exec::Entry;
use self::forsaken::Forsaken;
use self::health::{Health, Watch};
use self::image::{Image, Images, Source};
use self::limits::Plan;
use self::living::{Alive, Known, Living};
use self::memory::Kills;
use self::podman::Shortcomings;
use self::registries::Registries;
use self::sweeps::Sweeps;
use crate::error::Error;
use crate::place::terminal::{Terminal, Visit};
use crate::place::{
    Backend, Capabilities, EngineState, EngineWatch, KeptPlace, Leftover, Place, PlaceId,
    PlaceSpec, RegistryWatch, RemovedImage, directory, removal,
};

/// Removals at once: more only take turns in the engine.
const REMOVALS: usize = 8;
/// Images pulled at the same time, unless the settings say: engines fetch three layers at once by themselves.
pub const PULLS: usize = 3;
/// How long a registry that gives nothing is waited for, unless the settings say.
pub const REGISTRY_WAIT: Duration = Duration::from_mins(1);
/// How long what is left of a failed start may take to go.
const CLEAN: Duration = Duration::from_secs(30);
/// Where the repository is unless the row or the image says.
const WORKDIR: &str = "/workspace";

/// Which engine is spoken to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Engine {
    /// The one that Docker's command line would ask; Podman where there is no other.
    #[default]
    Usual,
    /// Podman, at its own socket.
    Podman,
}

/// Settings of the `docker` backend.
#[derive(Debug, Clone)]
pub struct DockerSettings {
    /// Directory on the host for what belongs to a place and is not visible in it.
    pub root: PathBuf,
    /// Which engine.
    pub engine: Engine,
    /// Image for rows that name none.
    pub image: Option<String>,
    /// When images are pulled.
    pub pull: Pull,
    /// Images that are pulled at the same time.
    pub pulls: usize,
    /// How long pulls wait for a registry that gives nothing.
    pub registry_wait: Duration,
    /// Directory of the user's Docker configuration, for credentials; `None` where it usually is.
    pub configuration: Option<PathBuf>,
    /// Platform of images, `os/architecture`; `None` is the engine's own.
    pub platform: Option<String>,
    /// Whether a limit that the user set and the engine cannot enforce is recorded instead of refused.
    pub best_effort_limits: bool,
}

impl DockerSettings {
    /// Settings with the given root and nothing special.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            engine: Engine::default(),
            image: None,
            pull: Pull::default(),
            pulls: PULLS,
            registry_wait: REGISTRY_WAIT,
            configuration: None,
            platform: None,
            best_effort_limits: false,
        }
    }
}

/// Runs commands in containers.
pub struct Docker {
    engine: bollard::Docker,
    settings: DockerSettings,
    capabilities: Capabilities,
    /// What is missing where the engine is Podman.
    podman: Option<Shortcomings>,
    processors: Option<f64>,
    platform: String,
    images: Images,
    /// Directory where it is remembered what was pulled.
    pulled: PathBuf,
    kills: Arc<Kills>,
    health: Arc<Health>,
    forsaken: Arc<Forsaken>,
    _watch: Watch,
    storage: Option<PathBuf>,
    /// Whether its storage tells nobody who writes that it is full: what is written waits in the kernel, and the error comes when nobody listens any more.
    loses_writes: bool,
    starts: Semaphore,
    removals: Semaphore,
    alive: Arc<Alive>,
}

impl Docker {
    /// A backend for the engine at `DOCKER_HOST`, or at its usual socket, after it has answered.
    ///
    /// # Errors
    /// `Engine` when none answers, with the cause and a hint; `Start` when the directory of `settings` cannot be made.
    pub async fn connect(settings: DockerSettings) -> Result<Self, Error> {
        let (engine, address, info) = match settings.engine {
            Engine::Podman => podman::ask().await?,
            Engine::Usual => connect::ask().await.map_err(ProbeError::failure)?,
        };
        std::fs::create_dir_all(&settings.root).map_err(|error| {
            Error::start(
                format!("make the sandboxes' directory {}", settings.root.display()),
                error,
            )
        })?;
        let podman = podman::shortcomings(&engine, &info)
            .await
            .map_err(|failure| failure.starting("ask the engine whose it is"))?;
        Ok(Self::new(engine, &address, settings, &info, podman))
    }

    fn new(
        engine: bollard::Docker,
        address: &Address,
        settings: DockerSettings,
        info: &SystemInfo,
        podman: Option<Shortcomings>,
    ) -> Self {
        let processors = info.ncpu.and_then(|number| i32::try_from(number).ok());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let platform = settings.platform.clone().unwrap_or_else(|| platform(info));
        let pulled = pulls::directory(&settings.root, info);
        let images = Images::new(Source {
            docker: engine.clone(),
            policy: settings.pull,
            platform: platform.clone(),
            configuration: settings
                .configuration
                .clone()
                .or_else(credentials::directory),
            default_registry: info.index_server_address.clone().unwrap_or_default(),
            turns: Arc::new(Semaphore::new(settings.pulls.max(1))),
            registries: Arc::new(Registries::new(settings.registry_wait)),
            pulls: Pulls::default(),
            pulled: pulled.clone(),
        });
        let health = Arc::new(Health::new(engine.clone(), address));
        let kills = Arc::new(Kills::since(info.system_time.as_deref()));
        let (forsaken, alive) = <(Arc<Forsaken>, Arc<Alive>)>::default();
        Self {
            images,
            pulled,
            _watch: Watch::start(
                Arc::clone(&health),
                Arc::clone(&kills),
                Arc::clone(&forsaken),
                Living::new(engine.clone(), Arc::clone(&alive)),
            ),
            kills,
            health,
            forsaken,
            engine,
            capabilities: capabilities(info, podman),
            podman,
            processors: processors.map(f64::from),
            platform,
            storage: match settings.engine {
                Engine::Usual => connect::storage(address, info),
                Engine::Podman => podman::storage(info),
            },
            loses_writes: info.driver.as_deref() == Some("fuse-overlayfs"),
            settings,
            starts: Semaphore::new(cores),
            removals: Semaphore::new(REMOVALS),
            alive,
        }
    }

    /// Name of a place's image.
    fn image_name<'a>(&'a self, spec: &'a PlaceSpec) -> Result<&'a str, Error> {
        let name = spec.image.as_ref().or(self.settings.image.as_ref());
        name.map(String::as_str).ok_or_else(|| Error::Unsupported {
            message: String::from(
                "a container needs an image and the row names none: give one with --image",
            ),
        })
    }

    async fn start_place(
        &self,
        spec: &PlaceSpec,
        deadline: Duration,
    ) -> Result<Arc<Container>, Error> {
        let name = self.image_name(spec)?;
        let mut image = self.images.get(name).await?;
        inventory::remember_use(&self.settings.root, &image);
        let mut up = self.bring_up(spec, &image, deadline).await;
        // Somebody has removed it in the meantime.
        if matches!(&up, Err(Error::Image { image: id, .. }) if *id == image.id) {
            image = self.images.get_again(name, &image).await?;
            up = self.bring_up(spec, &image, deadline).await;
        }
        if let Err(Error::Image {
            image: subject,
            problem,
            hint,
        }) = &up
            && subject == name
        {
            self.images.refuse(name, &image, problem, hint);
        }
        up
    }

    async fn bring_up(
        &self,
        spec: &PlaceSpec,
        image: &Image,
        deadline: Duration,
    ) -> Result<Arc<Container>, Error> {
        // The semaphores are never closed.
        let _turn = self.starts.acquire().await;
        let until = Instant::now() + deadline;
        let id = PlaceId(labels::name(&spec.labels));
        let private = directory::create_kin(&self.settings.root).map_err(|error| {
            let root = self.settings.root.display();
            Error::start(format!("make a private directory in {root}"), error)
        })?;
        let made = self.make(spec, image, &id, private.clone(), until).await;
        if made.is_err() {
            let _ = removal::remove_tree(&private);
            if let Err(left) = self.delete(&id, &id.0, Instant::now() + CLEAN).await {
                self.forsaken.add(&id.0, &id.0);
                tracing::warn!(container = id.0, error = %left, "a container that failed to start was not removed");
            }
        }
        made
    }

    async fn make(
        &self,
        spec: &PlaceSpec,
        image: &Image,
        id: &PlaceId,
        private: PathBuf,
        until: Instant,
    ) -> Result<Arc<Container>, Error> {
        let workdir = spec.workdir.as_deref().or(image.workdir.as_deref());
        let workdir = workdir.unwrap_or(WORKDIR).to_owned();
        limits::keeps_work(spec, &workdir)?;
        let (plan, number) = self.create(spec, image, id, &workdir, until).await?;
        let up = container::bring_up(&self.engine, &id.0, until).await;
        let (main, report) =
            up.map_err(|not_up| not_up.of(self.image_name(spec).unwrap_or(&image.id)))?;
        let (entrance, entry) = (Arc::default(), Arc::<Entry>::default());
        let container = Arc::new(Container {
            id: id.clone(),
            docker: self.engine.clone(),
            workdir,
            private,
            disk: self.storage.clone(),
            loses_writes: self.loses_writes,
            applied: applied(spec, image, plan, report)?,
            main: tokio::sync::Mutex::new(Some(main)),
            held: Arc::new(Held::default()),
            sweeps: Sweeps::new(
                self.engine.clone(),
                number.clone(),
                Arc::clone(&entry),
                Arc::clone(&entrance),
            ),
            entry,
            entrance,
            number,
            kills: Arc::clone(&self.kills),
            hears: self.podman.is_none(),
            stopped: AtomicBool::new(false),
        });
        let known = Known {
            place: Arc::downgrade(&container),
            number: container.number.clone(),
            private: container.private.clone(),
        };
        self.alive().insert(id.clone(), known);
        Ok(container)
    }

    /// Creates the container; what is returned is what the engine accepted, and its own identifier.
    async fn create(
        &self,
        spec: &PlaceSpec,
        image: &Image,
        id: &PlaceId,
        workdir: &str,
        until: Instant,
    ) -> Result<(Plan, String), Error> {
        let mut plan = Plan::new(
            &spec.limits,
            &self.capabilities,
            self.processors,
            self.settings.best_effort_limits,
        )?;
        plan.size_memory_files(spec.rights.temporary);
        if self.podman.is_some_and(|podman| podman.bounds) {
            plan.give_up_bounds();
        }
        loop {
            let body = create::body(spec, image, &plan, workdir, &self.settings.root);
            let options = CreateContainerOptionsBuilder::default()
                .name(&id.0)
                .platform(&self.platform)
                .build();
            let created = call::by(until, self.engine.create_container(Some(options), body)).await;
            match created {
                Ok(created) => {
                    for warning in created.warnings {
                        tracing::debug!(container = id.0, warning, "the engine warns");
                    }
                    return Ok((plan, created.id));
                }
                // Only by trying can be known whether the driver's file system has quotas.
                Err(failure) if plan.limits_disk() && failure.message().contains("storage-opt") => {
                    let explicit = spec.limits.disk.is_some_and(|limit| limit.explicit);
                    plan = plan.without_disk(explicit, self.settings.best_effort_limits)?;
                    if self.podman.is_some_and(|podman| podman.bounds) {
                        plan.give_up_bounds();
                    }
                }
                Err(failure)
                    if failure.status() == Some(404)
                        && failure
                            .message()
                            .to_ascii_lowercase()
                            .contains("no such image") =>
                {
                    return Err(Error::Image {
                        image: image.id.clone(),
                        problem: failure.to_string(),
                        hint: String::from("do not remove images while a run uses them"),
                    });
                }
                Err(failure) => {
                    return Err(failure.starting(format!("create the container {}", id.0)));
                }
            }
        }
    }

    fn alive(&self) -> std::sync::MutexGuard<'_, HashMap<PlaceId, Known>> {
        self.alive.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backend for Docker {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn storage(&self) -> Vec<PathBuf> {
        self.storage.iter().cloned().collect()
    }

    fn prepare<'a>(&'a self, spec: &'a PlaceSpec) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let name = self.image_name(spec)?;
            self.images.get(name).await.map(|_| ())
        })
    }

    fn engine(&self) -> Option<EngineWatch> {
        Some(self.health.engine())
    }

    fn ask_engine(&self) -> BoxFuture<'_, EngineState> {
        Box::pin(self.health.ask())
    }

    fn evict<'a>(
        &'a self,
        needed: &'a HashSet<String>,
    ) -> BoxFuture<'a, Result<Option<RemovedImage>, Error>> {
        Box::pin(self.evict_one(needed))
    }

    fn registries(&self) -> Option<RegistryWatch> {
        Some(self.images.registries())
    }

    fn pulls(&self) -> Option<Pulls> {
        Some(self.images.pulls())
    }

    fn tidy(&self, deadline: Duration) -> BoxFuture<'_, ()> {
        Box::pin(self.forsaken.remove_within(&self.engine, deadline))
    }

    fn start<'a>(
        &'a self,
        spec: &'a PlaceSpec,
        deadline: Duration,
    ) -> BoxFuture<'a, Result<Arc<dyn Place>, Error>> {
        Box::pin(async move {
            let container = self.start_place(spec, deadline).await?;
            Ok(container as Arc<dyn Place>)
        })
    }

    fn orphans<'a>(&'a self) -> BoxFuture<'a, Result<Vec<Leftover>, Error>> {
        Box::pin(self.find_orphans())
    }

    fn keep<'a>(
        &'a self,
        id: &'a PlaceId,
        deadline: Duration,
    ) -> BoxFuture<'a, Result<KeptPlace, Error>> {
        Box::pin(self.keep_place(id, deadline))
    }

    fn kept<'a>(&'a self) -> BoxFuture<'a, Result<Vec<Leftover>, Error>> {
        Box::pin(self.find_kept())
    }

    fn has<'a>(&'a self, id: &'a PlaceId) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(self.find(id))
    }

    fn visit<'a>(
        &'a self,
        id: &'a PlaceId,
        visit: &'a Visit,
    ) -> BoxFuture<'a, Result<Terminal, Error>> {
        Box::pin(self.visit_container(id, visit))
    }

    fn remove<'a>(
        &'a self,
        id: &'a PlaceId,
        deadline: Duration,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.remove_place(id, deadline))
    }
}
