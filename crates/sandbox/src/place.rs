//! Places: where commands run. One [`Backend`] for each engine, one [`Place`] for each sandbox.

pub mod apptainer;
pub mod bubblewrap;
pub(crate) mod directory;
pub mod docker;
mod engine;
pub mod host;
pub mod local;
mod registry;
pub(crate) mod removal;
pub mod terminal;
pub(crate) mod tree;

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;

pub use self::engine::{EngineCondition, EngineState, EngineWatch};
pub use self::registry::{RegistryState, RegistryWatch};
use self::terminal::{Terminal, Visit};
use crate::error::Error;
use crate::limits::{Applied, Limits, Network};

/// Identifier by which a backend removes a place, also after the runner that made it is gone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PlaceId(pub String);

/// Who a place belongs to: written where the backend can find it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// Run that it belongs to.
    pub run: String,
    /// Safe file name of the instance.
    pub instance: String,
    /// Attempt's directory name, or `grade-<g>`.
    pub attempt: String,
}

/// What a backend can do, probed once by doing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Name used in flags and files: `local`, `bubblewrap`, `docker`, `podman`, `apptainer`.
    pub backend: &'static str,
    /// Whether the network can be cut.
    pub network_isolation: bool,
    /// Whether all programs of a place have one loopback interface, so that a door in it can lead to allowed hosts.
    pub network_door: bool,
    /// Whether memory can be limited.
    pub memory_limit: bool,
    /// Whether processor time can be limited.
    pub cpu_limit: bool,
    /// Whether the number of processes can be limited.
    pub pids_limit: bool,
    /// Whether disk use can be limited.
    pub disk_limit: bool,
}

impl Capabilities {
    /// Whether its places are made of images, which may hold the repository.
    pub fn has_images(&self) -> bool {
        matches!(self.backend, "docker" | "podman" | "apptainer")
    }

    /// Whether user, capabilities and memory for `/tmp` can be chosen.
    pub fn has_rights(&self) -> bool {
        matches!(self.backend, "docker" | "podman")
    }
}

/// What to start.
#[derive(Debug, Clone)]
pub struct PlaceSpec {
    /// Owner.
    pub labels: Labels,
    /// Image, where the backend takes one.
    pub image: Option<String>,
    /// Directory of the repository as the agent sees it; backends on the host choose their own and report it by [`Place::workdir`].
    pub workdir: Option<String>,
    /// Variables for everything that runs inside. The host's own environment never gets in.
    pub environment: Vec<(String, String)>,
    /// Limits asked for.
    pub limits: Limits,
    /// Network asked for. A place that is to reach some hosts gets none of its own: [`crate::Sandbox`] opens the way to them.
    pub network: Network,
    /// What its programs may do.
    pub rights: Rights,
    /// How far a place that is made of an image is confined.
    pub hardening: Hardening,
    /// Files and directories of the host that must not be seen inside, where the backend can hide them. The repository's source is added by
    /// [`crate::Sandbox::start`].
    pub hidden: Vec<PathBuf>,
}

impl PlaceSpec {
    /// A place without limits or network, with nothing said about anything else.
    pub fn new(labels: Labels) -> Self {
        Self {
            labels,
            image: None,
            workdir: None,
            environment: Vec::new(),
            limits: Limits::default(),
            network: Network::None,
            rights: Rights::default(),
            hardening: Hardening::default(),
            hidden: Vec::new(),
        }
    }
}

/// How far a place that is made of an image is confined, beside its network and its limits. Places on the host know one way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Hardening {
    /// No capability but those of [`Rights`], none to be gained, and variables that keep programs from asking people.
    #[default]
    Full,
    /// As the engine has it: its own capabilities and those of [`Rights`], and no variable but the image's and the given ones.
    EngineDefault,
}

/// What the programs of a place may do, where the backend makes places of images.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rights {
    /// User that they run as, `name`, `uid` or `uid:gid`; `None` is the image's own.
    pub user: Option<String>,
    /// Capabilities of the kernel that they keep, without `CAP_`; all others are dropped, but for what [`Hardening`] leaves.
    pub capabilities: Vec<String>,
    /// Bytes of a `/tmp` in memory; `None` leaves it to the image's disk. It never gets more than half of the memory, less shared memory.
    pub temporary: Option<u64>,
}

impl Rights {
    /// What of them is asked for, in the names of [`Applied::unenforced`].
    pub fn asked(&self) -> Vec<&'static str> {
        let asked = [
            ("user", self.user.is_some()),
            ("capabilities", !self.capabilities.is_empty()),
            ("tmpfs", self.temporary.is_some()),
        ];
        let asked = asked.into_iter().filter(|(_, asked)| *asked);
        asked.map(|(name, _)| name).collect()
    }
}

