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
mod freezer;
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
mod start;
mod state;
mod stuck;
mod sweeps;
mod view;
mod visit;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bollard::models::SystemInfo;
use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

pub use self::connect::{EngineInfo, ProbeError, probe};
pub use self::context::ContextError;
pub use self::image::Pull;
pub use self::inventory::{Inventory, StoredImage};
pub use self::podman::probe_podman;
pub use self::progress::{PullPhase, PullProgress, Pulls};

use self::address::Address;
use self::applied::{capabilities, platform};
use self::forsaken::Forsaken;
use self::health::{Health, Watch};
use self::image::{Images, Source};
use self::living::{Alive, Known, Living};
use self::memory::Kills;
use self::podman::Shortcomings;
use self::registries::Registries;
use crate::error::Error;
use crate::place::terminal::{Terminal, Visit};
use crate::place::{
    Backend, Capabilities, EngineState, EngineWatch, KeptPlace, Leftover, Place, PlaceId,
    PlaceSpec, RegistryWatch, RemovedImage,
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
