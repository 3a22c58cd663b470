//! What the backends that run commands on the host share: a private directory for each place, and a keeper for each channel.

mod backend;
mod root;
mod visit;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::timeout;

use crate::error::Error;
use crate::limits::{Applied, Network};
use crate::place::directory;
use crate::place::tree::{Program, Tree};
use crate::place::{Channel, Files, Launch, Place, PlaceId, PlaceSpec, PlaceState, Processes};

pub use self::backend::HostBackend;
pub(crate) use self::backend::{Confinement, HostPlaces};
pub(crate) use self::root::HostRoot;
pub use crate::place::tree::KeepCommand;

/// Settings of the backends that run commands on the host.
#[derive(Debug, Clone)]
pub struct HostSettings {
    /// Directory that all private directories are made in; it belongs to this project's sandboxes alone and may be shared by several runs.
    pub root: PathBuf,
    /// How keepers are started.
    pub keep: KeepCommand,
    /// Whether a limit that the user set and the backend cannot enforce is recorded instead of refused.
    pub best_effort_limits: bool,
    /// Files and directories that must not be seen inside where the backend can hide them: data sets with their answers, other repositories, run directories.
    pub hidden: Vec<PathBuf>,
}

impl HostSettings {
    /// Settings with the given root, the usual keeper, and nothing hidden.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            keep: KeepCommand::default(),
            best_effort_limits: false,
            hidden: Vec::new(),
        }
    }
}

