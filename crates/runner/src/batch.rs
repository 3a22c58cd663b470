//! A batch, put together: settings and rows in; run directory, backend, model and plan checked; then handed to the dispatcher.

mod build;
mod gradings;
mod rejudge;
mod trials;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use dataset::Row;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use sandbox::place::Backend;
use sandbox::place::docker::Pulls;
use schema::InstanceId;

pub(crate) use self::build::image_of;
pub use self::gradings::GradeSelection;
pub use self::rejudge::{Rejudged, rejudge};
use crate::attempt::context::Context;
use crate::attempt::live;
use crate::backends::{self, Need};
use crate::dispatcher::{
    self, AttemptEnd, AttemptStatus, Audience, Executor, GradeEnd, Policy, Reports, RunEnd, Store,
};
use crate::engine;
use crate::error::{At, Error, chain};
use crate::grading;
use crate::lease::REMOVAL_LIMIT;
use crate::plan::{self, GradeJob, Job, Plan, PlanRow, Request};
use crate::registry;
use crate::rules;
use crate::settings::{ResumeMode, RunSettings};
use crate::signals::Signals;
use crate::store::derived::{self, PredictionRules};
use crate::store::journal::{self, JournalWriter};
use crate::store::ledger::Ledger;
use crate::store::owner::{self, Writer};
use crate::store::{RunDirectory, RunFile};

/// What a batch would do. Writes nothing: `--dry-run`, and the first look of [`Batch::open`].
///
/// # Errors
/// When the run directory is taken, was made with other settings, or a row changed.
pub fn preview(settings: &RunSettings, rows: &[PlanRow]) -> Result<Plan, Error> {
    let run = RunDirectory::new(&settings.run_directory);
    before(settings, &run)?;
    refuse_living(&run)?;
    let ledger = read_ledger(&run)?;
    make_plan(settings, rows, &ledger)
}

/// A batch that is ready to run. Its run directory exists and is claimed.
pub struct Batch {
    store: Store,
    policy: Policy,
    plan: Plan,
    selected: HashSet<(InstanceId, u32)>,
    work: Arc<Work>,
    warnings: Vec<String>,
}

impl Batch {
    /// Checks everything, then makes or takes up the run directory, claims it, and removes what dead runs left.
    ///
    /// # Errors
    /// When anything is wrong with the settings, the rows, the machine or the run directory; nothing was started then.
    pub async fn open(settings: RunSettings, rows: Vec<Row>) -> Result<Self, Error> {
        Self::open_with(settings, rows, build::open_model).await
    }

    /// The same with a model of the caller's own.
    ///
    /// # Errors
    /// As [`Self::open`], and when there is no model.
    pub async fn open_with(
        settings: RunSettings,
        rows: Vec<Row>,
        model: impl FnOnce(&RunSettings) -> Result<Arc<dyn model::Provider>, Error>,
    ) -> Result<Self, Error> {
        preview(&settings, &plan_rows(&rows))?;
        let ungradable = ungradable_rows(&settings, &rows)?;
        let backends = backends::select(&settings, &needs(&settings, &rows)?).await?;
        let mut warnings: Vec<String> = backends.warnings().map(str::to_owned).collect();
        warnings.extend(ungradable);
        let provider = model(&settings)?;
        let run = RunDirectory::new(&settings.run_directory);
        let spent = read_ledger(&run)?.usage().cost.unwrap_or_default();
        let plan_rows = plan_rows(&rows);
        let selected = selected(&plan_rows, settings.operation.samples);
        let context = build::context(&settings, rows, &run, backends, Some(provider), spent)?;

        let store = take(&settings, &run)?;
        // Between the preview and the claim another runner may have finished something.
        let mut plan = make_plan(&settings, &plan_rows, &store.ledger)?;
        for job in &mut plan.jobs {
            // A directory without a word in the journal is evidence of a death in between: it stays.
            while run.attempt(&job.key).root().exists() {
                job.key.attempt += 1;
            }
        }
        reap(&context).await;
        Ok(Self {
            store,
            policy: policy(&settings),
            plan,
            selected,
            work: Arc::new(Work { context }),
            warnings,
        })
    }

    /// What it will do.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What people should know before it starts, a line each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What the journals say so far.
    pub fn ledger(&self) -> &Ledger {
        &self.store.ledger
    }