impl Labels {
    /// Labels from the names of a run, an instance, and an attempt.
    pub fn new(
        run: impl Into<String>,
        instance: impl Into<String>,
        attempt: impl Into<String>,
    ) -> Self {
        Self {
            run: run.into(),
            instance: instance.into(),
            attempt: attempt.into(),
        }
    }
}

/// Where a place's processes can be seen from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processes {
    /// Inside: it has a process namespace of its own, and the sweep runs there.
    Inside,
    /// On the host, below the keeper of each channel.
    HostTree,
}

/// A program to run in a place.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Program and arguments.
    pub arguments: Vec<String>,
    /// Directory, as seen inside; `None` is the repository's.
    pub directory: Option<String>,
    /// Whether it sees to the end of what it starts itself: then it is started also where no process is free for anything beside it.
    pub lasting: bool,
}

/// A running program's streams. stderr is merged inside by `2>&1`, since two pipes lose the order.
pub struct Channel {
    /// Its standard input.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// Its output.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// Resolves when the program is gone; advisory.
    pub ended: BoxFuture<'static, Ended>,
    /// Host process that owns everything the channel started, where the processes are seen on the host.
    pub keeper: Option<u32>,
    /// Ends everything that the channel started when it is dropped.
    pub guard: Box<dyn Send + Sync>,
}

/// How a channel's program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code where the backend tells.
    pub code: Option<i32>,
}

/// What a place is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceState {
    /// Commands can run.
    Running,
    /// Frozen.
    Paused,
    /// Its main process is gone.
    Exited {
        /// Exit code, where known.
        code: Option<i32>,
        /// Whether it was killed for memory.
        out_of_memory: bool,
    },
    /// Nothing is left of it.
    Gone,
}

/// How the runner reaches a place's files without running anything inside.
#[derive(Clone, Copy)]
pub enum Files<'a> {
    /// The directory of the repository, on the host.
    Host(&'a Path),
    /// Only by whole archives.
    Archive(&'a dyn Archives),
}

/// A stream of tar blocks.
pub type Archive = Box<dyn AsyncRead + Send + Unpin>;

/// Files that an engine hands in and out as archives.
pub trait Archives: Send + Sync {
    /// Extracts an archive below the existing directory `at`.
    ///
    /// # Errors
    /// `Refused` when there is no such directory, `Disk` when it is full, `Lost` when the engine does not take it.
    fn put<'a>(&'a self, at: &'a str, archive: Archive) -> BoxFuture<'a, Result<(), Error>>;
    /// Extracts an archive of `length` bytes in the existing directory `at`, in place of the file or directory `name` there, by the place's own programs
    /// and as its own user, as long as nothing else has run there: cheaper by far than [`Self::put`]. `false` where that is not possible; what it wrote
    /// by then is to be written again.
    ///
    /// # Errors
    /// `Lost` when the place is of no more use.
    fn unpack<'a>(
        &'a self,
        at: &'a str,
        name: &'a str,
        length: u64,
        archive: Archive,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        let _ = (at, name, length, archive);
        Box::pin(std::future::ready(Ok(false)))
    }
    /// The file or directory `at`, with everything below it. The first component of every name is its own name, links are not followed.
    ///
    /// # Errors
    /// `Refused` when nothing is there, `Lost` when the engine does not give it. A stream that breaks off ends in an error.
    fn get<'a>(&'a self, at: &'a str) -> BoxFuture<'a, Result<Archive, Error>>;
}

/// An image that was removed to make room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedImage {
    /// Its name.
    pub name: String,
    /// Its content's digest, as the engine names it.
    pub id: String,
    /// Bytes of its layers, those that it shared with others included.
    pub bytes: u64,
}

/// A place that outlived its runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// By which it is removed.
    pub id: PlaceId,
    /// What people know it by.
    pub name: String,
}

/// A place that is left on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptPlace {
    /// Its identifier from now on.
    pub id: PlaceId,
    /// Command by which people get into it.
    pub open: String,
}

