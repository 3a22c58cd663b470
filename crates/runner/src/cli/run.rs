//! `runner run`.

mod describe;
mod directory;
mod finish;
mod text;

pub(super) use directory::Directory;
pub(super) use finish::{Finish, note_kept};
pub(super) use text::show;

use std::time::Instant;

use dataset::Row;
use futures_util::future::join;
use schema::InstanceId;
use schema::quarantine::Quarantine;

use super::arguments::{Once, Run};
use super::error::Error;
use super::quarantine as named;
use super::resolve::{self, Solver};
use super::source::Source;
use crate::batch::{Batch, image_of};
use crate::clock;
use crate::dispatcher::{Audience, RunEnd};
use crate::exit::Exit;
use crate::layers::{Options, Origin, Resolved, Table};
use crate::one_off;
use crate::quarantine;
use crate::report::{self, LiveResults};
use crate::settings::{RunSettings, SandboxChoice};
use crate::signals::Signals;
use crate::store::RunDirectory;
use crate::store::selection::{self, Selected, Selection};
use crate::ui::{self, Printer};

/// What is to be run.
struct Work {
    settings: RunSettings,
    rows: Vec<Row>,
    quarantine: Option<Quarantine>,
    started: Instant,
}

/// What is worked on.
enum Subject {
    /// The issue of `--repo` and `--task`.
    Issue(Box<Row>),
    /// A dataset.
    Dataset(Box<Source>),
}

/// Runs the command.
pub(super) fn run(command: &Run, negated: Table, printer: &Printer) -> Result<Exit, Error> {
    let started = Instant::now();
    let flags = resolve::flags(&command.options, negated)?;
    let resolved = super::load(&command.config, flags, printer)?;
    if command.print_config {
        printer.data(&crate::layers::show(&resolved, printer.is_json())?);
        return Ok(Exit::Success);
    }
    let options = resolved.options()?;
    let subject = subject(&options, &command.once, printer)?;
    // A dry run looks at rows one by one; a run holds them, those that nobody grades without what graders need. Either way a dataset that is wrong is told before anything else that is.
    let rows = match &subject {
        Subject::Issue(row) => Some(vec![(**row).clone()]),
        Subject::Dataset(_) if command.once.dry_run => None,
        Subject::Dataset(source) if options.patches.grade == Some(true) => Some(source.rows()?),
        Subject::Dataset(source) => Some(source.keep(Row::to_solve)?),
    };
    let settled = resolve::settle(&resolved, &options, &command.once, Solver::Asked)?;
    warn_about(&resolved, &options, printer);
    let directory = run_directory(&options, &command.once)?;
    let mut settings = settled.at(directory.path().to_owned());
    if let Subject::Dataset(source) = &subject {
        source.record(&mut settings.operation);
    }
    if command.once.dry_run {
        let sketch = describe::sketcher(&settings)?;
        let sketches = match (rows, &subject) {
            (Some(rows), _) => rows.into_iter().map(sketch).collect(),
            (None, Subject::Dataset(source)) => source.keep(sketch)?,
            (None, Subject::Issue(_)) => Vec::new(),
        };
        printer.data(&describe::describe(&settings, sketches, printer.is_json())?);
        return Ok(Exit::Success);
    }
    let work = Work {
        quarantine: quarantine_of(&subject, &options, printer)?,
        settings,
        rows: rows.unwrap_or_default(),
        started,
    };
    super::block_on(batch(work, &command.once, printer))
}

/// The dataset, or the issue of `--repo` and `--task`.
fn subject(options: &Options, once: &Once, printer: &Printer) -> Result<Subject, Error> {
    if let (Some(repository), Some(task)) = (&once.repo, &once.task) {
        if once.apply {
            one_off::check_work_tree(repository)?;
        }
        let statement = one_off::read_task(task)?;
        if one_off::has_changes(repository) {
            printer.warn(&format!(
                "`{}` has changes that are not committed: the agent sees its last commit",
                repository.display()
            ));
        }
        return Ok(Subject::Issue(Box::new(one_off::row(
            repository, statement,
        ))));
    }
    let Some(path) = &options.selection.dataset else {
        return Err(Error::usage(
            "nothing to work on",
            "give a --dataset, or one issue with --repo and --task",
        ));
    };
    let source = Source::find_now(path, &options.selection, printer)?;
    Ok(Subject::Dataset(Box::new(source)))
}

/// The quarantine file that was named, held against all of the dataset. That reads the dataset once more, only for its ids.
fn quarantine_of(
    subject: &Subject,
    options: &Options,
    printer: &Printer,
) -> Result<Option<Quarantine>, Error> {
    let path = options.scoring.quarantine.as_deref();
    let known = match subject {
        _ if path.is_none() => return Ok(None),
        Subject::Issue(row) => vec![row.instance.id.clone()],
        Subject::Dataset(source) => source.candidates()?.into_iter().map(|one| one.id).collect(),
    };
    named::of_dataset(path, &known, printer)
}

