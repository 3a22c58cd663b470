//! One backend for all kinds of places on the host: they differ only in what is around a command.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};

use super::visit;
use super::{EMPTY, HOME, HostPlace, HostSettings, PRIVATE, TEMPORARY, WORKSPACE};
use crate::error::Error;
use crate::place::terminal::{Terminal, Visit};
use crate::place::tree;
use crate::place::{
    Backend, Capabilities, KeptPlace, Labels, Leftover, Place, PlaceId, PlaceSpec, quoted,
};
use crate::place::{directory, removal};

/// What is around the commands of a backend on the host.
pub(crate) trait Confinement: Send + Sync + 'static {
    /// Gets ready what places need and may take long, an image above all. Where it is ready, that costs nothing.
    fn prepare<'a>(
        &'a self,
        places: &'a HostPlaces,
        spec: &'a PlaceSpec,
    ) -> BoxFuture<'a, Result<(), Error>> {
        let _ = (places, spec);
        Box::pin(std::future::ready(Ok(())))
    }
    /// Makes the directories of a place, and says how its commands are started. It blocks.
    ///
    /// # Errors
    /// When that fails, or a limit that the user set cannot be enforced; nothing is left behind then.
    fn place(
        &self,
        places: &HostPlaces,
        capabilities: &Capabilities,
        spec: &PlaceSpec,
    ) -> Result<HostPlace, Error>;
}

/// Runs commands on the host.
pub struct HostBackend<C> {
    parts: Arc<Parts<C>>,
}

struct Parts<C> {
    capabilities: Capabilities,
    places: HostPlaces,
    confinement: C,
}

impl<C> HostBackend<C> {
    pub(crate) fn of(capabilities: Capabilities, places: HostPlaces, confinement: C) -> Self {
        Self {
            parts: Arc::new(Parts {
                capabilities,
                places,
                confinement,
            }),
        }
    }
}

async fn make<C: Confinement>(
    parts: Arc<Parts<C>>,
    spec: PlaceSpec,
    deadline: Duration,
) -> Result<Arc<dyn Place>, Error> {
    let operation = format!("make the directories of {}", spec.labels.instance);
    let maker = Arc::clone(&parts);
    let (give, mut made) = oneshot::channel();
    tokio::task::spawn_blocking(move || {
        let made = maker
            .confinement
            .place(&maker.places, &maker.capabilities, &spec);
        // Nobody waits for it any more.
        if let Err(Ok(late)) = give.send(made) {
            discard(&late);
        }
    });
    let until = Instant::now() + deadline;
    match timeout_at(until, &mut made).await {
        Ok(Ok(Ok(made))) if Instant::now() >= until => {
            tokio::task::spawn_blocking(move || discard(&made));
            let late = io::Error::from(io::ErrorKind::TimedOut);
            Err(Error::start(operation, late))
        }
        Ok(Ok(made)) => Ok(parts.places.register(made?)),
        Ok(Err(panic)) => Err(Error::start(operation, panic)),
        Err(late) => {
            made.close();
            if let Ok(Ok(made)) = made.try_recv() {
                tokio::task::spawn_blocking(move || discard(&made));
            }
            Err(Error::start(operation, late))
        }
    }
}

fn discard(place: &HostPlace) {
    let _ = removal::remove_tree(&place.directory);
}

impl<C: Confinement> Backend for HostBackend<C> {
    fn capabilities(&self) -> &Capabilities {
        &self.parts.capabilities
    }

    fn prepare<'a>(&'a self, spec: &'a PlaceSpec) -> BoxFuture<'a, Result<(), Error>> {
        self.parts.confinement.prepare(&self.parts.places, spec)
    }

    fn start<'a>(
        &'a self,
        spec: &'a PlaceSpec,
        deadline: Duration,
    ) -> BoxFuture<'a, Result<Arc<dyn Place>, Error>> {
        Box::pin(async move {
            self.prepare(spec).await?;
            make(Arc::clone(&self.parts), spec.clone(), deadline).await
        })
    }

    fn orphans<'a>(&'a self) -> BoxFuture<'a, Result<Vec<Leftover>, Error>> {
        Box::pin(self.parts.places.list(directory::abandoned))
    }

    fn keep<'a>(
        &'a self,
        id: &'a PlaceId,
        deadline: Duration,
    ) -> BoxFuture<'a, Result<KeptPlace, Error>> {
        Box::pin(self.parts.places.keep(id, deadline))
    }

    fn kept<'a>(&'a self) -> BoxFuture<'a, Result<Vec<Leftover>, Error>> {
        Box::pin(self.parts.places.list(directory::kept))
    }

    fn has<'a>(&'a self, id: &'a PlaceId) -> BoxFuture<'a, Result<bool, Error>> {
        let there = self.parts.places.path_of(id).map(|path| path.is_dir());
        Box::pin(std::future::ready(there))
    }

    fn visit<'a>(
        &'a self,
        id: &'a PlaceId,
        visit: &'a Visit,
    ) -> BoxFuture<'a, Result<Terminal, Error>> {
        let opened = self.parts.places.path_of(id).and_then(|path| {
            visit::open(&path, visit).map_err(|error| {
                Error::lost(format!("open a shell in the sandbox {}", id.0), error)
            })
        });
        Box::pin(std::future::ready(opened))
    }

    fn remove<'a>(
        &'a self,
        id: &'a PlaceId,
        deadline: Duration,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.parts.places.remove(id, deadline))
    }
}

