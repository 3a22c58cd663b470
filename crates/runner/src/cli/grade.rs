//! `runner grade`.

mod offline;
mod predictions;

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use dataset::Row;
use schema::quarantine::Quarantine;

use super::arguments::{Grade, Once, Only};
use super::error::Error;
use super::quarantine;
use super::resolve::{self, Solver};
use super::run::{self, Finish};
use super::source::{self, Source};
use crate::batch::{self, Batch};
use crate::exit::Exit;
use crate::layers::{Options, Origin, Resolved, Table};
use crate::settings::{Identity, Operation, RunSettings};
use crate::signals::Signals;
use crate::store::ledger::Ledger;
use crate::store::selection::Selection;
use crate::store::{RunDirectory, RunFile, journal};
use crate::ui::{self, Printer};

/// Runs the command.
pub(super) fn grade(command: &Grade, negated: Table, printer: &Printer) -> Result<Exit, Error> {
    let started = Instant::now();
    let (mut sandbox, mut grading) = (command.sandbox.clone(), command.grading.clone());
    // Nobody solves here: these are the processors of the sandboxes that grade.
    grading.grade_cpus = grading.grade_cpus.or(sandbox.cpus.take());
    let flags = Options {
        selection: command.selection.clone(),
        sandbox,
        keeping: command.keeping.clone(),
        grading,
        scoring: command.scoring.clone(),
        gates: command.gates.clone(),
        ..Options::default()
    };
    let flags = resolve::flags(&flags, negated)?;
    let resolved = super::load(&command.config, flags, printer)?;
    let options = resolved.options()?;
    if let Some(log) = &command.offline.test_output {
        return offline::grade(command, log, &options, printer);
    }
    let Some(target) = &command.target else {
        return Err(Error::usage(
            "nothing to grade",
            "name a run, a predictions file, or a log with --test-output",
        ));
    };
    let work = async {
        if target.is_dir() {
            Box::pin(grade_run(
                command, target, &resolved, &options, started, printer,
            ))
            .await
        } else if command.from_logs {
            Err(Error::usage(
                format!("`{}` is no directory of a run", target.display()),
                "--from-logs takes a run; a log alone is judged with --test-output",
            ))
        } else {
            Box::pin(predictions::grade(
                command, target, &resolved, &options, started, printer,
            ))
            .await
        }
    };
    super::block_on(work)
}

/// Grades patches of a run in its directory. What changes outcomes is the run's own; flags may say how the grading is done.
async fn grade_run(
    command: &Grade,
    target: &Path,
    resolved: &Resolved,
    options: &Options,
    started: Instant,
    printer: &Printer,
) -> Result<Exit, Error> {
    let run = RunDirectory::new(target);
    let Some(file) = run.read_run_file()? else {
        return Err(crate::error::Error::NoRun(target.to_owned()).into());
    };
    let named = resolve::settle(resolved, options, &Once::default(), Solver::Named(""))?;
    check_identity(&file, &named.identity, resolved)?;
    check_environment(&file, options)?;
    // Who asks for all again doubts what is known.
    let grade_cache = named.operation.grade_cache && command.only != Only::All;
    let operation = Operation {
        grade_cache,
        ..operation(&file, named.operation, resolved)
    };
    let rows = rows_of_run(&run, &operation, options, printer).await?;
    let settings = RunSettings::new(target.to_owned(), file.identity, operation, named.secrets);
    let selection = run::selection(&settings, &rows);
    let path = options.scoring.quarantine.as_deref();
    let found = quarantine::of_run(path, &run, printer)?;
    let finish = finish(&settings, selection, found, started);
    if command.from_logs {
        return from_logs(settings, &rows, &finish, printer);
    }
    let signals = Signals::listen().map_err(|source| Error::Runtime { source })?;
    ui::log(printer, &run.root().join("runner.log"));
    let batch = Batch::open_grading(settings, rows, command.only.into()).await?;
    run::work_through(batch, &finish, signals, printer)
        .await
        .map(|(exit, _)| exit)
}

/// Judges the logs of a run again, and reports.
fn from_logs(
    settings: RunSettings,
    rows: &[Row],
    finish: &Finish,
    printer: &Printer,
) -> Result<Exit, Error> {
    if let Some(found) = &finish.quarantine {
        crate::quarantine::give(&finish.run, found)?;
    }
    let rejudged = batch::rejudge(settings, rows)?;
    finish.show(rejudged.exit, printer)?;
    printer.note(&format!(
        "{} judged again, {} with another verdict; {} without a log",
        ui::count(rejudged.judged, "log"),
        rejudged.changed,
        ui::count(rejudged.without_log, "patch")
    ));
    Ok(rejudged.exit)
}