/// Where the run is kept.
fn run_directory(options: &Options, once: &Once) -> Result<Directory, Error> {
    if let Some(out) = &options.batch.out {
        if out.exists() && !out.is_dir() {
            return Err(Error::usage(
                format!("`{}` is not a directory", out.display()),
                "--out names the directory of a run",
            ));
        }
        return Ok(Directory::given(out.clone()));
    }
    if once.resume.is_some() {
        return Err(Error::usage(
            "--resume needs the run to go on with",
            "name its directory with --out",
        ));
    }
    let subject = once.repo.as_deref();
    let subject = subject.or(options.selection.dataset.as_deref());
    if once.dry_run {
        return Ok(Directory::given(directory::free(clock::now(), subject)));
    }
    Ok(Directory::made(clock::now(), subject))
}

/// What people should know before anything starts.
fn warn_about(resolved: &Resolved, options: &Options, printer: &Printer) {
    if let (Some(url), Some(Origin::ProjectFile(file))) =
        (&options.model.base_url, resolved.origin("base_url"))
    {
        printer.warn(&format!(
            "requests, and your key, go to {}, as {} says",
            model::shown(url),
            file.display()
        ));
    }
}

/// Runs the batch and says what came of it.
async fn batch(work: Work, once: &Once, printer: &Printer) -> Result<Exit, Error> {
    let Work {
        settings,
        rows,
        quarantine,
        started,
    } = work;
    let run = RunDirectory::new(&settings.run_directory);
    ui::log(printer, &run.root().join("runner.log"));
    let signals = Signals::listen().map_err(|source| Error::Runtime { source })?;
    let finish = Finish {
        run: run.clone(),
        selection: selection(&settings, &rows),
        selected: Some(rows.len() * usize::try_from(settings.operation.samples).unwrap_or(1)),
        graded: settings.operation.grade,
        quarantine,
        started,
    };
    let only = rows.first().map(|row| row.instance.id.clone());
    let batch = Batch::open(settings, rows).await?;
    let (exit, end) = work_through(batch, &finish, signals, printer).await?;
    if let (Some(repository), Some(id), true) = (&once.repo, only, once.apply) {
        finish.apply(&end, &id, repository, printer)?;
    }
    Ok(exit)
}

/// Runs a batch that was opened, shows its progress, and reports.
pub(super) async fn work_through(
    batch: Batch,
    finish: &Finish,
    signals: Signals,
    printer: &Printer,
) -> Result<(Exit, RunEnd), Error> {
    if let Some(found) = &finish.quarantine {
        quarantine::give(&finish.run, found)?;
    }
    let end = work(
        batch,
        &finish.run,
        finish.selection.clone(),
        signals,
        printer,
    )
    .await?;
    let exit = finish.report(&end, printer)?;
    Ok((exit, end))
}

/// Runs a batch that was opened, and shows its progress.
pub(super) async fn work(
    batch: Batch,
    run: &RunDirectory,
    selection: Selection,
    signals: Signals,
    printer: &Printer,
) -> Result<RunEnd, Error> {
    for warning in batch.warnings() {
        printer.warn(warning);
    }
    printer.note(&format!("run directory: {}", run.root().display()));
    let selection = selection::extend(run, selection)?;
    let results = LiveResults::start(
        run.clone(),
        batch.ledger().clone(),
        report::repositories(&selection),
    );
    let lines = ui::display::Lines::new(printer, batch.plan());
    let audience = Audience {
        sinks: vec![Box::new(lines), Box::new(results)],
        ..Audience::default()
    };
    let bars = ui::display::bars(printer.clone(), audience.live.subscribe());
    let pulls = batch.pulls();
    let work = join(batch.run(audience, signals), bars);
    let (end, ()) = ui::pulls::beside(printer, &pulls, work).await;
    end.map_err(Error::Broken)
}

/// What is known of the selected rows before anything is done.
pub(super) fn selection(settings: &RunSettings, rows: &[Row]) -> Selection {
    rows.iter().map(|row| selected(settings, row)).collect()
}

/// What is known of one selected row.
pub(super) fn selected(settings: &RunSettings, row: &Row) -> (InstanceId, Selected) {
    let image = match settings.identity.sandbox {
        SandboxChoice::Docker
        | SandboxChoice::Podman
        | SandboxChoice::Apptainer
        | SandboxChoice::Auto => image_of(settings, row).ok().flatten(),
        SandboxChoice::Local | SandboxChoice::Bubblewrap => None,
    };
    let selected = Selected {
        repo: row.instance.repo.clone(),
        image: image.map(|image| image.name),
    };
    (row.instance.id.clone(), selected)
}
