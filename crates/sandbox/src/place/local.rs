//! The `local` backend: a private directory, an environment without the user's secrets, a process session of its own, and no confinement.

use std::sync::Mutex;

use crate::error::Error;
use crate::limits::{Applied, Network};
use crate::network::NetworkProbe;
use crate::place::host::{
    self, Confinement, HOME, HostBackend, HostPlace, HostPlaces, HostSettings, SHELL_STATE,
    TEMPORARY, WORKSPACE,
};
use crate::place::{Capabilities, PlaceSpec};

/// What this backend never enforces, in the names of [`Applied::unenforced`]: for the warning line.
pub const UNENFORCED: [&str; 6] = ["filesystem", "network", "memory", "cpus", "pids", "disk"];

/// Runs commands as the user that runs Patchmill.
pub type Local = HostBackend<Unconfined>;

/// Nothing around a command.
pub struct Unconfined;

impl Local {
    /// A backend that makes its directories below `settings.root`.
    ///
    /// # Errors
    /// When that directory cannot be made.
    pub fn new(settings: HostSettings) -> Result<Self, Error> {
        let capabilities = Capabilities {
            backend: "local",
            network_isolation: false,
            network_door: false,
            memory_limit: false,
            cpu_limit: false,
            pids_limit: false,
            disk_limit: false,
        };
        Ok(Self::of(
            capabilities,
            HostPlaces::new(settings)?,
            Unconfined,
        ))
    }
}

impl Confinement for Unconfined {
    fn place(
        &self,
        places: &HostPlaces,
        _: &Capabilities,
        spec: &PlaceSpec,
    ) -> Result<HostPlace, Error> {
        let limits = host::unenforced("local", spec, places.settings())?;
        host::check_network("local", &spec.network, places.settings())?;
        let mut unenforced = vec![String::from("filesystem")];
        if spec.network != Network::Full {
            unenforced.push(String::from("network"));
        }
        unenforced.extend(limits);
        let (id, directory) = places.directory(&spec.labels)?;
        let text = |name: &str| directory.join(name).to_string_lossy().into_owned();
        let home = text(HOME);
        Ok(HostPlace {
            workdir: text(WORKSPACE),
            host_workdir: directory.join(WORKSPACE),
            shell_state: format!("{home}/{SHELL_STATE}"),
            applied: Applied {
                network: Network::Full,
                probe: NetworkProbe::default(),
                enforced: Vec::new(),
                unenforced,
                user: user(),
                capabilities: Vec::new(),
                tmpfs: None,
                image: None,
            },
            environment: host::environment(&home, &text(TEMPORARY), &spec.environment),
            given: host::given(spec),
            keep: places.settings().keep.clone(),
            wrapper: None,
            root: None,
            trees: Mutex::default(),
            id,
            directory,
        })
    }
}

/// Number of the user that commands run as.
pub(crate) fn user() -> String {
    rustix::process::getuid().as_raw().to_string()
}