/// The run's own way to work, but for what this command line says anew.
fn operation(file: &RunFile, given: Operation, resolved: &Resolved) -> Operation {
    let own = file.operation.clone();
    let newest = Newest(resolved);
    let dataset_directory = newest.of("dataset", given.dataset_directory, own.dataset_directory);
    Operation {
        dataset_directory,
        dataset: newest.of("dataset", given.dataset, own.dataset),
        repositories: newest.of("repos", given.repositories, own.repositories),
        scratch: newest.of("scratch", given.scratch, own.scratch),
        keep_sandbox: given.keep_sandbox,
        pull: newest.of("pull", given.pull, own.pull),
        pulls: given.pulls,
        prefetch: given.prefetch,
        evict_images: given.evict_images,
        engine_wait: given.engine_wait,
        registry_wait: given.registry_wait,
        start_timeout: newest.of("start_timeout", given.start_timeout, own.start_timeout),
        grade_workers: newest.of("grade_workers", given.grade_workers, own.grade_workers),
        harness: newest.of("harness", given.harness, own.harness),
        grade_cpus: newest.of("grade_cpus", given.grade_cpus, own.grade_cpus),
        grade_profile: newest.of("grade_profile", given.grade_profile, own.grade_profile),
        tamper_check: newest.of("tamper_check", given.tamper_check, own.tamper_check),
        grade_timeout: newest.of("grade_timeout", given.grade_timeout, own.grade_timeout),
        repository_rules: newest.of(
            "repository_rules",
            given.repository_rules,
            own.repository_rules,
        ),
        max_infra_failures: newest.of(
            "max_infra_failures",
            given.max_infra_failures,
            own.max_infra_failures,
        ),
        max_empty_patches: newest.of(
            "max_empty_patches",
            given.max_empty_patches,
            own.max_empty_patches,
        ),
        image_mirror: newest.of("image_mirror", given.image_mirror, own.image_mirror),
        min_free_disk: newest.of("min_free_disk", given.min_free_disk, own.min_free_disk),
        fail_under: newest.of("fail_under", given.fail_under, own.fail_under),
        best_effort_limits: newest.of(
            "best_effort_limits",
            given.best_effort_limits,
            own.best_effort_limits,
        ),
        ..own
    }
}

/// Chooses between what this command line says and what the run had.
struct Newest<'a>(&'a Resolved);

impl Newest<'_> {
    fn of<T>(&self, key: &str, given: T, own: T) -> T {
        if self.0.is_given(key) { given } else { own }
    }
}

/// A run is graded in sandboxes like those it was solved in: a flag that says otherwise is refused, not ignored.
fn check_identity(file: &RunFile, given: &Identity, resolved: &Resolved) -> Result<(), Error> {
    let flags = [
        ("sandbox", "sandbox"),
        ("network", "network"),
        ("image", "image"),
        ("platform", "platform"),
        ("shell_init", "shell_init"),
        ("sandbox_user", "rights.user"),
        ("cap_add", "rights.capabilities"),
        ("tmpfs", "rights.tmpfs"),
        ("setup_command", "setup_commands"),
        ("memory", "sandbox_limits.memory"),
        ("pids", "sandbox_limits.pids"),
        ("disk", "sandbox_limits.disk"),
    ];
    let differences = given.differences(&file.identity);
    let other = flags.into_iter().find(|(key, field)| {
        matches!(resolved.origin(key), Some(Origin::Flag(_)))
            && differences.iter().any(|difference| {
                // Who asked for a limit is no matter here.
                difference.field.starts_with(field) && !difference.field.ends_with(".explicit")
            })
    });
    match other {
        None => Ok(()),
        Some((key, _)) => Err(Error::usage(
            format!(
                "--{} is not what the run was made with",
                key.replace('_', "-")
            ),
            "a run is graded with its own sandbox settings: leave the flag out, or grade its predictions.jsonl as a new run",
        )),
    }
}

/// Values of variables are never kept, so a run that set some is graded only when they are given again.
fn check_environment(file: &RunFile, options: &Options) -> Result<(), Error> {
    let given: HashSet<&str> = options
        .sandbox
        .env
        .iter()
        .flatten()
        .map(|pair| pair.name.as_str())
        .collect();
    let missing: Vec<&str> = file
        .identity
        .environment_sha256
        .keys()
        .map(String::as_str)
        .filter(|name| !given.contains(name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::usage(
        format!(
            "the run set variables whose values are not kept: {}",
            missing.join(", ")
        ),
        "give them again with --env NAME=VALUE",
    ))
}

/// The rows of the run's dataset that the run has attempts of, and that are selected.
async fn rows_of_run(
    run: &RunDirectory,
    operation: &Operation,
    options: &Options,
    printer: &Printer,
) -> Result<Vec<Row>, Error> {
    let Some(dataset) = operation
        .dataset
        .as_ref()
        .filter(|path| path.as_os_str() != "-")
    else {
        return Err(Error::usage(
            format!(
                "`{}` was made without a dataset that is kept",
                run.root().display()
            ),
            "give the dataset that holds its instances and their tests with --dataset",
        ));
    };
    let mut part = options.selection.clone();
    part.split = part.split.or_else(|| operation.split.clone());
    part.subset = part.subset.or_else(|| operation.subset.clone());
    let journal = journal::read(run)?;
    let ledger = Ledger::fold(journal.lines.iter().map(|line| &line.event));
    let tried: HashSet<_> = ledger.samples().map(|(id, _, _)| id.clone()).collect();
    let source = Source::find(dataset, &part, printer).await?;
    let rows = source.all_of(|row| tried.contains(&row.instance.id))?;
    if rows.is_empty() {
        return Err(Error::usage(
            format!("`{}` holds none of the run's instances", dataset.display()),
            "give the dataset that the run was made from with --dataset",
        ));
    }
    Ok(source::selection(&options.selection)?.apply(rows)?)
}

fn finish(
    settings: &RunSettings,
    selection: Selection,
    quarantine: Option<Quarantine>,
    started: Instant,
) -> Finish {
    Finish {
        run: RunDirectory::new(&settings.run_directory),
        selection,
        selected: None,
        graded: true,
        quarantine,
        started,
    }
}
