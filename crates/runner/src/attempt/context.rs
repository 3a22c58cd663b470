//! What all attempts and gradings of a run share.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agent::{Catalog, Check, Settings};
use dataset::Row;
use patch::PathClasses;
use sandbox::SandboxSpec;
use sandbox::limits::{Limits, Network};
use sandbox::place::{Backend, Hardening, Labels, PlaceSpec};
use sandbox::repository::{Origin, StartChange};
use schema::grading::Profile;
use schema::{AttemptKey, FailureKind};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::failure::{Failure, Traced};
use crate::backends::Backends;
use crate::budget::Budget;
use crate::disk::DiskGate;
use crate::dispatcher::{Kept, Reports, Stop};
use crate::lease::{Lease, Leases};
use crate::prefetch::{Needs, Prefetch};
use crate::profile::{self, Conditions};
use crate::recorder::Redactor;
use crate::repositories::Repositories;
use crate::settings::{Identity, Operation};
use crate::store::RunDirectory;
use crate::workspace::OutputLimits;

/// A selected row and where its repository lies.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The row.
    pub row: Row,
    /// Its repository on this machine; a row that runs in an image may have none.
    pub repository: Option<PathBuf>,
    /// The image that a container of it has, where anything says.
    pub image: Option<dataset::images::Image>,
}

/// What a sandbox is for.
#[derive(Debug, Clone, Copy)]
pub enum Purpose<'a> {
    /// An agent works in it.
    Solve,
    /// A patch is graded in it, under these conditions.
    Grade(Conditions<'a>),
}

impl Purpose<'_> {
    /// Whether a network is wanted that an engine may turn out not to have, and that can be done without.
    fn is_official_grading(self) -> bool {
        match self {
            Self::Solve => false,
            Self::Grade(conditions) => conditions.profile == Profile::Official,
        }
    }
}

/// Permits that attempts and gradings take, each kind apart.
#[derive(Debug)]
pub struct Permits {
    /// Starting a sandbox to solve in.
    pub start: Semaphore,
    /// Starting a sandbox to grade in.
    pub grade_start: Semaphore,
    /// Solving.
    pub solve: Semaphore,
}

/// What all attempts and gradings share.
pub struct Context {
    /// Where the run is kept.
    pub run: RunDirectory,
    /// The run's name.
    pub name: String,
    /// What changes outcomes.
    pub identity: Identity,
    /// Its digest.
    pub identity_sha256: String,
    /// What does not.
    pub operation: Operation,
    /// Selected rows.
    pub entries: Vec<Entry>,
    /// Variables inside the sandbox, their values in the clear.
    pub environment: Vec<(String, String)>,
    /// Takes secrets out of logs.
    pub redactor: Redactor,
    /// The model; `None` where only patches are graded.
    pub provider: Option<Arc<dyn model::Provider>>,
    /// Prompt templates, checked.
    pub templates: agent::prompt::Templates,
    /// Tools on offer.
    pub catalog: Arc<Catalog>,
    /// Limits as the machine takes them.
    pub settings: Settings,
    /// What `task_done` has to pass.
    pub checks: Vec<Check>,
    /// What counts as a test.
    pub classes: Arc<PathClasses>,
    /// Where sandboxes stand.
    pub backends: Backends,
    /// Holds starts back while there is no room.
    pub disk: DiskGate,
    /// How the tests of repositories are run, for rows that do not say it.
    pub rules: grade::Rules,
    /// Images that are got ahead.
    pub prefetch: Prefetch,
    /// Images that are needed.
    pub needs: Arc<Needs>,
    /// Prepared repositories.
    pub repositories: Arc<Repositories>,
    /// Whether the engine has turned out to have no network for gradings that want one.
    pub cut_off: AtomicBool,
    /// Sandboxes that stand.
    pub leases: Arc<Leases>,
    /// Permits.
    pub permits: Permits,
    /// How the run is told to end.
    pub stop: Stop,
    /// What the run may cost.
    pub budget: Arc<Budget>,
}

impl Context {
    /// The entry of a planned row.
    ///
    /// # Errors
    /// When there is none, which would be a bug.
    pub fn entry(&self, row: usize) -> Result<&Entry, Failure> {
        self.entries.get(row).ok_or_else(|| Failure {
            kind: FailureKind::Internal,
            message: format!("no row {row} was loaded"),
        })
    }

    /// What a sandbox of the entry is made from.
    fn place(&self, entry: &Entry, labels: Labels, purpose: Purpose<'_>) -> PlaceSpec {
        let contained = self.image(entry).is_some();
        let mut rights = self.identity.rights.of(&entry.row, contained);
        let (network, hardening, limits) = match purpose {
            Purpose::Solve => (
                self.identity.network.clone(),
                Hardening::Full,
                self.identity.sandbox_limits.clone(),
            ),
            Purpose::Grade(conditions) => {
                if contained {
                    let added = conditions.capabilities().iter().cloned();
                    rights.capabilities.extend(added);
                }
                (
                    profile::network(conditions.profile),
                    profile::hardening(conditions.profile),
                    self.grading_limits(conditions),
                )
            }
        };
        PlaceSpec {
            labels,
            image: self.image(entry).map(|image| image.name.clone()),
            workdir: self.workdir(entry),
            environment: self.environment.clone(),
            limits,
            network,
            rights,
            hardening,
            hidden: Vec::new(),
        }
    }

