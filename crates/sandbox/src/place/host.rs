//! What the backends that run commands on the host share: a private directory for each place, and a keeper for each channel.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::timeout;

use crate::error::Error;
use crate::limits::{Applied, Limits};
use crate::place::tree::{self, Program, Tree};
use crate::place::{Channel, Files, Labels, Launch, Place, PlaceId, PlaceState, Processes};
use crate::place::{directory, removal};

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
    limits: &Limits,
    settings: &HostSettings,
) -> Result<Vec<String>, Error> {
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
    Ok(names)
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

    pub(crate) async fn orphans(&self) -> Result<Vec<PlaceId>, Error> {
        let root = self.settings.root.clone();
        let found = tokio::task::spawn_blocking(move || directory::abandoned(&root)).await;
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

    pub(crate) async fn remove(&self, id: &PlaceId, deadline: Duration) -> Result<(), Error> {
        let operation = || format!("remove the sandbox {}", id.0);
        if Path::new(&id.0).components().count() != 1 || id.0.contains('/') || id.0 == ".." {
            return Err(Error::Refused(format!(
                "`{}` is not the name of a sandbox",
                id.0
            )));
        }
        let known = self
            .alive
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(id);
        let path = self.settings.root.join(&id.0);
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

/// The repository, under the place's directory.
pub(crate) const WORKSPACE: &str = "workspace";
/// The agent's home.
pub(crate) const HOME: &str = "home";
/// Temporary files.
pub(crate) const TEMPORARY: &str = "tmp";
/// A file with nothing in it.
pub(crate) const EMPTY: &str = "empty";
/// The runner's own files about the place.
const PRIVATE: &str = "private";
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
    pub(crate) keep: KeepCommand,
    /// Program and arguments before what is launched, given its directory as seen inside; empty where nothing confines it.
    pub(crate) wrapper: Option<Wrapper>,
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

    async fn stop_all(&self, deadline: Duration) -> Result<(), Error> {
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
            Ok(if self.host_workdir.is_dir() {
                PlaceState::Running
            } else {
                PlaceState::Gone
            })
        })
    }
}
