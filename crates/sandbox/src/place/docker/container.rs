//! One container as a place.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bollard::Docker;
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, KillContainerOptions, StartContainerOptions,
};
use futures_util::future::BoxFuture;
use rustix::process::Signal;
use tokio::sync::Mutex;
use tokio::task::JoinError;
use tokio::time::{Instant, sleep, timeout_at};

use super::boot::Report;
use super::call;
use super::channel::{self, Frames, Held};
use super::exec::{self, Entry, NotStarted};
use super::main_process::Main;
use super::memory::{Heard, Kills};
use super::sweeps::Sweeps;
use super::{archive, state, stuck, view};
use crate::error::Error;
use crate::limits::Applied;
use crate::place::{
    Archive, Archives, Channel, Files, Launch, Place, PlaceId, PlaceState, Processes,
};

/// Where the agent's shell keeps its state: every container has this directory, open to every user and outside of the image's files.
const SHELL_STATE: &str = "/dev/shm/.shell-state";
/// How long a container that was stopped may take to come back.
const RESTART: Duration = Duration::from_mins(1);
/// How often, and how many times, it is looked whether a container has come to its end.
const LOOK: Duration = Duration::from_millis(20);
const NOTICE: u32 = 25;
/// Most bytes that a main process may say before it is there: what else it says is not ours.
const GREETING: usize = 64 << 10;

/// One container.
pub(super) struct Container {
    pub(super) id: PlaceId,
    /// The engine's own identifier.
    pub(super) number: String,
    pub(super) docker: Docker,
    pub(super) workdir: String,
    pub(super) private: PathBuf,
    /// The engine's directory, where it is on this machine.
    pub(super) disk: Option<PathBuf>,
    pub(super) loses_writes: bool,
    pub(super) applied: Applied,
    pub(super) main: Mutex<Option<Main>>,
    pub(super) held: Arc<Held>,
    pub(super) sweeps: Arc<Sweeps>,
    pub(super) entry: Arc<Entry>,
    /// Held while a program is on its way in.
    pub(super) entrance: Arc<Mutex<()>>,
    pub(super) kills: Arc<Kills>,
    /// Whether the engine tells of kills for memory.
    pub(super) hears: bool,
    /// Whether it was ended on request, so that it may be started again.
    pub(super) stopped: AtomicBool,
}

/// Why a container's main process is not there.
pub(super) enum NotUp {
    /// No container of its image can be brought up.
    Image {
        /// What the image lacks.
        problem: String,
        /// What the user can do.
        hint: &'static str,
    },
    Other(Error),
}

impl From<Error> for NotUp {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl NotUp {
    /// The failure of a container of `image`.
    pub(super) fn of(self, image: &str) -> Error {
        match self {
            Self::Other(error) => error,
            Self::Image { problem, hint } => Error::Image {
                image: image.to_owned(),
                problem,
                hint: hint.to_owned(),
            },
        }
    }
}

/// Starts a created container and waits until its main process has said who it is.
pub(super) async fn bring_up(
    docker: &Docker,
    name: &str,
    until: Instant,
) -> Result<(Main, Report), NotUp> {
    let operation = || format!("start the container {name}");
    // Attached before it is started, nothing that it says is lost.
    let options = AttachContainerOptionsBuilder::default()
        .stdin(true)
        .stdout(true)
        .stderr(true)
        .stream(true)
        .build();
    let attached = call::by(until, docker.attach_container(name, Some(options)))
        .await
        .map_err(|failure| not_started(failure, operation()))?;
    call::by(
        until,
        docker.start_container(name, None::<StartContainerOptions>),
    )
    .await
    .map_err(|failure| not_started(failure, operation()))?;
    let mut frames: Frames = attached.output;
    let mut said = Vec::new();
    while let Ok(Some(Ok(frame))) = timeout_at(until, channel::next(&mut frames)).await {
        said.extend_from_slice(&frame.into_bytes());
        if let Some(report) = Report::find(&said) {
            let main = Main::new(frames, attached.input);
            return Ok((main, report));
        }
        if said.len() > GREETING {
            break;
        }
    }
    let state = state::ask(docker, name, Heard::default()).await?;
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    if said.contains(OTHER_MACHINE) {
        return Err(other_machine());
    }
    let mut problem = format!(
        "the image's /bin/sh did not start as a shell: {}",
        state::explained(state)
    );
    if !said.is_empty() {
        problem = format!("{problem}; it said: {said}");
    }
    Err(NotUp::Other(Error::start(operation(), problem)))
}

/// What is said of a program for another kind of processor.
const OTHER_MACHINE: &str = "exec format error";

/// An image without a shell is the user's to change; the engine's words for it are about its own parts.
fn not_started(failure: call::Failure, operation: String) -> NotUp {
    let message = failure.message();
    if message.contains("/bin/sh") && message.contains("no such file or directory") {
        return NotUp::Image {
            problem: String::from("it has no /bin/sh, and commands need one"),
            hint: "use an image with a shell",
        };
    }
    // Its own networks are the engine's matter, and only `full` takes one of them.
    if message.contains("failed to create endpoint") || message.contains("on network bridge") {
        return NotUp::Other(Error::Network {
            problem: format!(
                "`--network full` was asked for, and the engine's default network does not work ({failure}): repair it (`docker network inspect bridge`; restarting the engine makes its bridge anew), or use `--network none` or `--network allow=HOST,…`, which need none"
            ),
        });
    }
    if message.contains(OTHER_MACHINE) {
        return other_machine();
    }
    NotUp::Other(failure.starting(operation))
}

fn other_machine() -> NotUp {
    NotUp::Image {
        problem: String::from(
            "its programs are for another kind of processor, and the engine's machine does not emulate that",
        ),
        hint: "use an image for this platform, or let the machine emulate the other one (binfmt_misc, QEMU)",
    }
}

impl Container {
    fn name(&self) -> &str {
        &self.id.0
    }