    /// Limits of a sandbox that grades.
    pub fn grading_limits(&self, conditions: Conditions<'_>) -> Limits {
        conditions.limits(&self.identity.sandbox_limits, self.operation.grade_cpus)
    }

    /// Gets the entry's image ahead, where there is room for it.
    pub fn expect(&self, entry: &Entry) {
        let Some(image) = self.image(entry) else {
            return;
        };
        if self.prefetch.has(&image.name) || self.disk.is_full() {
            return;
        }
        let place = self.place(entry, Labels::new(&self.name, "", ""), Purpose::Solve);
        let stop = self.stop.drain.clone();
        self.prefetch.get(self.backend(entry), place, stop);
    }

    /// Gets what the sandbox needs, waits for its `turn` and starts it with the repository: the image's own, or one of this machine, which is
    /// prepared first. No turn is held while an image is pulled.
    ///
    /// # Errors
    /// When any of it fails.
    pub async fn start_sandbox(
        &self,
        entry: &Entry,
        labels: Labels,
        turn: &Semaphore,
        purpose: Purpose<'_>,
        reports: &Reports,
    ) -> Result<Lease, Traced> {
        let place = self.place(entry, labels, purpose);
        self.prepare(entry, &place, reports).await?;
        let _turn = permit(turn).await?;
        let origin = self.origin(entry, purpose).await?;
        let spec = SandboxSpec {
            place,
            repository: origin,
            setup_commands: self.setup_commands(entry, purpose),
            setup_timeout: self.operation.start_timeout,
        };
        let backend = self.backend(entry);
        let limit = self.operation.start_timeout;
        let start = |spec| self.leases.start(Arc::clone(backend), spec, limit);
        if !purpose.is_official_grading() {
            return Ok(start(spec).await?);
        }
        if !self.cut_off.load(Ordering::Relaxed) {
            match start(spec.clone()).await {
                Err(sandbox::Error::Network { problem }) => {
                    self.warn_cut_off(&problem, reports).await;
                }
                done => return Ok(done?),
            }
        }
        // Without a network most tests do as ever; that it was missing stands beside the verdict.
        let place = PlaceSpec {
            network: Network::None,
            ..spec.place
        };
        Ok(start(SandboxSpec { place, ..spec }).await?)
    }

    /// Says once that gradings do without the network.
    async fn warn_cut_off(&self, problem: &str, reports: &Reports) {
        if !self.cut_off.swap(true, Ordering::Relaxed) {
            reports
                .warn(format!(
                    "patches are graded without the network that the official profile has: {problem}"
                ))
                .await;
        }
    }

    /// Under which conditions a patch of the entry is graded, and why. Samples of a validation have profiles of their own.
    pub fn profile(&self, entry: &Entry, sample: u32) -> profile::Chosen {
        let trials = self.operation.trials.as_ref();
        let asked = trials
            .and_then(|trials| trials.of(sample))
            .map_or(self.operation.grade_profile, |trial| trial.profile);
        let dataset = self.operation.dataset.as_deref();
        profile::choose(asked, dataset, &entry.row, entry.image.as_ref())
    }

    /// Whether the tests are run for a patch that is empty, too: where what they say of the unchanged tree is the question.
    pub fn tries_empty_patches(&self) -> bool {
        self.operation.trials.is_some()
    }

    /// Gets what a sandbox of the entry needs. When that is more than the disk takes, images go that nobody needs.
    async fn prepare(
        &self,
        entry: &Entry,
        place: &PlaceSpec,
        reports: &Reports,
    ) -> Result<(), sandbox::Error> {
        let backend = self.backend(entry);
        loop {
            match backend.prepare(place).await {
                Err(sandbox::Error::Disk { .. })
                    if self.disk.evict(backend.as_ref(), reports).await => {}
                done => return done,
            }
        }
    }

    /// Gives a sandbox back: it is removed, or kept where the user wants that of what `failed`, or did not.
    pub async fn give_back(
        &self,
        lease: Lease,
        failed: bool,
        (key, grading): (&AttemptKey, Option<u32>),
        reports: &Reports,
    ) {
        if !self.operation.keep_sandbox.keeps(failed) {
            return lease.end().await;
        }
        let backend = lease.sandbox().backend();
        if let Some(mut place) = lease.keep().await {
            let run = self.run.root().display().to_string();
            place.open = format!("runner shell {} {}", word(&run), word(&place.id.0));
            let mut entries = self.entries.iter();
            let entry = entries.find(|entry| entry.row.instance.id == key.instance_id);
            let kept = Kept {
                key: key.clone(),
                grading,
                backend,
                place,
                shell_init: entry
                    .map_or_else(String::new, |entry| self.shell_init(entry).to_owned()),
            };
            reports.kept(kept).await;
        }
    }

