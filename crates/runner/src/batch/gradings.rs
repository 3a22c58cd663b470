//! Batches that only grade: patches of an existing run, or of a predictions file.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Write;
use std::sync::Arc;

use dataset::Row;
use schema::journal::{EmptyReason, PatchSummary, Seconds};
use schema::{AttemptKey, InstanceId, Outcome, Prediction, RunEvent, Usage};

use super::{
    Batch, Work, before, build, gradable_rows, images, plan_rows, policy, reap, refuse_living, take,
};
use crate::backends;
use crate::clock;
use crate::dispatcher::Store;
use crate::error::{At, Error};
pub use crate::plan::GradeSelection;
use crate::plan::{Plan, PlanRow, gradable, gradings};
use crate::settings::{ResumeMode, RunSettings};
use crate::store::{RunDirectory, atomic};

impl Batch {
    /// Takes up the run in `settings.run_directory` to grade its patches, nothing else. `settings.identity` is the run's own.
    ///
    /// # Errors
    /// When there is no such run, it is in use, a row changed, or this machine cannot grade.
    pub async fn open_grading(
        mut settings: RunSettings,
        rows: Vec<Row>,
        only: GradeSelection,
    ) -> Result<Self, Error> {
        settings.operation.resume = ResumeMode::Restart;
        Self::open_to_grade(settings, rows, only, &[]).await
    }

    /// Makes a run of the predictions, as if attempts had just left them, and grades them. Taken up again, it adds those that it lacks.
    ///
    /// # Errors
    /// As [`Batch::open`]; and when a prediction is for an instance that is not among the rows, or two are for the same.
    pub async fn open_predictions(
        settings: RunSettings,
        rows: Vec<Row>,
        predictions: &[Prediction],
    ) -> Result<Self, Error> {
        check_predictions(predictions, &rows)?;
        Self::open_to_grade(settings, rows, GradeSelection::Unscored, predictions).await
    }

    async fn open_to_grade(
        mut settings: RunSettings,
        rows: Vec<Row>,
        only: GradeSelection,
        predictions: &[Prediction],
    ) -> Result<Self, Error> {
        settings.operation.grade = true;
        let run = RunDirectory::new(&settings.run_directory);
        before(&settings, &run)?;
        refuse_living(&run)?;
        let can_be = gradable_rows(&settings, &rows)?;
        let backends = backends::select(&settings, &images(&settings, &rows)?).await?;
        let mut warnings: Vec<String> = backends.warnings().map(str::to_owned).collect();
        warnings.extend(can_be.warning);
        let plan_rows = plan_rows(&rows);
        let context = build::context(&settings, rows, &run, backends, None, 0.0)?;
        let mut store = take(&settings, &run)?;
        for prediction in predictions {
            import(&mut store, &plan_rows, prediction)?;
        }
        let mut jobs = gradings(&store.ledger, &plan_rows, only)?;
        jobs.retain(|job| can_be.rows.get(job.row).copied().unwrap_or(false));
        reap(&context).await;
        let known: HashSet<&InstanceId> = plan_rows.iter().map(|row| &row.id).collect();
        let selected = store
            .ledger
            .samples()
            .filter(|(id, _, sample)| {
                let graded = sample
                    .counting()
                    .is_some_and(|(_, _, end)| gradable(&end.outcome));
                graded && known.contains(id)
            })
            .map(|(id, sample, _)| (id.clone(), sample))
            .collect();
        Ok(Self {
            policy: policy(&settings, can_be.rows),
            plan: Plan {
                gradings: jobs,
                ..Plan::default()
            },
            store,
            selected,
            work: Arc::new(Work { context }),
            warnings,
        })
    }
}

fn check_predictions(predictions: &[Prediction], rows: &[Row]) -> Result<(), Error> {
    let known: HashSet<&InstanceId> = rows.iter().map(|row| &row.instance.id).collect();
    let mut seen = HashMap::new();
    for (index, prediction) in predictions.iter().enumerate() {
        let id = &prediction.instance_id;
        if !known.contains(id) {
            return Err(Error::Settings {
                message: format!(
                    "prediction {} is for `{id}`, which is not in the dataset",
                    index + 1
                ),
                hint: Some("give the dataset that the predictions were made from".to_owned()),
                source: None,
            });
        }
        if let Some(first) = seen.insert(id, index + 1) {
            return Err(Error::Settings {
                message: format!("predictions {first} and {} are both for `{id}`", index + 1),
                hint: Some("grade one file for each sample".to_owned()),
                source: None,
            });
        }
    }
    Ok(())
}

/// Writes a prediction down as an attempt that ended, unless that was done before.
fn import(store: &mut Store, rows: &[PlanRow], prediction: &Prediction) -> Result<(), Error> {
    let id = &prediction.instance_id;
    if store
        .ledger
        .sample(id, 1)
        .is_some_and(|sample| sample.counting().is_some())
    {
        return Ok(());
    }
    let attempt = store
        .ledger
        .sample(id, 1)
        .map_or(1, crate::store::ledger::Sample::next_attempt);
    let key = AttemptKey {
        instance_id: id.clone(),
        sample: 1,
        attempt,
    };
    let directory = store.run.attempt(&key);
    fs::create_dir_all(directory.root()).at("create", directory.root())?;
    let patch = prediction.model_patch.as_bytes();
    for path in [
        directory.full_patch(),
        directory.model_patch(),
        store.run.patch(id, 1),
    ] {
        atomic::replace(&path, |file| file.write_all(patch)).at("write", &path)?;
    }
    let row_sha256 = rows
        .iter()
        .find(|row| row.id == *id)
        .map(|row| row.sha256.clone())
        .unwrap_or_default();
    let files = patch::parse(patch).map_or(0, |patch| patch.files.len());
    let events = [
        RunEvent::AttemptStarted {
            key: key.clone(),
            row_sha256,
        },
        RunEvent::AttemptFinished {
            key,
            outcome: Outcome::Completed,
            steps: 0,
            usage: Usage::default(),
            seconds: Seconds::default(),
            patch: PatchSummary {
                bytes: patch.len() as u64,
                files,
                full_bytes: patch.len() as u64,
                runner_config: Vec::new(),
                empty_reason: patch.is_empty().then_some(EmptyReason::NeverEdited),
                on_base: None,
            },
            network: None,
        },
    ];
    for event in &events {
        store
            .journal
            .append(clock::now(), event)
            .at("write", store.writer.journal())?;
        store.ledger.apply(event);
    }
    Ok(())
}