    async fn ask_state(&self) -> Result<PlaceState, Error> {
        // What was stopped on request was killed for that.
        let heard = self.kills.of(self.name());
        let state = state::ask(&self.docker, self.name(), heard).await?;
        Ok(match state {
            PlaceState::Exited { code, .. } if self.stopped.load(Ordering::SeqCst) => {
                PlaceState::Exited {
                    code,
                    out_of_memory: false,
                }
            }
            state => state,
        })
    }

    async fn open_channel(&self, launch: &Launch) -> Result<Channel, Error> {
        let operation = || format!("start a program in the sandbox {}", self.name());
        if self.stopped.load(Ordering::SeqCst) {
            self.restart().await?;
        }
        if let Some(main) = self.main.lock().await.take() {
            let guard = Sweeps::guard(&self.sweeps, 1, None, Arc::default());
            return main
                .become_program(launch, Arc::clone(&self.held), guard)
                .await
                .map_err(|error| Error::lost(operation(), error));
        }
        self.sweeps.run().await;
        match self.enter(launch).await {
            Ok(Ok(channel)) => Ok(channel),
            Ok(Err(not_started)) => Err(self.explain(not_started, operation()).await),
            Err(panic) => Err(Error::lost(operation(), panic)),
        }
    }

    /// Extracts an archive by the main process, as long as it is nobody's; `false` where it did not or could not.
    async fn unpack_by_main(
        &self,
        at: &str,
        name: &str,
        length: u64,
        archive: Archive,
    ) -> Result<bool, Error> {
        let mut slot = self.main.lock().await;
        let Some(mut main) = slot.take() else {
            return Ok(false);
        };
        // One whose answer is not waited for is of no more use: it does not go back.
        let unpacked = main
            .unpack(at, name, length, archive)
            .await
            .map_err(|error| {
                let operation = format!("put files into {at} in the sandbox {}", self.name());
                Error::lost(operation, error)
            })?;
        *slot = Some(main);
        Ok(unpacked)
    }

