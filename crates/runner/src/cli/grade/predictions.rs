//! `runner grade PREDICTIONS`.

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use dataset::{Row, Selection};
use schema::{InstanceId, Prediction};

use crate::batch::Batch;
use crate::cli::arguments::{Grade, Once};
use crate::cli::error::Error;
use crate::cli::quarantine;
use crate::cli::resolve::{self, Solver};
use crate::cli::run::{self, Directory};
use crate::cli::source::Source;
use crate::clock;
use crate::exit::Exit;
use crate::layers::{Options, Resolved};
use crate::predictions::{self, Findings, Given, Shape, Submission};
use crate::settings::{ResumeMode, RunSettings};
use crate::signals::Signals;
use crate::store::RunDirectory;
use crate::store::selection::Selection as RunSelection;
use crate::ui::{self, Printer};

/// Stands for the known patches of the dataset, and for the model of theirs.
const GOLD: &str = "gold";

/// Makes a run of predictions and grades it. Given again, it goes on with that run.
pub(super) async fn grade(
    command: &Grade,
    target: &Path,
    resolved: &Resolved,
    options: &Options,
    started: Instant,
    printer: &Printer,
) -> Result<Exit, Error> {
    let Some(dataset) = &options.selection.dataset else {
        return Err(Error::usage(
            "grading predictions needs the dataset that they are for",
            "name it with --dataset",
        ));
    };
    let source = Source::find(dataset, &options.selection, printer).await?;
    let all = source.candidates()?;
    let given = given(target, &source)?;
    let model = predictions::model(target, &given.predictions)?;
    let chosen = source.selection().choose(&all)?;
    let known: Vec<InstanceId> = all.into_iter().map(|one| one.id).collect();
    let selected: Vec<InstanceId> = chosen
        .iter()
        .filter_map(|index| known.get(*index).cloned())
        .collect();
    let (predictions, findings) = narrowed(
        command,
        &model,
        source.selection(),
        given.predictions,
        &known,
        &selected,
    )?;
    for (finding, ids) in &findings {
        printer.warn(&finding.line(ids, selected.len()));
    }
    let directory = match &command.out {
        Some(out) => Directory::given(out.clone()),
        None => Directory::made(clock::now(), Some(target)),
    };
    let run = RunDirectory::new(directory.path());
    let settled = resolve::settle(resolved, options, &Once::default(), Solver::Named(&model))?;
    let mut settings = settled.at(directory.path().to_owned());
    source.record(&mut settings.operation);
    if run.read_run_file()?.is_some() {
        settings.operation.resume = ResumeMode::Restart;
    }
    let (selection, rows) = rows(&source, &settings, &predictions)?;
    let path = options.scoring.quarantine.as_deref();
    let found = quarantine::of_dataset(path, &known, printer)?;
    let finish = super::finish(&settings, selection, found, started);
    let signals = Signals::listen().map_err(|source| Error::Runtime { source })?;
    ui::log(printer, &run.root().join("runner.log"));
    let batch = Batch::open_predictions(settings, rows, &predictions).await?;
    run::work_through(batch, &finish, signals, printer)
        .await
        .map(|(exit, _)| exit)
}

/// The predictions of a file, or the known patches of the selected rows.
fn given(target: &Path, source: &Source) -> Result<Submission, Error> {
    if target.as_os_str() != GOLD || target.exists() {
        return Ok(predictions::read(target)?);
    }
    let known = source.keep(|row| Given {
        model: Some(GOLD.to_owned()),
        place: row.at.to_string(),
        patch: grade::known_fix(&row.answer),
        id: row.instance.id,
    });
    Ok(Submission {
        shape: Shape::Gold,
        predictions: known?,
    })
}

/// What is known of every selected row, and the rows that there are predictions for: no others are held.
fn rows(
    source: &Source,
    settings: &RunSettings,
    predictions: &[Prediction],
) -> Result<(RunSelection, Vec<Row>), Error> {
    let wanted: HashSet<&InstanceId> = predictions.iter().map(|one| &one.instance_id).collect();
    let kept = source.keep(|row| {
        let selected = run::selected(settings, &row);
        let is_wanted = wanted.contains(&row.instance.id);
        (selected, is_wanted.then_some(row))
    })?;
    let (selection, rows): (RunSelection, Vec<Option<Row>>) = kept.into_iter().unzip();
    Ok((selection, rows.into_iter().flatten().collect()))
}

/// What of the predictions is for the selected rows: all of them, where all rows are.
fn narrowed(
    command: &Grade,
    model: &str,
    selection: &Selection,
    given: Vec<Given>,
    known: &[InstanceId],
    selected: &[InstanceId],
) -> Result<(Vec<Prediction>, Findings), Error> {
    if selection.takes_all() {
        predictions::check_known(&given, known)?;
    }
    let chosen: HashSet<&InstanceId> = selected.iter().collect();
    let given: Vec<Given> = given
        .into_iter()
        .filter(|one| chosen.contains(&one.id))
        .collect();
    Ok(predictions::matched(
        &given,
        selected,
        model,
        command.duplicates.into(),
    )?)
}
