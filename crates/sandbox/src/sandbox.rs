//! One sandbox: a place, a shell in it, and the sealed repository.

mod work;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use schema::journal::NetworkUse;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::files::{ArchivedFiles, Entry, HostFiles, InsideFiles};
use crate::limits::{Applied, Network};
use crate::memory::MemoryKills;
use crate::network::{self, Attempt, Gateway, Outside};
use crate::place::{Backend, Files, KeptPlace, Place, PlaceId, PlaceSpec};
use crate::repository::{self, ImageNames, Inside, Origin, Prepared, SealRecord, Start, Started};
use crate::shell::{Captured, End, GRACE, RunOptions, Shell};
use crate::space;

/// What to start.
#[derive(Clone)]
pub struct SandboxSpec {
    /// The place.
    pub place: PlaceSpec,
    /// The repository in it.
    pub repository: Origin,
    /// Commands that the agent's shell runs before anything else; one that fails fails the start.
    pub setup_commands: Vec<String>,
    /// How long each of them may take.
    pub setup_timeout: Duration,
}

/// A running sandbox. Dropping it leaves the place: [`Sandbox::remove`] is what ends it.
pub struct Sandbox {
    backend: Arc<dyn Backend>,
    place: Arc<dyn Place>,
    prepared: Arc<Prepared>,
    start: Arc<Start>,
    applied: Applied,
    /// The way to allowed hosts, where there are some.
    gateway: Option<Gateway>,
    agent: Shell,
    control: Shell,
    kills: MemoryKills,
}

impl Sandbox {
    /// Starts a place, checks the repository out in it, and opens the agent's shell.
    ///
    /// # Errors
    /// When any of it fails or takes longer than `deadline`; nothing is left behind then.
    pub async fn start(
        backend: Arc<dyn Backend>,
        mut spec: SandboxSpec,
        deadline: Duration,
    ) -> Result<Self, Error> {
        if let Origin::Host(prepared) = &spec.repository {
            spec.place.hidden.extend_from_slice(prepared.hidden());
        }
        if let (Network::Allow(_), true) =
            (&spec.place.network, backend.capabilities().network_door)
        {
            let environment = &mut spec.place.environment;
            for (name, value) in network::variables() {
                if !environment.iter().any(|(known, _)| *known == name) {
                    environment.push((name, value));
                }
            }
        }
        let place = backend.start(&spec.place, deadline).await?;
        let id = place.id().clone();
        let started = timeout(deadline, Self::fill(Arc::clone(&backend), place, spec)).await;
        let error = match started {
            Ok(Ok(sandbox)) => return Ok(sandbox),
            Ok(Err(error)) => error,
            Err(late) => Error::start(format!("start the sandbox {}", id.0), late),
        };
        if let Err(left) = backend.remove(&id, REMOVAL).await {
            tracing::warn!(sandbox = id.0, error = %left, "a sandbox that failed to start was not removed");
        }
        Err(error)
    }

    async fn fill(
        backend: Arc<dyn Backend>,
        place: Arc<dyn Place>,
        spec: SandboxSpec,
    ) -> Result<Self, Error> {
        let agent = Shell::of(Arc::clone(&place));
        // Before the shell: what it takes the place of can write the files.
        let (prepared, start) = fill_workspace(place.as_ref(), &spec).await?;
        agent.open().await?;
        if let Files::Archive(archives) = place.files() {
            let inside = Inside::new(place.as_ref(), archives);
            inside.tidy(&agent, &start).await;
            inside.complete(&agent, &start).await?;
        }
        let contained = backend.capabilities().network_isolation;
        let (applied, gateway) = connect(&place, &agent, &spec.place.network, contained).await?;
        let sandbox = Self {
            control: agent.beside(),
            kills: MemoryKills::new(Arc::clone(&place)),
            applied,
            gateway,
            backend,
            place,
            prepared,
            start: Arc::new(start),
            agent,
        };
        for command in &spec.setup_commands {
            sandbox.set_up(command, spec.setup_timeout).await?;
        }
        Ok(sandbox)
    }