    /// Starts a program. Who stops waiting does not stop the engine: what is half-way in comes in, and is ended then.
    #[expect(
        clippy::disallowed_methods,
        reason = "it is awaited at once, and outlives only a caller that gives up"
    )]
    async fn enter(&self, launch: &Launch) -> Result<Result<Channel, NotStarted>, JoinError> {
        let entrance = Arc::clone(&self.entrance).lock_owned().await;
        let (docker, number) = (self.docker.clone(), self.number.clone());
        let (sweeps, launch) = (Arc::clone(&self.sweeps), launch.clone());
        let entry = Arc::clone(&self.entry);
        let entering = async move {
            let _entrance = entrance;
            let exec = exec::start(&docker, &number, &entry, &launch).await?;
            Ok(exec.into_channel(docker, |root, id, gone| {
                Sweeps::guard(&sweeps, root, Some(id), gone)
            }))
        };
        tokio::spawn(entering).await
    }

    /// Why a program was not started: mostly since there is no container any more.
    async fn explain(&self, not_started: NotStarted, operation: String) -> Error {
        // The engine notices the end of a container later than those who try to use it.
        for _ in 0..NOTICE {
            match self.ask_state().await {
                Ok(PlaceState::Running) if not_started.is_explained() => break,
                Ok(PlaceState::Running) => sleep(LOOK).await,
                Ok(state) => return Error::lost(operation, state::explained(state)),
                Err(error) => return error,
            }
        }
        not_started.losing(operation)
    }

    /// Brings back a container that was stopped: its files are still there.
    async fn restart(&self) -> Result<(), Error> {
        let mut main = self.main.lock().await;
        if !self.stopped.load(Ordering::SeqCst) {
            return Ok(());
        }
        let until = Instant::now() + RESTART;
        let (streams, _) = bring_up(&self.docker, self.name(), until)
            .await
            .map_err(|not_up| {
                let operation = format!("restart the sandbox {}", self.name());
                Error::lost(operation, not_up.of(self.name()))
            })?;
        *main = Some(streams);
        self.entry.forget();
        self.stopped.store(false, Ordering::SeqCst);
        Ok(())
    }

    /// Kills the main process from outside, and with it everything: nothing inside has a say.
    async fn kill(&self, deadline: Duration) -> Result<(), Error> {
        self.sweeps.forget();
        let mut main = self.main.lock().await;
        self.stopped.store(true, Ordering::SeqCst);
        *main = None;
        let kill = call::within(
            deadline,
            self.docker
                .kill_container(self.name(), None::<KillContainerOptions>),
        );
        let killed = stuck::through(&self.number, Signal::KILL, kill).await;
        self.held.clear();
        match killed {
            Ok(()) => self.wait_for_end(deadline).await,
            // It was not running any more.
            Err(failure) if failure.is_not_running() => Ok(()),
            Err(failure) => {
                Err(failure.losing(format!("end the processes of the sandbox {}", self.name())))
            }
        }
    }

    /// The engine answers as soon as the signal is sent.
    async fn wait_for_end(&self, deadline: Duration) -> Result<(), Error> {
        let operation = || format!("end the processes of the sandbox {}", self.name());
        let until = Instant::now() + deadline;
        while Instant::now() < until {
            match self.ask_state().await? {
                PlaceState::Exited { .. } | PlaceState::Gone => return Ok(()),
                PlaceState::Running | PlaceState::Paused => {
                    sleep(LOOK / 4).await;
                }
            }
        }
        Err(Error::lost(operation(), "its main process does not end"))
    }
}

impl Archives for Container {
    fn put<'a>(&'a self, at: &'a str, archive: Archive) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(archive::put(&self.docker, self.name(), at, archive))
    }

    fn unpack<'a>(
        &'a self,
        at: &'a str,
        name: &'a str,
        length: u64,
        archive: Archive,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(self.unpack_by_main(at, name, length, archive))
    }

    fn get<'a>(&'a self, at: &'a str) -> BoxFuture<'a, Result<Archive, Error>> {
        Box::pin(archive::get(&self.docker, self.name(), at))
    }
}

impl Place for Container {
    fn id(&self) -> &PlaceId {
        &self.id
    }

    fn applied(&self) -> &Applied {
        &self.applied
    }

    fn processes(&self) -> Processes {
        Processes::Inside
    }

    fn workdir(&self) -> &str {
        &self.workdir
    }

    fn files(&self) -> Files<'_> {
        Files::Archive(self)
    }

    fn shares_host_files(&self) -> bool {
        false
    }

    fn shell_state(&self) -> &str {
        SHELL_STATE
    }

    fn memory_kills(&self) -> u64 {
        self.kills.of(self.name()).kills
    }

    fn hears_of_kills(&self) -> bool {
        self.hears
    }

    fn disk(&self) -> Option<PathBuf> {
        self.disk.clone()
    }

    fn view<'a>(&'a self) -> BoxFuture<'a, Option<OwnedFd>> {
        Box::pin(view::open(&self.docker, self.name(), &self.workdir))
    }

    fn loses_writes(&self) -> bool {
        self.loses_writes
    }

    fn private_directory(&self) -> PathBuf {
        self.private.clone()
    }

    fn entrance(&self) -> Option<Arc<Mutex<()>>> {
        Some(Arc::clone(&self.entrance))
    }

    fn open<'a>(&'a self, launch: &'a Launch) -> BoxFuture<'a, Result<Channel, Error>> {
        Box::pin(self.open_channel(launch))
    }

    fn stop<'a>(&'a self, deadline: Duration) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.kill(deadline))
    }

    fn state<'a>(&'a self) -> BoxFuture<'a, Result<PlaceState, Error>> {
        Box::pin(self.ask_state())
    }
}
