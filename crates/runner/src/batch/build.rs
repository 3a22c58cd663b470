//! Building what the attempts of a batch share.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use agent::condense::Window;
use dataset::Row;
use dataset::images::{Image, Naming, Origin};
use model::price::PriceTable;
use sandbox::place::apptainer::is_address;
use tokio::sync::Semaphore;

use crate::attempt::context::{self, Context, Entry, Permits};
use crate::attempt::parts;
use crate::backends::{self, Backends};
use crate::budget::Budget;
use crate::disk::DiskGate;
use crate::dispatcher::Stop;
use crate::error::{At, Error};
use crate::lease::Leases;
use crate::prefetch::{Needs, Prefetch};
use crate::recorder::Redactor;
use crate::repositories::Repositories;
use crate::rules;
use crate::settings::{Operation, RunSettings, SandboxChoice};
use crate::store::RunDirectory;

/// Builds the context; without a model where only patches are graded.
pub(super) fn context(
    settings: &RunSettings,
    rows: Vec<Row>,
    run: &RunDirectory,
    backends: Backends,
    provider: Option<Arc<dyn model::Provider>>,
    spent: f64,
) -> Result<Context, Error> {
    let identity = settings.identity.clone();
    let operation = settings.operation.clone();
    let machine = agent::Settings {
        limits: identity.limits.clone(),
        window: Window {
            size: identity.window,
            max_output: identity.max_output_tokens,
        },
    };
    let root = backends::root(operation.scratch.as_ref());
    let mut secrets: Vec<_> = settings.secrets.api_key.iter().cloned().collect();
    let named = settings.secrets.headers.iter();
    secrets.extend(
        named
            .chain(&settings.secrets.environment)
            .map(|(_, value)| value.clone()),
    );
    let needs = Arc::new(Needs::default());
    let repositories = Arc::new(Repositories::new(root.clone(), kept(&operation)));
    Ok(Context {
        run: run.clone(),
        name: settings.run_name(),
        identity_sha256: identity.sha256(),
        entries: entries(settings, rows, &backends, &repositories)?,
        environment: parts::environment(&settings.secrets),
        redactor: Redactor::new(secrets),
        provider,
        templates: parts::templates(&identity.prompts)?,
        catalog: Arc::new(parts::catalog(&identity.tools, &machine.limits)?),
        settings: machine,
        checks: parts::checks(&identity),
        classes: Arc::new(parts::path_classes(&identity.paths)?),
        disk: disk_gate(&operation, run, &root, &backends, &needs),
        prefetch: Prefetch::default(),
        needs,
        backends,
        rules: rules::read(settings.operation.repository_rules.as_deref())?,
        repositories,
        cut_off: AtomicBool::new(false),
        leases: Arc::new(Leases::default()),
        permits: Permits {
            start: Semaphore::new(operation.start_workers.max(1)),
            grade_start: Semaphore::new(operation.start_workers.max(1)),
            solve: Semaphore::new(operation.workers.max(1)),
        },
        stop: Stop::default(),
        budget: Arc::new(Budget::new(operation.max_total_cost, spent)),
        identity,
        operation,
    })
}

/// Room is needed where the run is written, where sandboxes stand, and where an engine on this machine keeps its images.
fn disk_gate(
    operation: &Operation,
    run: &RunDirectory,
    root: &Path,
    backends: &Backends,
    needs: &Arc<Needs>,
) -> DiskGate {
    let mut paths = vec![run.root().to_owned(), root.to_owned()];
    paths.extend(backends.all().flat_map(|backend| backend.storage()));
    let gate = DiskGate::new(operation.min_free_disk, operation.disk_wait, paths);
    if operation.evict_images {
        return gate.evicting(backends.all().cloned().collect(), Arc::clone(needs));
    }
    gate
}

