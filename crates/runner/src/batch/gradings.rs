//! Batches that only grade: patches of an existing run, or of a predictions file.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Write};
use std::sync::Arc;

use dataset::Row;
use schema::journal::{EmptyReason, PatchSummary, Seconds};
use schema::{AttemptKey, InstanceId, Outcome, Prediction, RunEvent, Usage};

use super::{
    Batch, Work, before, build, needs, plan_rows, policy, reap, refuse_living, take, trials,
    ungradable_rows,
};
use crate::backends;
use crate::clock;
use crate::dispatcher::{Selected, Store};
use crate::error::{At, Error};
pub use crate::plan::GradeSelection;
use crate::plan::{Plan, PlanRow, gradable, gradings};
use crate::settings::{PatchKind, ResumeMode, RunSettings};
use crate::store::ledger::{Ledger, Sample};
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

    /// Makes a run of what `settings.operation.trials` says for every row, or takes it up again, and grades it.
    ///
    /// # Errors
    /// As [`Batch::open`]; and when the run tries something else.
    pub async fn open_validation(settings: RunSettings, rows: Vec<Row>) -> Result<Self, Error> {
        let samples = trials::samples(&settings, &rows)?;
        Self::open_to_grade(settings, rows, GradeSelection::Unscored, &samples).await
    }

    /// Makes a run of the predictions, as if attempts had just left them, and grades them. Taken up again, it adds those that it lacks; a patch
    /// other than the one that it has is a new attempt, so that the evidence on the earlier one stays.
    ///
    /// # Errors
    /// As [`Batch::open`]; and when a prediction is for an instance that is not among the rows, or two are for the same.
    pub async fn open_predictions(
        settings: RunSettings,
        rows: Vec<Row>,
        predictions: &[Prediction],
    ) -> Result<Self, Error> {
        check_predictions(predictions, &rows)?;
        let samples: Vec<GivenPatch> = predictions.iter().map(GivenPatch::of).collect();
        Self::open_to_grade(settings, rows, GradeSelection::Unscored, &samples).await
    }

    async fn open_to_grade(
        mut settings: RunSettings,
        rows: Vec<Row>,
        only: GradeSelection,
        patches: &[GivenPatch],
    ) -> Result<Self, Error> {
        settings.operation.grade = true;
        let run = RunDirectory::new(&settings.run_directory);
        before(&settings, &run)?;
        refuse_living(&run)?;
        let ungradable = ungradable_rows(&settings, &rows)?;
        let backends = backends::select(&settings, &needs(&settings, &rows)?).await?;
        let mut warnings: Vec<String> = backends.warnings().map(str::to_owned).collect();
        warnings.extend(ungradable);
        let plan_rows = plan_rows(&rows);
        let context = build::context(&settings, rows, &run, backends, None, 0.0)?;
        let mut store = take(&settings, &run)?;
        let changed = import_all(&mut store, &plan_rows, patches, settings.identity.patch)?;
        warnings.extend(changed_warning(&changed));
        let jobs = gradings(&store.ledger, &plan_rows, only)?;
        reap(&context).await;
        let selected = selected_of(&store.ledger, &plan_rows);
        Ok(Self {
            policy: policy(&settings),
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

/// The samples of these rows whose patches are graded.
pub(super) fn selected_of(ledger: &Ledger, rows: &[PlanRow]) -> Selected {
    let known: HashSet<&InstanceId> = rows.iter().map(|row| &row.id).collect();
    let gradable = ledger.samples().filter(|(id, _, sample)| {
        let graded = sample
            .counting()
            .is_some_and(|(_, _, end)| gradable(&end.outcome));
        graded && known.contains(id)
    });
    gradable
        .map(|(id, sample, _)| (id.clone(), sample))
        .collect()
}

/// A patch that nobody's agent made here.
pub(super) struct GivenPatch {
    pub(super) id: InstanceId,
    pub(super) sample: u32,
    pub(super) patch: String,
}

impl GivenPatch {
    fn of(prediction: &Prediction) -> Self {
        Self {
            id: prediction.instance_id.clone(),
            sample: 1,
            patch: prediction.model_patch.clone(),
        }
    }

    fn key(&self, attempt: u32) -> AttemptKey {
        AttemptKey {
            instance_id: self.id.clone(),
            sample: self.sample,
            attempt,
        }
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

/// Writes down each patch that the run does not have yet. What is told are the instances that it had another patch of.
fn import_all<'p>(
    store: &mut Store,
    rows: &[PlanRow],
    patches: &'p [GivenPatch],
    kind: PatchKind,
) -> Result<Vec<&'p InstanceId>, Error> {
    let digests: HashMap<&InstanceId, &str> = rows
        .iter()
        .map(|row| (&row.id, row.sha256.as_str()))
        .collect();
    let mut changed = Vec::new();
    for given in patches {
        let row_sha256 = digests.get(&given.id).copied().unwrap_or_default();
        match standing(store, given, kind)? {
            Standing::Same => continue,
            Standing::New => {}
            Standing::Changed => changed.push(&given.id),
        }
        import(store, row_sha256, given)?;
    }
    Ok(changed)
}

/// How a patch stands to what its run has.
enum Standing {
    /// The run has no patch of the instance.
    New,
    /// It has this one.
    Same,
    /// It has another one.
    Changed,
}

fn standing(store: &Store, given: &GivenPatch, kind: PatchKind) -> Result<Standing, Error> {
    let known = store.ledger.sample(&given.id, given.sample);
    let Some((attempt, _, _)) = known.and_then(Sample::counting) else {
        return Ok(Standing::New);
    };
    let directory = store.run.attempt(&given.key(attempt));
    let path = match kind {
        PatchKind::Model => directory.model_patch(),
        PatchKind::Full => directory.full_patch(),
    };
    let known = match fs::read(&path) {
        // An attempt that never got so far left no patch.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        read => read.at("read", &path)?,
    };
    Ok(if known == given.patch.as_bytes() {
        Standing::Same
    } else {
        Standing::Changed
    })
}

fn changed_warning(changed: &[&InstanceId]) -> Option<String> {
    let first = changed.first()?;
    let more = match changed.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "the run has had another patch of `{first}`{more}: graded anew; the earlier verdicts stay in its directory"
    ))
}

/// Writes a patch down as an attempt that ended, after those that there are.
fn import(store: &mut Store, row_sha256: &str, given: &GivenPatch) -> Result<(), Error> {
    let known = store.ledger.sample(&given.id, given.sample);
    let attempt = known.map_or(1, |sample| free_attempt(&store.run, given, sample));
    let key = given.key(attempt);
    let directory = store.run.attempt(&key);
    fs::create_dir_all(directory.root()).at("create", directory.root())?;
    let patch = given.patch.as_bytes();
    for path in [
        directory.full_patch(),
        directory.model_patch(),
        store.run.patch(&given.id, given.sample),
    ] {
        atomic::replace(&path, |file| file.write_all(patch)).at("write", &path)?;
    }
    let files = patch::parse(patch).map_or(0, |patch| patch.files.len());
    let events = [
        RunEvent::AttemptStarted {
            key: key.clone(),
            row_sha256: row_sha256.to_owned(),
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

/// The number for a patch. A runner that died while it wrote one down left it without an end: that one is written again.
fn free_attempt(run: &RunDirectory, given: &GivenPatch, sample: &Sample) -> u32 {
    let newest = sample.attempts.iter().next_back();
    let torn = newest.filter(|(number, attempt)| {
        // Where an agent was at it, there is a trajectory.
        attempt.end.is_none() && !run.attempt(&given.key(**number)).trajectory().exists()
    });
    torn.map_or_else(|| sample.next_attempt(), |(number, _)| *number)
}
