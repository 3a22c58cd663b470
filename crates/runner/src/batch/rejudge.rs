//! Verdicts given again on the logs that a run's gradings left: no sandbox, no model, no engine.

use dataset::Row;
use schema::RunEvent;
use schema::grading::GradingSpec;

use super::gradings::selected_of;
use super::{before, plan_rows, policy, refuse_living, take};
use crate::attempt::failure::Failure;
use crate::clock;
use crate::dispatcher::{self, Store};
use crate::error::{At, Error};
use crate::exit::Exit;
use crate::grading::Saved;
use crate::plan::{self, GradeJob, GradeSelection};
use crate::rules;
use crate::settings::{ResumeMode, RunSettings};
use crate::store::RunDirectory;
use crate::store::derived;
use crate::store::ledger::{Attempt, Grading, Sample};

/// What came of it.
#[derive(Debug, Clone, Copy)]
pub struct Rejudged {
    /// Logs that were judged.
    pub judged: usize,
    /// Patches that were given another verdict than before.
    pub changed: usize,
    /// Patches without a log: empty ones, such as do not apply, failed gradings, verdicts taken from another run.
    pub without_log: usize,
    /// How the command ends.
    pub exit: Exit,
}

/// Judges the logs of the newest finished gradings of the run in `settings.run_directory` again, by the rules of now. Each becomes a grading of its own;
/// earlier ones stay.
///
/// # Errors
/// When there is no such run, it is in use, a row changed, or a file cannot be read or written.
pub fn rejudge(mut settings: RunSettings, rows: &[Row]) -> Result<Rejudged, Error> {
    settings.operation.grade = true;
    settings.operation.resume = ResumeMode::Restart;
    let run = RunDirectory::new(&settings.run_directory);
    before(&settings, &run)?;
    refuse_living(&run)?;
    let known = rules::read(settings.operation.repository_rules.as_deref())?;
    let mut store = take(&settings, &run)?;
    let plan_rows = plan_rows(rows);
    let jobs = plan::gradings(&store.ledger, &plan_rows, GradeSelection::All)?;
    let mut rejudged = Rejudged {
        judged: 0,
        changed: 0,
        without_log: 0,
        exit: Exit::Success,
    };
    emit(
        &mut store,
        &RunEvent::RunStarted {
            planned: 0,
            done: 0,
        },
    )?;
    for job in &jobs {
        let Some(row) = rows.get(job.row) else {
            continue;
        };
        // A row that cannot be graded was not, so that it has no log.
        let resolved = grade::resolve(&row.instance, &row.answer, &known);
        let spec = resolved.map(|resolved| GradingSpec {
            harness: settings.operation.harness,
            ..resolved.spec
        });
        match (spec, saved(&store, job)?) {
            (Ok(spec), Some(saved)) => {
                rejudged.changed += usize::from(judge(&mut store, job, &spec, &saved)?);
                rejudged.judged += 1;
            }
            (Ok(_) | Err(_), _) => rejudged.without_log += 1,
        }
    }
    let policy = policy(&settings);
    let selected = selected_of(&store.ledger, &plan_rows);
    let exit_code = dispatcher::end_code(&policy, &store.ledger, &selected);
    rejudged.exit = Exit::of_code(exit_code);
    emit(&mut store, &RunEvent::RunFinished { exit_code })?;
    derived::write_predictions(&store.run, &store.ledger, &policy.predictions)?;
    store.writer.finish()?;
    Ok(rejudged)
}

/// What the newest finished grading of a patch left.
fn saved(store: &Store, job: &GradeJob) -> Result<Option<Saved>, Error> {
    let Some(attempt) = attempt(store, job) else {
        return Ok(None);
    };
    let mut newest = attempt.gradings.iter().rev();
    let finished = newest.find(|(_, grading)| matches!(grading, Grading::Finished { .. }));
    let Some((number, _)) = finished else {
        return Ok(None);
    };
    let directory = store.run.attempt(&job.key).grading(*number);
    Saved::read(&directory, *number).map_err(|failure| failed(job, &failure))
}

fn attempt<'s>(store: &'s Store, job: &GradeJob) -> Option<&'s Attempt> {
    let sample: &Sample = store.ledger.sample(&job.key.instance_id, job.key.sample)?;
    sample.attempts.get(&job.key.attempt)
}

/// Writes a verdict down, and says whether it is another one than before.
fn judge(
    store: &mut Store,
    job: &GradeJob,
    spec: &GradingSpec,
    saved: &Saved,
) -> Result<bool, Error> {
    let before = attempt(store, job).and_then(Attempt::grade);
    let before = before.map(|grade| (grade.bucket(), grade.official_resolved));
    let (key, grading) = (job.key.clone(), job.grading);
    emit(store, &RunEvent::GradeStarted { key, grading })?;
    let into = store.run.attempt(&job.key).grading(job.grading);
    let judged = saved.judge(&job.key.instance_id, spec, into);
    let (grade, seconds) = judged.map_err(|failure| failed(job, &failure))?;
    let after = (grade.bucket(), grade.official_resolved);
    emit(
        store,
        &RunEvent::GradeFinished {
            key: job.key.clone(),
            grading,
            grade,
            seconds,
        },
    )?;
    Ok(before != Some(after))
}

fn failed(job: &GradeJob, failure: &Failure) -> Error {
    Error::Settings {
        message: format!(
            "the log of {} cannot be judged: {}",
            job.key, failure.message
        ),
        hint: None,
        source: None,
    }
}

fn emit(store: &mut Store, event: &RunEvent) -> Result<(), Error> {
    store
        .journal
        .append(clock::now(), event)
        .at("write", store.writer.journal())?;
    store.ledger.apply(event);
    Ok(())
}
