//! `runner grade`.

mod predictions;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use dataset::{LoadOptions, Row};

use super::arguments::{Grade, Once};
use super::error::Error;
use super::resolve::{self, Solver};
use super::run::{self, Finish};
use crate::batch::Batch;
use crate::clock;
use crate::exit::Exit;
use crate::layers::{Options, Resolved, Table};
use crate::settings::{Operation, ResumeMode, RunSettings};
use crate::signals::Signals;
use crate::store::ledger::Ledger;
use crate::store::{RunDirectory, RunFile, journal};
use crate::ui::{self, Printer};

/// Runs the command.
pub(super) fn grade(command: &Grade, negated: Table, printer: &Printer) -> Result<Exit, Error> {
    let started = Instant::now();
    let flags = Options {
        selection: command.selection.clone(),
        sandbox: command.sandbox.clone(),
        grading: command.grading.clone(),
        gates: command.gates.clone(),
        ..Options::default()
    };
    let flags = resolve::flags(&flags, negated)?;
    let resolved = super::load(&command.config, flags, printer)?;
    let options = resolved.options()?;
    let work = async {
        if command.target.is_dir() {
            grade_run(command, &resolved, &options, started, printer).await
        } else {
            grade_predictions(command, &resolved, &options, started, printer).await
        }
    };
    super::runtime()?.block_on(work)
}

/// Grades patches of a run in its directory. What changes outcomes is the run's own; flags may say how the grading is done.
async fn grade_run(
    command: &Grade,
    resolved: &Resolved,
    options: &Options,
    started: Instant,
    printer: &Printer,
) -> Result<Exit, Error> {
    let run = RunDirectory::new(&command.target);
    let Some(file) = run.read_run_file()? else {
        return Err(crate::error::Error::NoRun(command.target.clone()).into());
    };
    let named = resolve::settle(resolved, options, &Once::default(), Solver::Named(""))?;
    let operation = operation(&file, named.operation, options);
    check_environment(&file, options)?;
    let rows = rows_of_run(&run, &operation, options)?;
    let settings = RunSettings {
        run_directory: command.target.clone(),
        identity: file.identity,
        operation,
        secrets: named.secrets,
    };
    let finish = finish(&settings, &rows, started);
    let signals = Signals::listen().map_err(|source| Error::Runtime { source })?;
    ui::log(printer, &run.root().join("runner.log"));
    let batch = Batch::open_grading(settings, rows, command.only.into()).await?;
    run::work_through(batch, &finish, signals, printer)
        .await
        .map(|(exit, _)| exit)
}

/// The run's own way to work, with what this command line says about grading.
fn operation(file: &RunFile, given: Operation, options: &Options) -> Operation {
    let dataset = options.selection.dataset.clone();
    Operation {
        dataset_directory: match &dataset {
            Some(path) => resolve::directory_of(Some(path)),
            None => file.operation.dataset_directory.clone(),
        },
        dataset: dataset.or_else(|| file.operation.dataset.clone()),
        repositories: given
            .repositories
            .or_else(|| file.operation.repositories.clone()),
        scratch: given.scratch.or_else(|| file.operation.scratch.clone()),
        grade_workers: given.grade_workers,
        grade_timeout: given.grade_timeout,
        max_infra_failures: given.max_infra_failures,
        max_empty_patches: given.max_empty_patches,
        fail_under: given.fail_under,
        best_effort_limits: given.best_effort_limits,
        ..file.operation.clone()
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
fn rows_of_run(
    run: &RunDirectory,
    operation: &Operation,
    options: &Options,
) -> Result<Vec<Row>, Error> {
    let Some(dataset) = &operation.dataset else {
        return Err(Error::usage(
            format!("`{}` was made without a dataset", run.root().display()),
            "give the dataset that holds its instances and their tests with --dataset",
        ));
    };
    let load = LoadOptions {
        split: options.selection.split.clone(),
        ..LoadOptions::default()
    };
    let mut rows = dataset::load(dataset, &load)?.rows;
    let journal = journal::read(run)?;
    let ledger = Ledger::fold(journal.lines.iter().map(|line| &line.event));
    let tried: HashSet<_> = ledger.samples().map(|(id, _, _)| id.clone()).collect();
    rows.retain(|row| tried.contains(&row.instance.id));
    if rows.is_empty() {
        return Err(Error::usage(
            format!("`{}` holds none of the run's instances", dataset.display()),
            "give the dataset that the run was made from with --dataset",
        ));
    }
    Ok(resolve::selection(&options.selection)?.apply(rows)?)
}

/// Makes a run of a predictions file and grades it. Given again, it goes on with that run.
async fn grade_predictions(
    command: &Grade,
    resolved: &Resolved,
    options: &Options,
    started: Instant,
    printer: &Printer,
) -> Result<Exit, Error> {
    let predictions = predictions::read(&command.target)?;
    let model = predictions::model(&command.target, &predictions)?;
    let Some(dataset) = &options.selection.dataset else {
        return Err(Error::usage(
            "grading predictions needs the dataset that they are for",
            "name it with --dataset",
        ));
    };
    let load = LoadOptions {
        split: options.selection.split.clone(),
        ..LoadOptions::default()
    };
    let wanted: HashSet<&str> = predictions
        .iter()
        .map(|prediction| prediction.instance_id.as_str())
        .collect();
    let mut rows = dataset::load(dataset, &load)?.rows;
    rows = resolve::selection(&options.selection)?.apply(rows)?;
    let selected: HashSet<String> = rows.iter().map(|row| row.instance.id.to_string()).collect();
    rows.retain(|row| wanted.contains(row.instance.id.as_str()));
    let narrowed = !resolve::selection(&options.selection)?.takes_all();
    let predictions: Vec<_> = predictions
        .iter()
        .filter(|prediction| !narrowed || selected.contains(prediction.instance_id.as_str()))
        .cloned()
        .collect();
    let run_directory = command
        .out
        .clone()
        .unwrap_or_else(|| default_out(&command.target));
    let run = RunDirectory::new(&run_directory);
    let settled = resolve::settle(resolved, options, &Once::default(), Solver::Named(&model))?;
    let mut settings = RunSettings {
        run_directory,
        identity: settled.identity,
        operation: settled.operation,
        secrets: settled.secrets,
    };
    if run.read_run_file()?.is_some() {
        settings.operation.resume = ResumeMode::Restart;
    }
    let finish = finish(&settings, &rows, started);
    let signals = Signals::listen().map_err(|source| Error::Runtime { source })?;
    ui::log(printer, &run.root().join("runner.log"));
    let batch = Batch::open_predictions(settings, rows, &predictions).await?;
    run::work_through(batch, &finish, signals, printer)
        .await
        .map(|(exit, _)| exit)
}

fn default_out(predictions: &Path) -> PathBuf {
    run::default_directory(clock::now(), Some(predictions))
}

fn finish(settings: &RunSettings, rows: &[Row], started: Instant) -> Finish {
    Finish {
        run: RunDirectory::new(&settings.run_directory),
        repositories: run::repositories(rows),
        selected: None,
        graded: true,
        started,
    }
}
