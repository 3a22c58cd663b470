//! `runner validate`.

use std::time::Instant;

use schema::validation::Validation;

use super::arguments::{Once, Validate};
use super::error::Error;
use super::resolve::{self, Solver};
use super::run::{self, Directory};
use super::source::Source;
use crate::batch::Batch;
use crate::clock;
use crate::dispatcher::RunEnd;
use crate::exit::Exit;
use crate::layers::{Options, Resolved, Table};
use crate::settings::{Operation, ProfileChoice, ResumeMode, Trials};
use crate::signals::Signals;
use crate::store::{RunDirectory, RunFile};
use crate::ui::{self, Printer};
use crate::{quarantine, report, validation};

/// Whose the patches are: the dataset's own.
const MODEL: &str = "gold";

/// Runs the command.
pub(super) fn validate(
    command: &Validate,
    negated: Table,
    printer: &Printer,
) -> Result<Exit, Error> {
    let started = Instant::now();
    let mut selection = command.selection.clone();
    selection.dataset = selection.dataset.or_else(|| command.target.clone());
    let flags = Options {
        selection,
        sandbox: command.sandbox.clone(),
        keeping: command.keeping.clone(),
        grading: command.grading.clone(),
        ..Options::default()
    };
    let flags = resolve::flags(&flags, negated)?;
    let resolved = super::load(&command.config, flags, printer)?;
    let options = resolved.options()?;
    let work = work(command, &resolved, &options, started, printer);
    super::block_on(work)
}

async fn work(
    command: &Validate,
    resolved: &Resolved,
    options: &Options,
    started: Instant,
    printer: &Printer,
) -> Result<Exit, Error> {
    let Some(dataset) = &options.selection.dataset else {
        return Err(Error::usage("nothing to validate", "name a dataset"));
    };
    let source = Source::find(dataset, &options.selection, printer).await?;
    let rows = source.rows()?;
    let directory = match &command.out {
        Some(out) => Directory::given(out.clone()),
        None => Directory::made(clock::now(), Some(dataset)),
    };
    let run = RunDirectory::new(directory.path());
    let settled = resolve::settle(resolved, options, &Once::default(), Solver::Named(MODEL))?;
    let mut settings = settled.at(directory.path().to_owned());
    source.record(&mut settings.operation);
    let before = run.read_run_file()?;
    settings.operation = operation(command, settings.operation, before.as_ref())?;
    let selection = run::selection(&settings, &rows);
    let signals = Signals::listen().map_err(|source| Error::Runtime { source })?;
    ui::log(printer, &run.root().join("runner.log"));
    let batch = Batch::open_validation(settings, rows).await?;
    let end = run::work(batch, &run, selection, signals, printer).await?;
    run::note_kept(&end, printer);
    finish(command, &run, &end, started, printer)
}

/// What the run does, which is to try both patches: it has no gates of its own, and takes no verdict of another run.
fn operation(
    command: &Validate,
    given: Operation,
    before: Option<&RunFile>,
) -> Result<Operation, Error> {
    let times = resolve::at_least_one("times", command.times)?;
    // What was tried once more stays a part of the validation.
    let before = before.and_then(|file| file.operation.trials.as_ref());
    let times = times.max(before.map_or(0, |trials| trials.times));
    let mut profiles: Vec<ProfileChoice> = Vec::new();
    for profile in command.profiles.iter().copied().map(ProfileChoice::from) {
        if !profiles.contains(&profile) {
            profiles.push(profile);
        }
    }
    if profiles.is_empty() {
        profiles.push(given.grade_profile);
    }
    let resume = match before {
        Some(_) => ResumeMode::Restart,
        None => given.resume,
    };
    let trials = Trials { profiles, times };
    Ok(Operation {
        samples: trials.samples(),
        trials: Some(trials),
        grade_cache: false,
        max_empty_patches: None,
        fail_under: None,
        resume,
        ..given
    })
}

/// Writes what a run leaves, and says which instances can be relied on.
fn finish(
    command: &Validate,
    run: &RunDirectory,
    end: &RunEnd,
    started: Instant,
    printer: &Printer,
) -> Result<Exit, Error> {
    let file = run.read_run_file()?;
    let file = file.ok_or_else(|| crate::error::Error::NoRun(run.root().to_owned()))?;
    let validation = validation::conclude(run, &file)?;
    let exit = Exit::of_code(end.exit_code).or(gate(&validation));
    let span = report::Span {
        selected: validation.instances.len(),
        elapsed: started.elapsed(),
        exit,
    };
    report::rebuild(run, &file, Some(span))?;
    let mut lines = vec![validation::text(&validation)];
    if let Some(path) = &command.quarantine {
        let found = quarantine::of(&validation);
        quarantine::write(path, &found)?;
        let count = ui::count(found.instances.len(), "instance");
        lines.push(format!("quarantine    {} ({count})", path.display()));
    }
    if printer.is_json() {
        printer.data(&serde_json::to_string_pretty(&validation).unwrap_or_default());
    } else {
        printer.data(&lines.join("\n"));
    }
    if matches!(exit, Exit::Aborted | Exit::Interrupted | Exit::Terminated) {
        let run = run.root().display();
        printer.note(&format!("hint: the same command with --out {run} goes on"));
    }
    Ok(exit)
}

/// Every instance has to be validated.
fn gate(validation: &Validation) -> Exit {
    if validation.instances.iter().all(|one| one.validated) {
        Exit::Success
    } else {
        Exit::Gate
    }
}
