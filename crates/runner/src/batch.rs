//! A batch, put together: settings and rows in; run directory, backend, model and plan checked; then handed to the dispatcher.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use agent::condense::Window;
use dataset::Row;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schema::InstanceId;
use tokio::sync::Semaphore;

use crate::attempt::context::{self, Context, Entry, Permits};
use crate::attempt::live;
use crate::backends::{self, Selected};
use crate::dispatcher::{
    self, AttemptEnd, AttemptStatus, Audience, Executor, GradeEnd, Policy, Reports, RunEnd, Stop,
    Store,
};
use crate::error::{At, Error, chain};
use crate::grading;
use crate::lease::Leases;
use crate::plan::{self, GradeJob, Job, Plan, PlanRow, Request};
use crate::recorder::{Budget, Redactor};
use crate::repositories::Repositories;
use crate::settings::{ResumeMode, RunSettings};
use crate::signals::Signals;
use crate::store::derived::PredictionRules;
use crate::store::journal::{self, JournalWriter};
use crate::store::ledger::Ledger;
use crate::store::owner::{self, Writer};
use crate::store::{RunDirectory, RunFile};

/// What a batch would do, without touching anything.
#[derive(Debug)]
pub struct Preview {
    /// Attempts and gradings.
    pub plan: Plan,
    /// The run so far, `None` when it is new.
    pub before: Option<RunFile>,
}

/// Plans without writing anything: `--dry-run`, and the first look of [`Batch::open`].
///
/// # Errors
/// When the run directory is taken, was made with other settings, or a row changed.
pub fn preview(settings: &RunSettings, rows: &[Row]) -> Result<Preview, Error> {
    let run = RunDirectory::new(&settings.run_directory);
    let before = before(settings, &run)?;
    if let Some(owner) = owner::living(&run)? {
        return Err(Error::InUse {
            path: run.root().to_owned(),
            pid: owner.pid,
            host: owner.host,
        });
    }
    let ledger = read_ledger(&run)?;
    let plan = make_plan(settings, rows, &ledger)?;
    Ok(Preview { plan, before })
}

