//! The `local` backend: a private directory, an environment without the user's secrets, a process session of its own, and no confinement.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::error::Error;
use crate::limits::{Applied, Network};
use crate::place::host::{
    self, HOME, HostPlace, HostPlaces, HostSettings, SHELL_STATE, TEMPORARY, WORKSPACE,
};
use crate::place::{Backend, Capabilities, Place, PlaceId, PlaceSpec};

/// What this backend never enforces, in the names of [`Applied::unenforced`]: for the warning line.
pub const UNENFORCED: [&str; 6] = ["filesystem", "network", "memory", "cpus", "pids", "disk"];

/// Runs commands as the user that runs Patchmill.
pub struct Local {
    capabilities: Capabilities,
    places: HostPlaces,
}

impl Local {
    /// A backend that makes its directories below `settings.root`.
    ///
    /// # Errors
    /// When that directory cannot be made.
    pub fn new(settings: HostSettings) -> Result<Self, Error> {
        Ok(Self {
            capabilities: Capabilities {
                backend: "local",
                network_isolation: false,
                memory_limit: false,
                cpu_limit: false,
                pids_limit: false,
                disk_limit: false,
            },
            places: HostPlaces::new(settings)?,
        })
    }

    fn place(&self, spec: &PlaceSpec) -> Result<Arc<dyn Place>, Error> {
        let limits = host::unenforced("local", &spec.limits, self.places.settings())?;
        let mut unenforced = vec![String::from("filesystem")];
        if spec.network == Network::None {
            unenforced.push(String::from("network"));
        }
        unenforced.extend(limits);
        let (id, directory) = self.places.directory(&spec.labels)?;
        let text = |name: &str| directory.join(name).to_string_lossy().into_owned();
        let home = text(HOME);
        let place = HostPlace {
            workdir: text(WORKSPACE),
            host_workdir: directory.join(WORKSPACE),
            shell_state: format!("{home}/{SHELL_STATE}"),
            applied: Applied {
                network: Network::Full,
                enforced: Vec::new(),
                unenforced,
                user: user(),
                image: None,
            },
            environment: host::environment(&home, &text(TEMPORARY), &spec.environment),
            keep: self.places.settings().keep.clone(),
            wrapper: None,
            trees: Mutex::default(),
            id,
            directory,
        };
        Ok(self.places.register(place))
    }
}

/// Number of the user that commands run as.
pub(crate) fn user() -> String {
    rustix::process::getuid().as_raw().to_string()
}

impl Backend for Local {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn start<'a>(
        &'a self,
        spec: &'a PlaceSpec,
        _deadline: Duration,
    ) -> BoxFuture<'a, Result<Arc<dyn Place>, Error>> {
        Box::pin(async move { self.place(spec) })
    }

    fn orphans<'a>(&'a self) -> BoxFuture<'a, Result<Vec<PlaceId>, Error>> {
        Box::pin(self.places.orphans())
    }

    fn remove<'a>(
        &'a self,
        id: &'a PlaceId,
        deadline: Duration,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.places.remove(id, deadline))
    }
}