/// One engine.
pub trait Backend: Send + Sync {
    /// What it can do.
    fn capabilities(&self) -> &Capabilities;
    /// Directories of this machine where its places take up disk beside their private directories, where that is known.
    fn storage(&self) -> Vec<PathBuf> {
        Vec::new()
    }
    /// Gets ready what a start needs and may take long, an image above all; a start that was not prepared does it itself.
    fn prepare<'a>(&'a self, spec: &'a PlaceSpec) -> BoxFuture<'a, Result<(), Error>> {
        let _ = spec;
        Box::pin(std::future::ready(Ok(())))
    }
    /// Starts a place within `deadline`, which begins when it is prepared; nothing is left behind when it fails.
    fn start<'a>(
        &'a self,
        spec: &'a PlaceSpec,
        deadline: Duration,
    ) -> BoxFuture<'a, Result<Arc<dyn Place>, Error>>;
    /// The engine that its places depend on, where that is a program that may go away and come back.
    fn engine(&self) -> Option<EngineWatch> {
        None
    }
    /// Asks that engine now how it is.
    fn ask_engine(&self) -> BoxFuture<'_, EngineState> {
        Box::pin(std::future::ready(EngineState::default()))
    }
    /// The registries that its images come from, where it pulls any.
    fn registries(&self) -> Option<RegistryWatch> {
        None
    }
    /// The pulls of images that go on, where it pulls any.
    fn pulls(&self) -> Option<docker::Pulls> {
        None
    }
    /// Removes the least recently used image of those that this tool pulled and no place, and none of `needed`, needs; `None` when there is none.
    fn evict<'a>(
        &'a self,
        needed: &'a HashSet<String>,
    ) -> BoxFuture<'a, Result<Option<RemovedImage>, Error>> {
        let _ = needed;
        Box::pin(std::future::ready(Ok(None)))
    }
    /// Tries once more to remove places whose removal failed, or whose start was never answered, within `deadline`.
    fn tidy(&self, deadline: Duration) -> BoxFuture<'_, ()> {
        let _ = deadline;
        Box::pin(std::future::ready(()))
    }
    /// Places of dead runs; never another living run's.
    fn orphans<'a>(&'a self) -> BoxFuture<'a, Result<Vec<Leftover>, Error>>;
    /// Ends everything in a place of this runner and marks it: it is no orphan then when its runner is gone.
    ///
    /// # Errors
    /// When that takes longer than `deadline`; the place may then be removed as ever.
    fn keep<'a>(
        &'a self,
        id: &'a PlaceId,
        deadline: Duration,
    ) -> BoxFuture<'a, Result<KeptPlace, Error>>;
    /// Places of dead runs that were kept on purpose.
    fn kept<'a>(&'a self) -> BoxFuture<'a, Result<Vec<Leftover>, Error>>;
    /// Whether anything of a place is left.
    fn has<'a>(&'a self, id: &'a PlaceId) -> BoxFuture<'a, Result<bool, Error>>;
    /// Opens a shell at a terminal in a place that was kept, as the agent's was started.
    ///
    /// # Errors
    /// When there is no such place any more, or it does not start.
    fn visit<'a>(
        &'a self,
        id: &'a PlaceId,
        visit: &'a Visit,
    ) -> BoxFuture<'a, Result<Terminal, Error>>;
    /// Removes a place and everything in it; removing it twice is not an error.
    fn remove<'a>(
        &'a self,
        id: &'a PlaceId,
        deadline: Duration,
    ) -> BoxFuture<'a, Result<(), Error>>;
}

/// A word that any shell takes as it is.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// One sandbox.
pub trait Place: Send + Sync {
    /// Its identifier.
    fn id(&self) -> &PlaceId;
    /// Limits, network and user as really applied.
    fn applied(&self) -> &Applied;
    /// Where its processes can be seen.
    fn processes(&self) -> Processes;
    /// Directory of the repository as the agent sees it.
    fn workdir(&self) -> &str;
    /// How the runner reaches its files.
    fn files(&self) -> Files<'_>;
    /// Whether a path means the same file inside and on the host, and both may do the same with it.
    fn shares_host_files(&self) -> bool;
    /// A file, as seen inside, where the agent's shell can keep its state between two lives.
    fn shell_state(&self) -> &str;
    /// How many times something in it was killed for memory, as far as the backend has heard.
    fn memory_kills(&self) -> u64 {
        0
    }
    /// Whether the backend hears of such kills at all, unless something it was told is lost.
    fn hears_of_kills(&self) -> bool {
        false
    }
    /// A directory on the host on whose disk its files are, where that can be told and [`Self::files`] does not.
    fn disk(&self) -> Option<PathBuf> {
        None
    }
    /// The repository's directory, opened where this machine sees it while the place is up, so that its files can be looked at without an engine that
    /// [`Self::files`] needs. `None` where it cannot be seen, or might not be the same.
    fn view<'a>(&'a self) -> BoxFuture<'a, Option<OwnedFd>> {
        Box::pin(std::future::ready(None))
    }
    /// Whether writes seem to succeed when that disk is full, and what was written is lost.
    fn loses_writes(&self) -> bool {
        false
    }
    /// A directory on the host that belongs to this place alone, lives as long as it does, and is never visible inside.
    fn private_directory(&self) -> PathBuf;
    /// Held while a program is on its way in, where stopping everything inside would stop that too, and with it the engine. `None` where nothing
    /// is stopped from inside.
    fn entrance(&self) -> Option<Arc<Mutex<()>>> {
        None
    }
    /// Runs a program.
    fn open<'a>(&'a self, launch: &'a Launch) -> BoxFuture<'a, Result<Channel, Error>>;
    /// Ends everything that runs in it; what lies in it stays.
    fn stop<'a>(&'a self, deadline: Duration) -> BoxFuture<'a, Result<(), Error>>;
    /// What it is doing.
    fn state<'a>(&'a self) -> BoxFuture<'a, Result<PlaceState, Error>>;
}