    async fn set_up(&self, command: &str, limit: Duration) -> Result<(), Error> {
        let options = RunOptions {
            timeout: limit,
            ..RunOptions::default()
        };
        let captured = self
            .run(command, &options, &CancellationToken::new())
            .await?;
        if captured.end == End::Exited(0) {
            return Ok(());
        }
        let said = [captured.head, captured.tail].concat();
        let said = String::from_utf8_lossy(&said);
        let last: Vec<&str> = said.lines().rev().take(5).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        Err(Error::start(
            format!("run the set-up command `{command}`"),
            format!("it ended with {:?}: {}", captured.end, last.join(" / ")),
        ))
    }

    /// Identifier of the place.
    pub fn id(&self) -> &PlaceId {
        self.place.id()
    }

    /// Name of the backend that it stands on.
    pub fn backend(&self) -> &'static str {
        self.backend.capabilities().backend
    }

    /// Directory of the repository as the agent sees it.
    pub fn workdir(&self) -> &str {
        self.place.workdir()
    }

    /// Limits, network and user as really applied.
    pub fn applied(&self) -> &Applied {
        &self.applied
    }

    /// What went to allowed hosts and what was refused so far, where only some hosts may be reached.
    pub fn network_use(&self) -> Option<NetworkUse> {
        self.gateway.as_ref().map(Gateway::so_far)
    }

    /// What the repository holds and what was left out of it.
    pub fn seal(&self) -> &SealRecord {
        &self.start.seal
    }

    /// Commit that the diff is taken against.
    pub fn start_commit(&self) -> &str {
        &self.start.seal.start_commit
    }

    /// Runs text in the agent's persistent shell. When the future is dropped, the shell is ended and opened again by the next command.
    ///
    /// # Errors
    /// `Refused` when the text cannot be run at all, `Lost` when no shell can be had, `Disk` when it failed because the disk under the sandbox
    /// is full.
    pub async fn run(
        &self,
        text: &str,
        options: &RunOptions,
        cancel: &CancellationToken,
    ) -> Result<Captured, Error> {
        let way_out = self.open_gateway();
        tokio::select! {
            opened = timeout(options.timeout, way_out) => match opened {
                Ok(opened) => opened?,
                Err(late) => return Err(Error::lost("open the way out of the sandbox again", late)),
            },
            // The command is not run then, which is its shell's to say.
            () = cancel.cancelled() => {}
        }
        let before = self.kills.before(&self.agent).await;
        let captured = self.agent.run(text, options, cancel).await?;
        let left = (options.timeout + GRACE).saturating_sub(captured.elapsed);
        let told = self.kills.told(before, captured, &self.agent, left);
        let captured = told.await;
        self.not_out_of_space(captured)
    }

    /// Runs shell text in a fresh process in the repository's directory. Whatever it leaves running is ended with it.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub async fn exec(
        &self,
        text: &str,
        options: &RunOptions,
        cancel: &CancellationToken,
    ) -> Result<Captured, Error> {
        let before = self.kills.before(&self.agent).await;
        let captured = self.agent.run_apart(text, options, cancel).await?;
        let left = (options.timeout + GRACE).saturating_sub(captured.elapsed);
        let told = self.kills.told(before, captured, &self.agent, left);
        let captured = told.await;
        self.not_out_of_space(captured)
    }

    /// The failure that an output stands for when it says that a write found no space, and the disk under the sandbox is indeed full. `None` for
    /// every other output, and where that disk cannot be looked at from here.
    pub fn out_of_space(&self, output: &[u8]) -> Option<Error> {
        let disk = match self.place.files() {
            Files::Host(directory) => directory.to_owned(),
            Files::Archive(_) => self.place.disk()?,
        };
        (space::is_said(output) && space::is_full(&disk)).then(|| Error::Disk {
            operation: format!("write in the sandbox {}", self.place.id().0),
        })
    }

    /// Where a full disk tells nobody who writes, nothing that was done on it counts.
    fn not_silently_full(&self) -> Result<(), Error> {
        let disk = self.place.disk().filter(|_| self.place.loses_writes());
        if disk.is_some_and(|disk| space::is_full(&disk)) {
            return Err(Error::Disk {
                operation: format!("write in the sandbox {}", self.place.id().0),
            });
        }
        Ok(())
    }

    /// A command that failed because the disk is full says nothing of who ran it.
    fn not_out_of_space(&self, captured: Captured) -> Result<Captured, Error> {
        self.not_silently_full()?;
        if captured.end == End::Exited(0) {
            return Ok(captured);
        }
        let full = self.out_of_space(&captured.head);
        match full.or_else(|| self.out_of_space(&captured.tail)) {
            Some(error) => Err(error),
            None => Ok(captured),
        }
    }

    /// What stands at a path as the agent sees it; `None` when nothing does.
    ///
    /// # Errors
    /// `Refused` when it cannot be seen.
    pub async fn entry(&self, path: &str) -> Result<Option<Entry>, Error> {
        let path = self.absolute(path)?;
        if self.place.shares_host_files() {
            return blocking(move || HostFiles::entry(Path::new(&path))).await;
        }
        match InsideFiles(&self.control).entry(&path).await {
            Err(error) => self.archived(error)?.entry(&path).await,
            found => found,
        }
    }

    /// Reads a whole file of at most `limit` bytes.
    ///
    /// # Errors
    /// `Refused` when there is no such file or it is longer.
    pub async fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, Error> {
        let path = self.absolute(path)?;
        if self.place.shares_host_files() {
            return blocking(move || HostFiles::read(Path::new(&path), limit)).await;
        }
        match InsideFiles(&self.control).read(&path, limit).await {
            Err(error) => self.archived(error)?.read(&path, limit).await,
            content => content,
        }
    }

    /// Reads a whole file of at most `limit` bytes without the sandbox's own programs, which whoever worked in it may have replaced, where there is
    /// a way that does without them.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn read_apart(&self, path: &str, limit: u64) -> Result<Vec<u8>, Error> {
        match self.place.files() {
            Files::Archive(archives) if !self.place.shares_host_files() => {
                let path = self.absolute(path)?;
                let place = self.place.as_ref();
                ArchivedFiles { place, archives }.read(&path, limit).await
            }
            Files::Archive(_) | Files::Host(_) => self.read(path, limit).await,
        }
    }

    /// Replaces or creates a file, whole or not at all. Its directories are made; an existing file keeps its mode; links are followed.
    ///
    /// # Errors
    /// `Refused` when that is not possible there.
    pub async fn write(&self, path: &str, content: &[u8]) -> Result<(), Error> {
        let path = self.absolute(path)?;
        if self.place.shares_host_files() {
            let content = content.to_vec();
            return blocking(move || HostFiles::write(Path::new(&path), &content)).await;
        }
        let written = match InsideFiles(&self.control).write(&path, content).await {
            Err(error) => self.archived(error)?.write(&path, content).await,
            written => written,
        };
        written.map_err(|error| match &error {
            Error::Refused(said) => self.out_of_space(said.as_bytes()).unwrap_or(error),
            _ => error,
        })
    }

    /// Removes a file or link.
    ///
    /// # Errors
    /// `Refused` when there is none.
    pub async fn remove_file(&self, path: &str) -> Result<(), Error> {
        let path = self.absolute(path)?;
        if self.place.shares_host_files() {
            return blocking(move || HostFiles::remove(Path::new(&path))).await;
        }
        match InsideFiles(&self.control).remove(&path).await {
            Err(Error::NotStarted { said }) => Err(Error::Refused(said)),
            removed => removed,
        }
    }

    /// Ends everything that runs in the sandbox; files stay, and the next command opens a new shell.
    ///
    /// # Errors
    /// When something is left after `deadline`.
    pub async fn stop_processes(&self, deadline: Duration) -> Result<(), Error> {
        self.close_gateway().await;
        self.agent.close().await;
        self.control.close().await;
        self.place.stop(deadline).await
    }

    /// Ends everything; the place stays when this runner is gone, until somebody asks for the removal of those that were kept.
    ///
    /// # Errors
    /// When something is left after `deadline`: then it has to be removed as ever.
    pub async fn keep(&self, deadline: Duration) -> Result<KeptPlace, Error> {
        self.close_gateway().await;
        self.agent.close().await;
        self.control.close().await;
        self.backend.keep(self.place.id(), deadline).await
    }

    /// Ends everything and removes the place. Doing it twice is not an error.
    ///
    /// # Errors
    /// When something is left after `deadline`.
    pub async fn remove(&self, deadline: Duration) -> Result<(), Error> {
        self.close_gateway().await;
        self.backend.remove(self.place.id(), deadline).await
    }

    /// Opens it again where it was closed with everything else.
    async fn open_gateway(&self) -> Result<(), Error> {
        if let Some(gateway) = &self.gateway
            && !gateway.is_open().await
        {
            self.agent.open().await?;
            gateway.open().await?;
        }
        Ok(())
    }

    async fn close_gateway(&self) {
        if let Some(gateway) = &self.gateway {
            gateway.close().await;
        }
    }

    /// The way to files that is left where nothing can be run any more; every other error stays one.
    fn archived(&self, error: Error) -> Result<ArchivedFiles<'_>, Error> {
        match (error, self.place.files()) {
            (Error::NotStarted { .. }, Files::Archive(archives)) => Ok(ArchivedFiles {
                place: self.place.as_ref(),
                archives,
            }),
            (Error::NotStarted { said }, Files::Host(_)) => Err(Error::Refused(said)),
            (error, Files::Archive(_) | Files::Host(_)) => Err(error),
        }
    }

    fn absolute(&self, path: &str) -> Result<String, Error> {
        if path.contains('\0') {
            return Err(Error::Refused(String::from(
                "a path cannot hold a NUL character",
            )));
        }
        if path.starts_with('/') {
            return Ok(path.to_owned());
        }
        Ok(format!("{}/{path}", self.place.workdir()))
    }
}

