//! A backend that hears of no kill for memory: what its engine tells is lost, or it tells nothing.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use sandbox::Error;
use sandbox::limits::Applied;
use sandbox::place::terminal::{Terminal, Visit};
use sandbox::place::{
    Backend, Capabilities, Channel, Files, KeptPlace, Launch, Leftover, Place, PlaceId, PlaceSpec,
    PlaceState, Processes,
};
use tokio::sync::Mutex;

/// Another backend.
pub(crate) struct Deaf {
    pub(crate) inner: Arc<dyn Backend>,
    /// Whether it does not know that it is deaf.
    pub(crate) hears: bool,
}

impl Backend for Deaf {
    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }
    fn start<'a>(
        &'a self,
        spec: &'a PlaceSpec,
        deadline: Duration,
    ) -> BoxFuture<'a, Result<Arc<dyn Place>, Error>> {
        Box::pin(async move {
            let inner = self.inner.start(spec, deadline).await?;
            let hears = self.hears;
            Ok(Arc::new(DeafPlace { inner, hears }) as Arc<dyn Place>)
        })
    }
    fn orphans(&self) -> BoxFuture<'_, Result<Vec<Leftover>, Error>> {
        self.inner.orphans()
    }
    fn keep<'a>(
        &'a self,
        id: &'a PlaceId,
        deadline: Duration,
    ) -> BoxFuture<'a, Result<KeptPlace, Error>> {
        self.inner.keep(id, deadline)
    }
    fn kept(&self) -> BoxFuture<'_, Result<Vec<Leftover>, Error>> {
        self.inner.kept()
    }
    fn has<'a>(&'a self, id: &'a PlaceId) -> BoxFuture<'a, Result<bool, Error>> {
        self.inner.has(id)
    }
    fn visit<'a>(
        &'a self,
        id: &'a PlaceId,
        visit: &'a Visit,
    ) -> BoxFuture<'a, Result<Terminal, Error>> {
        self.inner.visit(id, visit)
    }
    fn remove<'a>(
        &'a self,
        id: &'a PlaceId,
        deadline: Duration,
    ) -> BoxFuture<'a, Result<(), Error>> {
        self.inner.remove(id, deadline)
    }
}

struct DeafPlace {
    inner: Arc<dyn Place>,
    hears: bool,
}

impl Place for DeafPlace {
    fn id(&self) -> &PlaceId {
        self.inner.id()
    }
    fn applied(&self) -> &Applied {
        self.inner.applied()
    }
    fn processes(&self) -> Processes {
        self.inner.processes()
    }
    fn workdir(&self) -> &str {
        self.inner.workdir()
    }
    fn files(&self) -> Files<'_> {
        self.inner.files()
    }
    fn shares_host_files(&self) -> bool {
        self.inner.shares_host_files()
    }
    fn shell_state(&self) -> &str {
        self.inner.shell_state()
    }
    fn hears_of_kills(&self) -> bool {
        self.hears
    }
    fn private_directory(&self) -> PathBuf {
        self.inner.private_directory()
    }
    fn entrance(&self) -> Option<Arc<Mutex<()>>> {
        self.inner.entrance()
    }
    fn open<'a>(&'a self, launch: &'a Launch) -> BoxFuture<'a, Result<Channel, Error>> {
        self.inner.open(launch)
    }
    fn stop(&self, deadline: Duration) -> BoxFuture<'_, Result<(), Error>> {
        self.inner.stop(deadline)
    }
    fn state(&self) -> BoxFuture<'_, Result<PlaceState, Error>> {
        self.inner.state()
    }
}