fn entries(
    settings: &RunSettings,
    rows: Vec<Row>,
    backends: &Backends,
    repositories: &Repositories,
) -> Result<Vec<Entry>, Error> {
    let operation = &settings.operation;
    let mut checked = HashSet::new();
    rows.into_iter()
        .map(|row| {
            let found = dataset::repository_path(
                &row,
                &operation.dataset_directory,
                operation.repositories.as_deref(),
            );
            let image = image_of(settings, &row)?;
            let backend = backends.of(image.is_some());
            if context::brings_repositories(backend.as_ref()) {
                // Whether the image has one shows when it runs; only then is another looked at.
                let repository = found.ok();
                return Ok(Entry {
                    row,
                    repository,
                    image,
                });
            }
            let repository = found.map_err(|error| Error::Settings {
                message: "a selected instance has no repository here".to_owned(),
                hint: error.hints().into_iter().next(),
                source: Some(Box::new(error)),
            })?;
            let base = row.instance.base_commit.clone();
            if checked.insert((repository.clone(), base.clone())) {
                repositories
                    .check(&repository, base.as_deref())
                    .map_err(|error| Error::Settings {
                        message: format!(
                            "the repository of instance `{}` cannot be used",
                            row.instance.id
                        ),
                        hint: error.hint().map(str::to_owned),
                        source: Some(Box::new(error)),
                    })?;
            }
            Ok(Entry {
                row,
                repository: Some(repository),
                image,
            })
        })
        .collect()
}

/// The image of a row. Where repositories of this machine are named, one that only a rule knows is taken by none but a sandbox that cannot do without.
///
/// # Errors
/// When what is given makes no name of an image.
pub(crate) fn image_of(settings: &RunSettings, row: &Row) -> Result<Option<Image>, Error> {
    let sandbox = settings.identity.sandbox;
    let naming = Naming {
        template: settings.identity.image.clone(),
        mirror: settings.operation.image_mirror.clone(),
        special: (sandbox == SandboxChoice::Apptainer).then_some(is_address),
    };
    let image = naming.image(row).map_err(|error| Error::Settings {
        message: "an instance has no usable image".to_owned(),
        hint: error.hints().into_iter().next(),
        source: Some(Box::new(error)),
    })?;
    let optional = !sandbox.is_contained() && settings.operation.repositories.is_some();
    let by_rule = |image: &Image| matches!(image.origin, Origin::Family(_));
    Ok(image.filter(|image| !(optional && by_rule(image))))
}

/// Opens the model, and refuses a limit on a cost that nobody can know.
pub(super) fn open_model(settings: &RunSettings) -> Result<Arc<dyn model::Provider>, Error> {
    let wrong = |error: model::Error| Error::Settings {
        message: format!("the model `{}` cannot be used", settings.identity.model),
        hint: error.hints().into_iter().next(),
        source: Some(Box::new(error)),
    };
    let transport = &settings.operation.transport;
    let choice = model::Choice::parse(&settings.identity.model).map_err(wrong)?;
    let client = || model::client(transport.connect_timeout);
    let mut asked = model_settings(settings);
    if let Some(path) = &transport.prices {
        asked.prices.extend(prices(path)?);
    }
    let provider = model::open(&choice, &asked, client).map_err(wrong)?;
    let costs =
        settings.identity.limits.max_cost.is_some() || settings.operation.max_total_cost.is_some();
    if costs && !provider.price_known() {
        return Err(Error::Settings {
            message: format!(
                "a limit on the cost is set, but the price of `{}` is not known",
                settings.identity.model
            ),
            hint: Some("give the price with --price input=DOLLARS --price output=DOLLARS, or a table with --prices FILE, or leave the limit out".to_owned()),
            source: None,
        });
    }
    Ok(provider)
}

/// A table of the user's.
fn prices(path: &Path) -> Result<PriceTable, Error> {
    let text = std::fs::read_to_string(path).at("read", path)?;
    PriceTable::parse(&text).map_err(|error| Error::Settings {
        message: format!("the prices in `{}` cannot be used", path.display()),
        hint: Some(
            "each is `[[model]]` with name, input and output, and cached and cache_write where they differ, in US dollars for a million tokens"
                .to_owned(),
        ),
        source: Some(Box::new(error)),
    })
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

/// Prepared repositories that are worth keeping for somebody who will want them soon: the grader, or the next sample.
fn kept(operation: &Operation) -> usize {
    let for_grading = if operation.grade {
        operation.grade_workers + operation.workers
    } else {
        0
    };
    // Each holds disk space and the listing of its tree.
    for_grading.max(usize::from(operation.samples > 1)).min(16)
}