    /// The pulls of its engines, for a display.
    pub fn pulls(&self) -> Vec<Pulls> {
        let backends = self.work.context.backends.all();
        backends.filter_map(|backend| backend.pulls()).collect()
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// When the run can no longer be written down; what was finished is on disk.
    pub async fn run(self, audience: Audience, signals: Signals) -> Result<RunEnd, Error> {
        let stop = self.work.context.stop.clone();
        dispatcher::run(
            self.store,
            self.policy,
            self.plan,
            self.selected,
            self.work,
            stop,
            audience,
            signals,
        )
        .await
    }
}

/// `run.json` when the run is taken up again.
fn before(settings: &RunSettings, run: &RunDirectory) -> Result<Option<RunFile>, Error> {
    let found = run.read_run_file()?;
    match (settings.operation.resume, found) {
        (ResumeMode::New, None) if is_occupied(run) => Err(Error::Occupied(run.root().to_owned())),
        (ResumeMode::New, None) => Ok(None),
        (ResumeMode::New, Some(_)) => Err(Error::Exists(run.root().to_owned())),
        // A run that died before it wrote anything is as good as new.
        (ResumeMode::Restart | ResumeMode::Replay, None) if run.writers().exists() => Ok(None),
        (ResumeMode::Restart | ResumeMode::Replay, None) => {
            Err(Error::NoRun(run.root().to_owned()))
        }
        (ResumeMode::Restart | ResumeMode::Replay, Some(file)) => {
            let differences = settings.identity.differences(&file.identity);
            if differences.is_empty() {
                return Ok(Some(file));
            }
            Err(Error::IdentityChanged {
                path: run.root().to_owned(),
                differences,
            })
        }
    }
}

/// Whether the directory holds something else than a run.
fn is_occupied(run: &RunDirectory) -> bool {
    std::fs::read_dir(run.root()).is_ok_and(|mut entries| entries.next().is_some())
        && !run.writers().exists()
}

fn refuse_living(run: &RunDirectory) -> Result<(), Error> {
    match owner::living(run)? {
        None => Ok(()),
        Some(owner) => Err(Error::InUse {
            path: run.root().to_owned(),
            pid: owner.pid,
            host: owner.host,
        }),
    }
}

fn read_ledger(run: &RunDirectory) -> Result<Ledger, Error> {
    let journal = journal::read(run)?;
    Ok(Ledger::fold(journal.lines.iter().map(|line| &line.event)))
}

/// Claims the run directory and lays it out.
fn take(settings: &RunSettings, run: &RunDirectory) -> Result<Store, Error> {
    let writer = Writer::claim(run)?;
    // Since the run was first looked at, another runner may have begun it, and even ended it.
    let before = match before(settings, run) {
        Ok(before) => before,
        Err(error) => {
            writer.finish()?;
            return Err(error);
        }
    };
    // Not before the claim: what looks left over may be another runner's, still at it.
    run.lay_out()?;
    run.write_run_file(
        &settings.run_name(),
        &settings.identity,
        &settings.operation,
        before.as_ref(),
    )?;
    let journal = JournalWriter::create(&writer.journal()).at("create", writer.journal())?;
    let ledger = read_ledger(run)?;
    if writer.follows_death() {
        derived::publish_again(run, &ledger, settings.identity.patch);
    }
    Ok(Store {
        run: run.clone(),
        writer,
        journal,
        ledger,
    })
}

fn plan_rows(rows: &[Row]) -> Vec<PlanRow> {
    rows.iter()
        .map(|row| PlanRow {
            id: row.instance.id.clone(),
            sha256: row.sha256.clone(),
        })
        .collect()
}

fn make_plan(settings: &RunSettings, rows: &[PlanRow], ledger: &Ledger) -> Result<Plan, Error> {
    plan::plan(
        ledger,
        &Request {
            rows,
            samples: settings.operation.samples,
            retry: &settings.operation.retry,
            grade: settings.operation.grade,
        },
    )
}

fn selected(rows: &[PlanRow], samples: u32) -> HashSet<(InstanceId, u32)> {
    rows.iter()
        .flat_map(|row| (1..=samples.max(1)).map(|sample| (row.id.clone(), sample)))
        .collect()
}

/// What each row needs of a backend.
fn needs(settings: &RunSettings, rows: &[Row]) -> Result<Vec<Need>, Error> {
    let need = |row| {
        let image = image_of(settings, row)?;
        Ok(Need::of(image.as_ref().map(|image| image.name.as_str())))
    };
    rows.iter().map(need).collect()
}

/// A word on the rows that are to be graded and cannot be: their gradings fail, with what is missing. When none can, that is an error.
fn ungradable_rows(settings: &RunSettings, rows: &[Row]) -> Result<Option<String>, Error> {
    if !settings.operation.grade {
        return Ok(None);
    }
    let rules = rules::read(settings.operation.repository_rules.as_deref())?;
    // What is found is not kept: a script may hold megabytes of patch.
    let errors = rows.iter().filter_map(|row| {
        let resolved = grade::resolve(&row.instance, &row.answer, &rules);
        Some((resolved.err()?, row))
    });
    let errors: Vec<_> = errors.collect();
    let bad = errors.len();
    let Some((error, row)) = errors.into_iter().next() else {
        return Ok(None);
    };
    let what = format!(
        "{bad} of {} selected rows cannot be graded, the first is `{}`",
        rows.len(),
        row.instance.id
    );
    if bad == rows.len() {
        return Err(Error::Settings {
            message: what,
            hint: Some(grading_hint(&error)),
            source: Some(Box::new(error)),
        });
    }
    Ok(Some(format!("{what}: {}", chain(&error))))
}

fn grading_hint(error: &grade::SpecError) -> String {
    let otherwise = "leave out --grade to solve without it";
    match error.hints().into_iter().next() {
        Some(hint) => format!("{hint}, or {otherwise}"),
        None => otherwise.to_owned(),
    }
}

fn policy(settings: &RunSettings) -> Policy {
    let operation = &settings.operation;
    Policy {
        workers: operation.workers.max(1),
        prefetch: operation.prefetch,
        prestarted: operation.start_workers.min(operation.workers),
        max_attempts: operation.max_attempts.max(1),
        grade: operation.grade,
        grade_workers: operation.grade_workers.max(1),
        grace: operation.grace,
        max_infra_failures: operation.max_infra_failures,
        max_empty_patches: operation.max_empty_patches,
        fail_under: operation.fail_under,
        predictions: PredictionRules {
            model: settings.identity.model.clone(),
            patch: settings.identity.patch,
            partial: operation.partial,
            samples: operation.samples,
        },
    }
}

/// Removes what dead runs left; a living one's is never touched.
async fn reap(context: &Context) {
    for backend in context.backends.all() {
        reap_in(backend.as_ref()).await;
    }
}

async fn reap_in(backend: &dyn Backend) {
    let orphans = match backend.orphans().await {
        Ok(orphans) => orphans,
        Err(error) => {
            tracing::warn!(error = chain(&error), "orphans could not be looked for");
            return;
        }
    };
    for orphan in orphans {
        let removed = backend.remove(&orphan.id, REMOVAL_LIMIT).await;
        match removed {
            Ok(()) => tracing::info!(sandbox = orphan.name, "removed the sandbox of a dead run"),
            Err(error) => {
                tracing::warn!(
                    sandbox = orphan.name,
                    error = chain(&error),
                    "the sandbox of a dead run could not be removed"
                );
            }
        }
    }
}

/// Does the work that the dispatcher gives out.
struct Work {
    context: Context,
}

impl Work {
    /// The image of a row, where its sandboxes have one.
    fn image(&self, row: usize) -> Option<&str> {
        let entry = self.context.entries.get(row)?;
        self.context.image(entry).map(|image| image.name.as_str())
    }
}

impl Executor for Work {
    fn attempt(
        self: Arc<Self>,
        job: Job,
        status: Arc<AttemptStatus>,
        reports: Reports,
    ) -> BoxFuture<'static, AttemptEnd> {
        async move { live(&self.context, &job, &status, &reports).await }.boxed()
    }

