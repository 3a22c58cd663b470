//! The `bubblewrap` backend: a read-only root without the user's secrets, a workspace and temporary files of its own, no network, own namespaces.

mod arguments;

use std::ffi::OsString;
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use self::arguments::Binds;
use crate::error::Error;
use crate::limits::{Applied, Network};
use crate::network::NetworkProbe;
use crate::place::host::{
    self, Confinement, HostBackend, HostPlace, HostPlaces, HostSettings, SHELL_STATE, WORKSPACE,
};
use crate::place::local::user;
use crate::place::{Capabilities, PlaceSpec};

/// How long the trial at the start may take.
const PROBE: Duration = Duration::from_secs(10);

/// Where the repository appears unless the row's own directory can be used.
const WORKDIR: &str = "/workspace";
/// The agent's home as seen inside.
const HOME_INSIDE: &str = "/agent";
/// Temporary files as seen inside.
const TEMPORARY_INSIDE: &str = "/tmp";

/// Runs commands in namespaces of their own by way of `bwrap`.
pub type Bubblewrap = HostBackend<Namespaces>;

/// `bwrap` around a command.
pub struct Namespaces {
    program: OsString,
    user_namespace: bool,
}

impl Bubblewrap {
    /// A backend that makes its directories below `settings.root`, after `bwrap` has shown that it works here.
    ///
    /// # Errors
    /// `Unsupported` when it is missing or cannot make its namespaces, with what it said.
    pub async fn probe(settings: HostSettings) -> Result<Self, Error> {
        let program = OsString::from("bwrap");
        let places = HostPlaces::new(settings)?;
        // What works with everything is best; the rest is found out in the order of what may be missing.
        let mut said = String::new();
        for (user_namespace, network_isolation) in
            [(true, true), (false, true), (true, false), (false, false)]
        {
            let network = if network_isolation {
                Network::None
            } else {
                Network::Full
            };
            let binds = Binds::trial(places.settings(), &network, user_namespace);
            match try_out(&program, &binds).await {
                Ok(()) => {
                    let capabilities = Capabilities {
                        backend: "bubblewrap",
                        network_isolation,
                        // Each channel has a network namespace of its own.
                        network_door: false,
                        memory_limit: false,
                        cpu_limit: false,
                        pids_limit: false,
                        disk_limit: false,
                    };
                    let confinement = Namespaces {
                        program,
                        user_namespace,
                    };
                    return Ok(Self::of(capabilities, places, confinement));
                }
                Err(message) if said.is_empty() => said = message,
                Err(_) => {}
            }
        }
        Err(Error::Unsupported {
            message: format!(
                "bubblewrap does not work here ({said}): install the package `bubblewrap` and allow user namespaces, or use another sandbox"
            ),
        })
    }
}

impl Confinement for Namespaces {
    fn place(
        &self,
        places: &HostPlaces,
        capabilities: &Capabilities,
        spec: &PlaceSpec,
    ) -> Result<HostPlace, Error> {
        let settings = places.settings();
        let mut unenforced = host::unenforced("bubblewrap", spec, settings)?;
        let mut enforced = vec![String::from("filesystem")];
        host::check_network("bubblewrap", &spec.network, settings)?;
        let network = match spec.network {
            Network::None if capabilities.network_isolation => Network::None,
            Network::None | Network::Full | Network::Allow(_) => Network::Full,
        };
        if spec.network != Network::Full {
            let list = if network == Network::None {
                &mut enforced
            } else {
                &mut unenforced
            };
            list.push(String::from("network"));
        }
        let (id, directory) = places.directory(&spec.labels)?;
        let workdir = arguments::workdir(spec.workdir.as_deref(), WORKDIR);
        let mut settings = settings.clone();
        settings.hidden.extend_from_slice(&spec.hidden);
        let binds = Binds::new(
            &settings,
            &directory,
            &workdir,
            &network,
            self.user_namespace,
        );
        let program = self.program.clone();
        Ok(HostPlace {
            host_workdir: directory.join(WORKSPACE),
            shell_state: format!("{HOME_INSIDE}/{SHELL_STATE}"),
            applied: Applied {
                network,
                probe: NetworkProbe::default(),
                enforced,
                unenforced,
                user: user(),
                capabilities: Vec::new(),
                tmpfs: None,
                image: None,
            },
            environment: host::environment(HOME_INSIDE, TEMPORARY_INSIDE, &spec.environment),
            given: host::given(spec),
            keep: settings.keep.clone(),
            wrapper: Some(Box::new(move |directory| {
                let mut arguments = vec![program.clone()];
                arguments.extend(binds.arguments(directory));
                arguments
            })),
            root: None,
            trees: Mutex::default(),
            workdir,
            id,
            directory,
        })
    }
}

async fn try_out(program: &OsString, binds: &Binds) -> Result<(), String> {
    let output = Command::new(program)
        .args(binds.arguments("/"))
        .args([
            "/bin/sh",
            "-c",
            ": >/dev/null && read -r line </proc/self/stat",
        ])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    match timeout(PROBE, output).await {
        Err(_) => Err(String::from("it does not come to an end")),
        Ok(Err(error)) => Err(error.to_string()),
        Ok(Ok(output)) if output.status.success() => Ok(()),
        Ok(Ok(output)) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}