/// How long the remains of a failed start may take to go.
const REMOVAL: Duration = Duration::from_secs(10);

/// Looks what a fresh place sees of networks, and opens the way to allowed hosts. Where a place is not `contained`, this machine's are seen.
async fn connect(
    place: &Arc<dyn Place>,
    agent: &Shell,
    asked: &Network,
    contained: bool,
) -> Result<(Applied, Option<Gateway>), Error> {
    let mut applied = place.applied().clone();
    if applied.network == Network::Full {
        if contained {
            applied.probe.look(agent, Attempt::Route).await?;
        }
        return Ok((applied, None));
    }
    applied.probe.look(agent, Attempt::Connect).await?;
    let cut = applied.enforced.iter().any(|name| name == "network");
    match applied.probe.outside {
        Some(Outside::Connected | Outside::Silent | Outside::Routed) if cut => {
            return Err(Error::Unsupported {
                message: String::from(
                    "the network is not cut: a connection to the outside did not fail at once in a sandbox that was to have none",
                ),
            });
        }
        Some(Outside::Connected | Outside::Silent | Outside::Routed | Outside::Unreachable)
        | None => {}
    }
    let Network::Allow(allowed) = asked else {
        return Ok((applied, None));
    };
    let gateway = Gateway::new(Arc::clone(place), allowed.clone());
    let interpreter = gateway.open().await?;
    applied.probe.listener = Some(interpreter);
    applied.probe.refusal = Some(gateway.probe(interpreter).await?);
    applied.network = asked.clone();
    Ok((applied, Some(gateway)))
}

/// Gives a fresh place its sealed repository.
async fn fill_workspace(place: &dyn Place, spec: &SandboxSpec) -> Result<Started, Error> {
    match (place.files(), &spec.repository) {
        (Files::Archive(archives), origin) => {
            let inside = Inside::new(place, archives);
            let given = spec.place.image.as_deref().unwrap_or_default();
            let digest = place.applied().image.as_deref().unwrap_or(given);
            repository::start(&inside, origin, ImageNames { given, digest }).await
        }
        (Files::Host(workdir), Origin::Host(prepared)) => {
            let (source, workdir) = (Arc::clone(prepared), workdir.to_owned());
            let start = repository::work(move || repository::checkout(&source, &workdir)).await?;
            Ok((Arc::clone(prepared), start))
        }
        (Files::Host(_), Origin::Image { .. }) => Err(Error::Unsupported {
            message: String::from(
                "this backend has no images: give the repository (the row's `repo_path`, or `--repos DIR`), or use `--sandbox docker`",
            ),
        }),
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|panic| Err(Error::lost("work on the sandbox's files", panic)))
}