/// Names of the limits asked for, all of which a host backend leaves to the machine.
///
/// # Errors
/// When the user set one of them and did not ask for best effort.
pub(crate) fn unenforced(
    backend: &str,
    spec: &PlaceSpec,
    settings: &HostSettings,
) -> Result<Vec<String>, Error> {
    let limits = &spec.limits;
    let asked = [
        ("memory", limits.memory.map(|limit| limit.explicit)),
        ("cpus", limits.cpus.map(|limit| limit.explicit)),
        ("pids", limits.pids.map(|limit| limit.explicit)),
        ("disk", limits.disk.map(|limit| limit.explicit)),
    ];
    let mut names = Vec::new();
    for (name, explicit) in asked {
        match explicit {
            Some(true) if !settings.best_effort_limits => {
                return Err(Error::Unsupported {
                    message: format!(
                        "the {backend} sandbox cannot limit {name}: use docker, drop the limit, or accept it as best effort"
                    ),
                });
            }
            Some(_) => names.push(name.to_owned()),
            None => {}
        }
    }
    for name in spec.rights.asked() {
        if !settings.best_effort_limits {
            return Err(Error::Unsupported {
                message: format!(
                    "the {backend} sandbox has no choice of {name}: use docker, leave it out, or accept it as best effort"
                ),
            });
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

/// A host backend lets everything out, or nothing.
///
/// # Errors
/// When only some hosts are to be reached, and best effort was not asked for.
pub(crate) fn check_network(
    backend: &str,
    network: &Network,
    settings: &HostSettings,
) -> Result<(), Error> {
    match network {
        Network::Allow(_) if !settings.best_effort_limits => Err(Error::Unsupported {
            message: format!(
                "the {backend} sandbox cannot let only some hosts be reached: use docker, `--network none` or `--network full`, or accept it as best effort"
            ),
        }),
        Network::Allow(_) | Network::None | Network::Full => Ok(()),
    }
}

/// The repository, under the place's directory.
pub(crate) const WORKSPACE: &str = "workspace";
/// The agent's home.
pub(crate) const HOME: &str = "home";
/// Temporary files.
pub(crate) const TEMPORARY: &str = "tmp";
/// A file with nothing in it.
pub(crate) const EMPTY: &str = "empty";
/// The runner's own files about the place.
pub(crate) const PRIVATE: &str = "private";
/// The shell's state, in the home.
pub(crate) const SHELL_STATE: &str = ".shell-state";

/// Variables that keep programs from asking, paging, colouring and counting down.
pub(crate) const QUIET: [(&str, &str); 13] = [
    ("LANG", "C.UTF-8"),
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("PIP_NO_INPUT", "1"),
    ("PIP_PROGRESS_BAR", "off"),
    ("NPM_CONFIG_UPDATE_NOTIFIER", "false"),
    ("NPM_CONFIG_FUND", "false"),
    ("NPM_CONFIG_PROGRESS", "false"),
    ("TQDM_DISABLE", "1"),
];

/// Variables that everything inside starts with, for a home and a directory for temporary files as seen inside. Of the runner's own environment only
/// the search path gets in.
pub(crate) fn environment(
    home: &str,
    temporary: &str,
    added: &[(String, String)],
) -> Vec<(String, String)> {
    let path = std::env::var("PATH").unwrap_or_else(|_| {
        String::from("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    });
    let mut variables: Vec<(String, String)> = [
        ("PATH", path.as_str()),
        ("HOME", home),
        ("TMPDIR", temporary),
        ("USER", "agent"),
        ("LOGNAME", "agent"),
    ]
    .into_iter()
    .chain(QUIET)
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect();
    for (name, value) in added {
        variables.retain(|(known, _)| known != name);
        variables.push((name.clone(), value.clone()));
    }
    variables
}

/// Names of the variables that the user gave.
pub(crate) fn given(spec: &PlaceSpec) -> Vec<String> {
    let names = spec.environment.iter().map(|(name, _)| name.clone());
    names.collect()
}

/// Gives the words before a program, for the directory that it starts in.
pub(crate) type Wrapper = Box<dyn Fn(&str) -> Vec<OsString> + Send + Sync>;

/// A place on the host: a private directory, and programs that run under keepers, wrapped by the backend's own program where it has one.
pub(crate) struct HostPlace {
    pub(crate) id: PlaceId,
    pub(crate) directory: PathBuf,
    /// The repository as seen inside, and on the host.
    pub(crate) workdir: String,
    pub(crate) host_workdir: PathBuf,
    pub(crate) shell_state: String,
    pub(crate) applied: Applied,
    pub(crate) environment: Vec<(String, String)>,
    /// Names of those variables that the user gave.
    pub(crate) given: Vec<String>,
    pub(crate) keep: KeepCommand,
    /// Program and arguments before what is launched, given its directory as seen inside; empty where nothing confines it.
    pub(crate) wrapper: Option<Wrapper>,
    /// What it has as its own root, where that is a directory of its own: then the repository lies in it, and may be the image's.
    pub(crate) root: Option<HostRoot>,
    pub(crate) trees: Mutex<Vec<Arc<Tree>>>,
}

impl HostPlace {
    fn launch(&self, launch: &Launch) -> io::Result<Channel> {
        self.restore_workspace()?;
        let inside = launch.directory.as_deref().unwrap_or(&self.workdir);
        let mut arguments = self
            .wrapper
            .as_ref()
            .map_or_else(Vec::new, |wrapper| wrapper(inside));
        arguments.extend(launch.arguments.iter().map(OsString::from));
        let directory = match self.wrapper {
            Some(_) => Path::new("/"),
            None => Path::new(inside),
        };
        let (tree, input, output) = Tree::spawn(Program {
            keep: &self.keep,
            place: &self.directory,
            kin: &directory::kin(),
            arguments,
            directory,
            environment: &self.environment,
        })?;
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        trees.retain(|tree| !tree.has_ended());
        trees.push(Arc::clone(&tree));
        drop(trees);
        Ok(Channel {
            input: Box::new(input),
            output: Box::new(output),
            keeper: Some(tree.pid()),
            guard: Box::new(CloseOnDrop(Arc::clone(&tree))),
            ended: Box::pin(async move { tree.wait().await }),
        })
    }

    /// An unconfined agent can delete the workspace itself, which is the agent's doing and no loss of the place: it goes on in an empty one.
    fn restore_workspace(&self) -> io::Result<()> {
        let deleted = self.wrapper.is_none()
            && self.directory.join(PRIVATE).is_dir()
            && std::fs::symlink_metadata(&self.host_workdir)
                .is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        if deleted {
            directory::create_private(&self.host_workdir)?;
        }
        Ok(())
    }

    pub(crate) async fn stop_all(&self, deadline: Duration) -> Result<(), Error> {
        let trees = std::mem::take(&mut *self.trees.lock().unwrap_or_else(PoisonError::into_inner));
        for tree in &trees {
            tree.close();
        }
        let all = async {
            for tree in &trees {
                tree.wait().await;
            }
        };
        timeout(deadline, all).await.map_err(|late| {
            Error::lost(
                format!("end the processes of the sandbox {}", self.id.0),
                late,
            )
        })
    }
}

struct CloseOnDrop(Arc<Tree>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Place for HostPlace {
    fn id(&self) -> &PlaceId {
        &self.id
    }

    fn applied(&self) -> &Applied {
        &self.applied
    }

    fn processes(&self) -> Processes {
        Processes::HostTree
    }

    fn workdir(&self) -> &str {
        &self.workdir
    }

    fn files(&self) -> Files<'_> {
        if let Some(root) = &self.root {
            return Files::Archive(root);
        }
        // Where this fails the caller finds no directory, and says so.
        let _ = self.restore_workspace();
        Files::Host(&self.host_workdir)
    }

    fn shares_host_files(&self) -> bool {
        self.wrapper.is_none()
    }

    fn shell_state(&self) -> &str {
        &self.shell_state
    }

    fn disk(&self) -> Option<PathBuf> {
        Some(self.directory.clone())
    }

    fn private_directory(&self) -> PathBuf {
        self.directory.join(PRIVATE)
    }

    fn open<'a>(&'a self, launch: &'a Launch) -> BoxFuture<'a, Result<Channel, Error>> {
        Box::pin(async move {
            self.launch(launch).map_err(|error| {
                Error::lost(
                    format!("start a program in the sandbox {}", self.id.0),
                    error,
                )
            })
        })
    }

    fn stop<'a>(&'a self, deadline: Duration) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.stop_all(deadline))
    }

    fn state<'a>(&'a self) -> BoxFuture<'a, Result<PlaceState, Error>> {
        Box::pin(async move {
            let _ = self.restore_workspace();
            // Who has a root of its own may do without the repository.
            let root = self.root.as_ref().map(HostRoot::path);
            Ok(if root.unwrap_or(&self.host_workdir).is_dir() {
                PlaceState::Running
            } else {
                PlaceState::Gone
            })
        })
    }
}