    fn grade(self: Arc<Self>, job: GradeJob, reports: Reports) -> BoxFuture<'static, GradeEnd> {
        async move { grading::grade(&self.context, &job, &reports).await }.boxed()
    }

    fn need(&self, row: usize) {
        if let Some(image) = self.image(row) {
            self.context.needs.add(image);
        }
    }

    fn release(&self, row: usize) {
        if let Some(image) = self.image(row) {
            self.context.needs.release(image);
        }
    }

    fn expect(&self, row: usize) {
        if let Some(entry) = self.context.entries.get(row) {
            self.context.expect(entry);
        }
    }

    fn watch(self: Arc<Self>, reports: Reports) -> BoxFuture<'static, ()> {
        let wait = self.context.operation.engine_wait;
        let engines = self.context.backends.all().filter_map(|one| one.engine());
        let engines: Vec<_> = engines
            .map(|engine| engine::watch(engine, wait, reports.clone()))
            .collect();
        let registries = self
            .context
            .backends
            .all()
            .filter_map(|one| one.registries());
        let registries: Vec<_> = registries
            .map(|registries| registry::watch(registries, reports.clone()))
            .collect();
        async move {
            tokio::join!(join_all(engines), join_all(registries));
        }
        .boxed()
    }

    fn clean(&self, limit: Duration) -> BoxFuture<'_, ()> {
        async move {
            self.context.prefetch.end();
            self.context.leases.clean(limit).await;
            for backend in self.context.backends.all() {
                backend.tidy(limit).await;
            }
            self.context.repositories.clear();
        }
        .boxed()
    }
}