/// The places that a backend has started and not yet removed.
pub(crate) struct HostPlaces {
    settings: HostSettings,
    alive: Mutex<HashMap<PlaceId, Weak<HostPlace>>>,
}

impl HostPlaces {
    pub(crate) fn new(mut settings: HostSettings) -> Result<Self, Error> {
        let root = settings.root.clone();
        let operation = || format!("make the sandboxes' directory {}", root.display());
        std::fs::create_dir_all(&settings.root)
            .map_err(|error| Error::start(operation(), error))?;
        settings.root = settings
            .root
            .canonicalize()
            .map_err(|error| Error::start(operation(), error))?;
        if settings.root.to_str().is_none() {
            return Err(Error::start(operation(), "its path is not UTF-8"));
        }
        tree::adopt_orphans();
        Ok(Self {
            settings,
            alive: Mutex::default(),
        })
    }

    pub(crate) fn settings(&self) -> &HostSettings {
        &self.settings
    }

    /// Makes a place's directory with a workspace, a home and a directory for temporary files in it.
    pub(crate) fn directory(&self, labels: &Labels) -> Result<(PlaceId, PathBuf), Error> {
        let (id, path) = directory::create(&self.settings.root, labels)?;
        for name in [WORKSPACE, HOME, TEMPORARY, PRIVATE] {
            if let Err(error) = directory::create_private(&path.join(name)) {
                let _ = removal::remove_tree(&path);
                return Err(Error::start(
                    format!("make the directory {name} in {}", path.display()),
                    error,
                ));
            }
        }
        let filled = std::fs::write(path.join(HOME).join(".gitconfig"), GIT_CONFIGURATION)
            .and_then(|()| std::fs::write(path.join(EMPTY), ""));
        if let Err(error) = filled {
            let _ = removal::remove_tree(&path);
            return Err(Error::start(
                format!("write into {}", path.display()),
                error,
            ));
        }
        Ok((id, path))
    }

    pub(crate) fn register(&self, place: HostPlace) -> Arc<HostPlace> {
        let place = Arc::new(place);
        self.alive
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(place.id.clone(), Arc::downgrade(&place));
        place
    }

    async fn list(
        &self,
        list: fn(&Path) -> io::Result<Vec<Leftover>>,
    ) -> Result<Vec<Leftover>, Error> {
        let root = self.settings.root.clone();
        let found = tokio::task::spawn_blocking(move || list(&root)).await;
        flatten(found).map_err(|error| {
            Error::start(
                format!(
                    "look for left-over sandboxes in {}",
                    self.settings.root.display()
                ),
                error,
            )
        })
    }

    async fn keep(&self, id: &PlaceId, deadline: Duration) -> Result<KeptPlace, Error> {
        let operation = || format!("keep the sandbox {}", id.0);
        let place = self
            .alive
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(id)
            .and_then(Weak::upgrade);
        let place = place.ok_or_else(|| Error::lost(operation(), "it is not there any more"))?;
        place.stop_all(deadline).await?;
        visit::remember(&place)
            .and_then(|()| directory::mark_kept(&place.directory))
            .map_err(|error| Error::lost(operation(), error))?;
        let workspace = place.host_workdir.to_string_lossy();
        Ok(KeptPlace {
            id: id.clone(),
            open: format!("cd {}", quoted(&workspace)),
        })
    }

    /// The directory of a place.
    fn path_of(&self, id: &PlaceId) -> Result<PathBuf, Error> {
        if Path::new(&id.0).components().count() != 1 || id.0.contains('/') || id.0 == ".." {
            return Err(Error::Refused(format!(
                "`{}` is not the name of a sandbox",
                id.0
            )));
        }
        Ok(self.settings.root.join(&id.0))
    }

    pub(crate) async fn remove(&self, id: &PlaceId, deadline: Duration) -> Result<(), Error> {
        let operation = || format!("remove the sandbox {}", id.0);
        let path = self.path_of(id)?;
        let known = self
            .alive
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(id);
        let mine = known.is_some();
        if let Some(place) = known.and_then(|place| place.upgrade()) {
            place.stop_all(deadline).await?;
        }
        // Half removed it may lack what says whose it is: the new name says that, so that the next runner finds the rest of it.
        let grave = directory::kin_path(&self.settings.root);
        let work = tokio::task::spawn_blocking(move || {
            if !mine && path.exists() {
                tree::end_strays(&tree::mark(&path));
            }
            let rest = if std::fs::rename(&path, &grave).is_ok() {
                grave
            } else {
                path.clone()
            };
            removal::remove_tree(&rest).or_else(|_| {
                // Somebody may still be writing there: a stray whose keeper was killed.
                tree::end_strays(&tree::mark(&path));
                removal::remove_tree(&rest)
            })
        });
        match timeout(deadline, work).await {
            Ok(done) => flatten(done).map_err(|error| Error::lost(operation(), error)),
            Err(late) => Err(Error::lost(operation(), late)),
        }
    }
}

fn flatten<T>(result: Result<io::Result<T>, tokio::task::JoinError>) -> io::Result<T> {
    result.unwrap_or_else(|panic| Err(io::Error::other(panic)))
}

/// Lets the agent commit in repositories that it makes itself.
const GIT_CONFIGURATION: &str = "[user]\n\tname = Agent\n\temail = agent@localhost\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n";