/// `run.json` when the run is taken up again.
fn before(settings: &RunSettings, run: &RunDirectory) -> Result<Option<RunFile>, Error> {
    let found = run.read_run_file()?;
    match (settings.operation.resume, found) {
        (ResumeMode::New, None) => {
            if is_occupied(run) {
                return Err(Error::Occupied(run.root().to_owned()));
            }
            Ok(None)
        }
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

fn read_ledger(run: &RunDirectory) -> Result<Ledger, Error> {
    let journal = journal::read(run)?;
    Ok(Ledger::fold(journal.lines.iter().map(|line| &line.event)))
}

fn plan_rows(rows: &[Row]) -> Vec<PlanRow> {
    rows.iter()
        .map(|row| PlanRow {
            id: row.instance.id.clone(),
            sha256: row.sha256.clone(),
        })
        .collect()
}

fn make_plan(settings: &RunSettings, rows: &[Row], ledger: &Ledger) -> Result<Plan, Error> {
    plan::plan(
        ledger,
        &Request {
            rows: &plan_rows(rows),
            samples: settings.operation.samples,
            retry: &settings.operation.retry,
            grade: settings.operation.grade,
        },
    )
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
        let preview = preview(&settings, &rows)?;
        let gradable = gradable_rows(&settings, &rows)?;
        let selected_backend = backends::select(&settings).await?;
        let mut warnings: Vec<String> = selected_backend.warning.iter().cloned().collect();
        warnings.extend(gradable.warning);
        let run = RunDirectory::new(&settings.run_directory);
        let selected = selected(&rows, settings.operation.samples);
        let mut context = build_context(&settings, rows, &run, selected_backend)?;
        run.lay_out()?;
        let writer = Writer::claim(&run)?;
        run.write_run_file(
            &settings.run_name(),
            &settings.identity,
            &settings.operation,
            preview.before.as_ref(),
        )?;
        let journal = JournalWriter::create(&writer.journal()).at("create", writer.journal())?;
        // Between the preview and the claim another runner may have finished something.
        let ledger = read_ledger(&run)?;
        let rows: Vec<PlanRow> = context
            .entries
            .iter()
            .map(|entry| PlanRow {
                id: entry.row.instance.id.clone(),
                sha256: entry.row.sha256.clone(),
            })
            .collect();
        let mut plan = plan::plan(
            &ledger,
            &Request {
                rows: &rows,
                samples: settings.operation.samples,
                retry: &settings.operation.retry,
                grade: settings.operation.grade,
            },
        )?;
        plan.gradings
            .retain(|job| gradable.rows.get(job.row).copied().unwrap_or(false));
        for job in &mut plan.jobs {
            // A directory without a word in the journal is evidence of a death in between: it stays.
            while run.attempt(&job.key).root().exists() {
                job.key.attempt += 1;
            }
        }
        context.budget = Arc::new(Budget::new(
            settings.operation.max_total_cost,
            ledger.usage().cost.unwrap_or_default(),
        ));
        reap(&context).await;
        let policy = policy(&settings, gradable.rows);
        Ok(Self {
            store: Store {
                run,
                writer,
                journal,
                ledger,
            },
            policy,
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

fn selected(rows: &[Row], samples: u32) -> HashSet<(InstanceId, u32)> {
    rows.iter()
        .flat_map(|row| (1..=samples.max(1)).map(|sample| (row.instance.id.clone(), sample)))
        .collect()
}

struct Gradable {
    rows: Vec<bool>,
    warning: Option<String>,
}

/// Which rows can be graded; when they are to be and none can, that is an error.
fn gradable_rows(settings: &RunSettings, rows: &[Row]) -> Result<Gradable, Error> {
    let specs: Vec<_> = rows.iter().map(|row| grade::spec(&row.answer)).collect();
    let flags: Vec<bool> = specs.iter().map(Result::is_ok).collect();
    let bad = flags.iter().filter(|good| !**good).count();
    let first = specs
        .into_iter()
        .zip(rows)
        .find_map(|(spec, row)| spec.err().map(|error| (error, row)));
    let Some((error, row)) = first.filter(|_| settings.operation.grade) else {
        return Ok(Gradable {
            rows: flags,
            warning: None,
        });
    };
    let what = format!(
        "{bad} of {} selected rows cannot be graded, the first is `{}`",
        rows.len(),
        row.instance.id
    );
    if bad == rows.len() {
        return Err(Error::Settings {
            message: what,
            hint: Some("leave out --grade, or use rows with eval_script, log_parser, FAIL_TO_PASS and PASS_TO_PASS".to_owned()),
            source: Some(Box::new(error)),
        });
    }
    Ok(Gradable {
        rows: flags,
        warning: Some(format!("{what}: {}", chain(&error))),
    })
}

fn policy(settings: &RunSettings, gradable: Vec<bool>) -> Policy {
    let operation = &settings.operation;
    Policy {
        workers: operation.workers.max(1),
        prestarted: operation.start_workers.min(operation.workers),
        max_attempts: operation.max_attempts.max(1),
        grade: operation.grade,
        gradable,
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

fn build_context(
    settings: &RunSettings,
    rows: Vec<Row>,
    run: &RunDirectory,
    selected: Selected,
) -> Result<Context, Error> {
    let identity = settings.identity.clone();
    let operation = settings.operation.clone();
    let machine = context::machine_settings(
        &identity.limits,
        Window {
            size: identity.window,
            max_output: identity.max_output_tokens,
        },
    );
    let provider = open_model(settings)?;
    let root = backends::root(operation.scratch.as_ref());
    let mut secrets: Vec<_> = settings.secrets.api_key.iter().cloned().collect();
    let named = settings.secrets.headers.iter();
    secrets.extend(
        named
            .chain(&settings.secrets.environment)
            .map(|(_, value)| value.clone()),
    );
    Ok(Context {
        run: run.clone(),
        name: settings.run_name(),
        identity_sha256: identity.sha256(),
        entries: entries(settings, rows)?,
        environment: context::environment(&settings.secrets),
        redactor: Redactor::new(secrets),
        provider: Some(provider),
        templates: context::templates(&identity.prompts)?,
        catalog: Arc::new(context::catalog(&identity.tools, &machine.limits)?),
        settings: machine,
        checks: context::checks(&identity),
        classes: Arc::new(context::path_classes(&identity.paths)?),
        backend: selected.backend,
        repositories: Repositories::new(root),
        leases: Arc::new(Leases::default()),
        permits: Permits {
            start: Semaphore::new(operation.start_workers.max(1)),
            grade_start: Semaphore::new(operation.start_workers.max(1)),
            solve: Semaphore::new(operation.workers.max(1)),
        },
        stop: Stop::default(),
        budget: Arc::new(Budget::new(None, 0.0)),
        identity,
        operation,
    })
}

fn entries(settings: &RunSettings, rows: Vec<Row>) -> Result<Vec<Entry>, Error> {
    let operation = &settings.operation;
    rows.into_iter()
        .map(|row| {
            let repository = dataset::repository_path(
                &row,
                &operation.dataset_directory,
                operation.repositories.as_deref(),
            )
            .map_err(|error| Error::Settings {
                message: "a selected instance has no repository here".to_owned(),
                hint: error.hints().into_iter().next(),
                source: Some(Box::new(error)),
            })?;
            Ok(Entry { row, repository })
        })
        .collect()
}

fn open_model(settings: &RunSettings) -> Result<Arc<dyn model::Provider>, Error> {
    let wrong = |error: model::Error| Error::Settings {
        message: format!("the model `{}` cannot be used", settings.identity.model),
        hint: error.hints().into_iter().next(),
        source: Some(Box::new(error)),
    };
    let transport = &settings.operation.transport;
    let choice = model::Choice::parse(&settings.identity.model).map_err(wrong)?;
    let client = model::client(transport.connect_timeout).map_err(wrong)?;
    let provider = model::open(&choice, &model_settings(settings), client).map_err(wrong)?;
    let costs =
        settings.identity.limits.max_cost.is_some() || settings.operation.max_total_cost.is_some();
    if costs && !provider.price_known() {
        return Err(Error::Settings {
            message: format!(
                "a limit on the cost is set, but the price of `{}` is not known",
                settings.identity.model
            ),
            hint: Some("set the model's price, or leave the limit out".to_owned()),
            source: None,
        });
    }
    Ok(provider)
}

fn model_settings(settings: &RunSettings) -> model::Settings {
    let (identity, transport) = (&settings.identity, &settings.operation.transport);
    let defaults = model::Settings::default();
    model::Settings {
        base_url: transport.base_url.clone(),
        api_key: settings.secrets.api_key.clone(),
        temperature: identity.temperature,
        max_output_tokens: identity.max_output_tokens,
        window: identity.window,
        stream: transport.stream,
        extra_body: identity.extra_body.clone(),
        headers: settings.secrets.headers.clone(),
        retry: model::RetryPolicy {
            max_tries: transport.max_tries,
            max_total: transport.total_timeout,
            ..defaults.retry
        },
        deadlines: model::Deadlines {
            connect: transport.connect_timeout,
            first_byte: transport.first_byte_timeout,
            idle: transport.idle_timeout,
            total: transport.total_timeout,
        },
        price: transport.price.map(|price| model::price::Price {
            input: price.input,
            cached: price.cached,
            cache_write: price.cache_write,
            output: price.output,
        }),
        ..defaults
    }
}

/// Removes what dead runs left; a living one's is never touched.
async fn reap(context: &Context) {
    let orphans = match context.backend.orphans().await {
        Ok(orphans) => orphans,
        Err(error) => {
            tracing::warn!(error = chain(&error), "orphans could not be looked for");
            return;
        }
    };
    for orphan in orphans {
        let removed = context
            .backend
            .remove(&orphan, Duration::from_secs(30))
            .await;
        match removed {
            Ok(()) => tracing::info!(sandbox = orphan.0, "removed the sandbox of a dead run"),
            Err(error) => {
                tracing::warn!(
                    sandbox = orphan.0,
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

impl Executor for Work {
    fn attempt(
        self: Arc<Self>,
        job: Job,
        status: Arc<AttemptStatus>,
        reports: Reports,
    ) -> BoxFuture<'static, AttemptEnd> {
        async move { live(&self.context, &job, &status, &reports).await }.boxed()
    }

    fn grade(self: Arc<Self>, job: GradeJob) -> BoxFuture<'static, GradeEnd> {
        async move { grading::grade(&self.context, &job).await }.boxed()
    }

    fn clean(&self, limit: Duration) -> BoxFuture<'_, ()> {
        self.context.leases.clean(limit).boxed()
    }
}