    /// Where the repository of the entry's sandboxes comes from.
    async fn origin(&self, entry: &Entry, purpose: Purpose<'_>) -> Result<Origin, Failure> {
        let base = entry.row.instance.base_commit.as_deref();
        let change = start_change(&entry.row, purpose).map(Arc::new);
        if brings_repositories(self.backend(entry).as_ref()) {
            let path = entry.repository.as_deref();
            return Ok(self.repositories.in_image(path, base, change));
        }
        let Some(path) = &entry.repository else {
            return Err(Failure {
                kind: FailureKind::Internal,
                message: format!("{} has no repository", entry.row.instance.id),
            });
        };
        Ok(Origin::Host(
            self.repositories.get(path, base, change).await?,
        ))
    }

    /// Where sandboxes of the entry stand.
    pub fn backend(&self, entry: &Entry) -> &Arc<dyn Backend> {
        self.backends.of(entry.image.is_some())
    }

    /// The image that sandboxes of the entry are made from: only containers have one.
    pub fn image<'a>(&self, entry: &'a Entry) -> Option<&'a dataset::images::Image> {
        let contained = self.backend(entry).capabilities().has_images();
        entry.image.as_ref().filter(|_| contained)
    }

    /// Where the repository lies: as the row says, or as images of its dataset have it.
    fn workdir(&self, entry: &Entry) -> Option<String> {
        match self.image(entry) {
            Some(_) => entry.row.family().workdir(&entry.row),
            None => entry.row.instance.workdir.clone(),
        }
    }

    /// Shell text that starts each shell of the entry's sandboxes, empty where there is none.
    pub fn shell_init<'a>(&'a self, entry: &Entry) -> &'a str {
        match &self.identity.shell_init {
            Some(given) => given.trim(),
            None if self.image(entry).is_some() => entry.row.family().shell_init(),
            None => "",
        }
    }

    /// What the agent's shell runs before anything else. Last, whoever solves is left without what images hold of the answer. Evaluation scripts have a
    /// shell of their own, which starts with the same text: where nothing else is to be run, nothing is.
    fn setup_commands(&self, entry: &Entry, purpose: Purpose<'_>) -> Vec<String> {
        if matches!(purpose, Purpose::Grade(_)) && self.identity.setup_commands.is_empty() {
            return Vec::new();
        }
        let init = self.shell_init(entry);
        let init = (!init.is_empty()).then(|| init.to_owned());
        let own = self.identity.setup_commands.iter().cloned();
        let answers = match purpose {
            Purpose::Solve if self.image(entry).is_some() => entry.row.family().answers(),
            Purpose::Solve | Purpose::Grade(_) => &[],
        };
        let removal = (!answers.is_empty()).then(|| format!("rm -rf -- {}", answers.join(" ")));
        init.into_iter().chain(own).chain(removal).collect()
    }

    /// What `task_done` has to pass in the entry's sandboxes. A check runs in a shell of its own, which starts like the agent's.
    pub fn checks(&self, entry: &Entry) -> Vec<Check> {
        let init = self.shell_init(entry);
        let started = |check: &Check| match check {
            Check::VerifyCommand { command, timeout } => Check::VerifyCommand {
                command: started_with(init, command),
                timeout: *timeout,
            },
            Check::NonEmptyPatch => Check::NonEmptyPatch,
        };
        self.checks.iter().map(started).collect()
    }

    /// Labels of a sandbox for `purpose`, the attempt's directory name or a grading's.
    pub fn labels(&self, key: &AttemptKey, purpose: String) -> Labels {
        Labels {
            run: self.name.clone(),
            instance: key.instance_id.file_name(),
            attempt: purpose,
        }
    }

    /// How much of outputs is kept where.
    pub fn output_limits(&self) -> OutputLimits {
        OutputLimits {
            memory: self.identity.limits.max_observation_bytes.max(16 << 10) * 2,
            stored: self.operation.max_output_bytes,
        }
    }
}

/// A word that people can give to a shell.
fn word(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+,:@%=".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// `text` in a shell that starts with `init`.
pub(crate) fn started_with(init: &str, text: &str) -> String {
    if init.is_empty() {
        return text.to_owned();
    }
    format!("{init}\n{text}")
}

/// What is done to the row's repository before anybody works in it. Whoever solves gets it without the tests that must turn, as the dataset's own
/// environments are.
fn start_change(row: &Row, purpose: Purpose<'_>) -> Option<StartChange> {
    let patch = row.answer.start_patch.as_ref()?;
    let removed = match purpose {
        Purpose::Solve => grade::withheld_tests(&row.answer),
        Purpose::Grade(_) => Vec::new(),
    };
    Some(StartChange {
        patch: patch.clone().into_bytes(),
        removed,
    })
}

/// Whether sandboxes of a backend may have a repository of their own.
pub fn brings_repositories(backend: &dyn Backend) -> bool {
    backend.capabilities().has_images()
}

/// A permit of `semaphore`, which is never closed.
pub(crate) async fn permit(semaphore: &Semaphore) -> Result<SemaphorePermit<'_>, Failure> {
    semaphore.acquire().await.map_err(|closed| Failure {
        kind: FailureKind::Internal,
        message: closed.to_string(),
    })
}
