//! Files derived from the ledger: predictions, and the patch and trajectory of the attempt that counts.

use std::fs;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use schema::{AttemptKey, InstanceId, Outcome, Prediction};

use super::ledger::{Ledger, Sample};
use super::{RunDirectory, atomic, trajectory};
use crate::error::{At, Error, chain};
use crate::settings::{PartialPatches, PatchKind};

/// Derived files are rewritten at most this often.
const INTERVAL: Duration = Duration::from_secs(1);

/// Rewriting may take at most this share of the time, however many instances there are.
const SHARE: u32 = 20;

/// Which predictions are written, and how.
#[derive(Debug, Clone)]
pub struct PredictionRules {
    /// `model_name_or_path`.
    pub model: String,
    /// Which patch becomes `model_patch`.
    pub patch: PatchKind,
    /// What becomes of failed and cancelled instances.
    pub partial: PartialPatches,
    /// Samples of the run.
    pub samples: u32,
}

impl PredictionRules {
    /// Whether an instance with this outcome gets a line: a failure of the infrastructure is never an empty patch.
    fn includes(&self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Completed | Outcome::Stopped { .. } => true,
            Outcome::Failed { .. } | Outcome::Cancelled => self.partial == PartialPatches::Include,
        }
    }
}

/// Says when derived files are due.
#[derive(Debug)]
pub struct Schedule {
    changed: bool,
    next: Instant,
}

impl Schedule {
    /// Nothing is due.
    pub fn new() -> Self {
        Self {
            changed: false,
            next: Instant::now(),
        }
    }

    /// Something changed.
    pub fn touch(&mut self) {
        self.changed = true;
    }

    /// When to write, `None` while nothing changed.
    pub fn due(&self) -> Option<Instant> {
        self.changed.then_some(self.next)
    }

    /// Writing took `spent`.
    pub fn wrote(&mut self, spent: Duration) {
        self.changed = false;
        self.next = Instant::now() + INTERVAL.max(spent * SHARE);
    }
}

impl Default for Schedule {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes the prediction files from the patches of the attempts that count, by instance id.
///
/// # Errors
/// When a patch cannot be read or a file cannot be written.
pub fn write_predictions(
    run: &RunDirectory,
    ledger: &Ledger,
    rules: &PredictionRules,
) -> Result<(), Error> {
    for number in 1..=rules.samples.max(1) {
        let path = run.predictions(number);
        atomic::replace(&path, |file| {
            each_prediction(run, ledger, rules, number, |prediction| {
                serde_json::to_writer(&mut *file, prediction)?;
                file.write_all(b"\n")
            })
        })
        .at("write", &path)?;
    }
    let path = run.preds();
    atomic::replace(&path, |file| {
        let mut separator: &[u8] = b"{\n";
        each_prediction(run, ledger, rules, 1, |prediction| {
            file.write_all(separator)?;
            separator = b",\n";
            serde_json::to_writer(&mut *file, &prediction.instance_id)?;
            file.write_all(b": ")?;
            serde_json::to_writer(&mut *file, prediction)?;
            Ok(())
        })?;
        let end: &[u8] = if separator == b",\n" {
            b"\n}\n"
        } else {
            b"{}\n"
        };
        file.write_all(end)
    })
    .at("write", &path)
}

fn each_prediction(
    run: &RunDirectory,
    ledger: &Ledger,
    rules: &PredictionRules,
    number: u32,
    mut take: impl FnMut(&Prediction) -> io::Result<()>,
) -> io::Result<()> {
    let samples = ledger
        .samples()
        .filter(|(_, sample_number, _)| *sample_number == number);
    for (id, _, sample) in samples {
        if let Some(prediction) = prediction(run, id, number, sample, rules)? {
            take(&prediction)?;
        }
    }
    Ok(())
}

fn prediction(
    run: &RunDirectory,
    id: &InstanceId,
    number: u32,
    sample: &Sample,
    rules: &PredictionRules,
) -> io::Result<Option<Prediction>> {
    let Some((attempt, _, end)) = sample.counting() else {
        return Ok(None);
    };
    if !rules.includes(&end.outcome) {
        return Ok(None);
    }
    let directory = run.attempt(&AttemptKey {
        instance_id: id.clone(),
        sample: number,
        attempt,
    });
    let path = match rules.patch {
        PatchKind::Model => directory.model_patch(),
        PatchKind::Full => directory.full_patch(),
    };
    let patch = match fs::read(&path) {
        Ok(patch) => patch,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    Ok(Some(Prediction {
        instance_id: id.clone(),
        model_name_or_path: rules.model.clone(),
        model_patch: match String::from_utf8(patch) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        },
    }))
}

/// Puts the patch and the trajectory of one attempt where those of the attempt that counts lie. They are copies of synced files and are not synced
/// themselves: [`publish_again`] makes up for a runner that had no end.
///
/// # Errors
/// When a file cannot be read or written.
pub fn publish(run: &RunDirectory, key: &AttemptKey, kind: PatchKind) -> Result<(), Error> {
    let attempt = run.attempt(key);
    let source = match kind {
        PatchKind::Model => attempt.model_patch(),
        PatchKind::Full => attempt.full_patch(),
    };
    if source.exists() {
        let target = run.patch(&key.instance_id, key.sample);
        let mut patch = fs::File::open(&source).at("read", &source)?;
        atomic::replace_derived(&target, |file| io::copy(&mut patch, file).map(drop))
            .at("write", &target)?;
    }
    let log = attempt.trajectory();
    if log.exists() {
        let target = run.trajectory(&key.instance_id, key.sample);
        trajectory::write_document(&log, &target).at("write", &target)?;
    }
    Ok(())
}

/// Makes what was published for these samples survive a power cut. Most of it is on disk by then.
///
/// # Errors
/// When a file cannot be synced.
pub fn settle<'a>(
    run: &RunDirectory,
    samples: impl IntoIterator<Item = &'a (InstanceId, u32)>,
) -> Result<(), Error> {
    for (id, number) in samples {
        for path in [run.patch(id, *number), run.trajectory(id, *number)] {
            match fs::File::open(&path).and_then(|file| file.sync_data()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error).at("sync", path);
                }
                Ok(()) | Err(_) => {}
            }
        }
    }
    Ok(())
}

/// Publishes every attempt that counts, as far as the ledger knows. What cannot be had of one is no reason to have nothing of the others.
pub fn publish_again(run: &RunDirectory, ledger: &Ledger, kind: PatchKind) {
    for (id, number, sample) in ledger.samples() {
        if let Some((attempt, _, _)) = sample.counting() {
            let key = AttemptKey {
                instance_id: id.clone(),
                sample: number,
                attempt,
            };
            if let Err(error) = publish(run, &key, kind) {
                tracing::warn!(%key, error = chain(&error), "an attempt was not published again");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use schema::journal::{PatchSummary, Seconds};
    use schema::{FailureKind, RunEvent, Usage};

    use super::*;

    fn ended(id: &str, sample: u32, outcome: Outcome) -> RunEvent {
        RunEvent::AttemptFinished {
            key: AttemptKey {
                instance_id: InstanceId::new(id),
                sample,
                attempt: 1,
            },
            outcome,
            steps: 1,
            usage: Usage::default(),
            seconds: Seconds::default(),
            patch: PatchSummary::default(),
            network: None,
        }
    }

    fn rules(partial: PartialPatches) -> PredictionRules {
        PredictionRules {
            model: "openai:m".into(),
            patch: PatchKind::Model,
            partial,
            samples: 2,
        }
    }

    fn run_with_patches() -> (tempfile::TempDir, RunDirectory, Ledger) {
        let root = tempfile::tempdir().unwrap();
        let run = RunDirectory::new(root.path());
        run.lay_out().unwrap();
        let failed = Outcome::Failed {
            reason: FailureKind::EnvironmentLost,
            message: "gone".into(),
        };
        let events = [
            ended("b", 1, Outcome::Completed),
            ended("a", 1, Outcome::Completed),
            ended("f", 1, failed),
            ended("a", 2, Outcome::Completed),
        ];
        for (id, sample) in [("a", 1), ("b", 1), ("f", 1), ("a", 2)] {
            let attempt = run.attempt(&AttemptKey {
                instance_id: InstanceId::new(id),
                sample,
                attempt: 1,
            });
            fs::create_dir_all(attempt.root()).unwrap();
            fs::write(attempt.model_patch(), format!("patch {id} {sample}\n")).unwrap();
        }
        (root, run, Ledger::fold(&events))
    }

    #[test]
    fn predictions_come_in_three_shapes_and_leave_failures_out() {
        let (_root, run, ledger) = run_with_patches();
        write_predictions(&run, &ledger, &rules(PartialPatches::Exclude)).unwrap();
        let lines = fs::read_to_string(run.predictions(1)).unwrap();
        let ids: Vec<_> = lines
            .lines()
            .map(|line| serde_json::from_str::<Prediction>(line).unwrap())
            .map(|prediction| (prediction.instance_id.to_string(), prediction.model_patch))
            .collect();
        assert_eq!(
            ids,
            [
                ("a".to_owned(), "patch a 1\n".to_owned()),
                ("b".to_owned(), "patch b 1\n".to_owned())
            ]
        );
        let preds: serde_json::Value =
            serde_json::from_slice(&fs::read(run.preds()).unwrap()).unwrap();
        assert_eq!(preds["b"]["model_patch"], "patch b 1\n");
        assert_eq!(preds["b"]["model_name_or_path"], "openai:m");
        assert_eq!(preds.as_object().unwrap().len(), 2);
        let second = fs::read_to_string(run.predictions(2)).unwrap();
        assert_eq!(second.lines().count(), 1);
    }

    #[test]
    fn partial_patches_are_added_when_asked() {
        let (_root, run, ledger) = run_with_patches();
        write_predictions(&run, &ledger, &rules(PartialPatches::Include)).unwrap();
        let lines = fs::read_to_string(run.predictions(1)).unwrap();
        assert_eq!(lines.lines().count(), 3);
    }

    #[test]
    fn a_run_without_predictions_has_valid_files() {
        let root = tempfile::tempdir().unwrap();
        let run = RunDirectory::new(root.path());
        write_predictions(&run, &Ledger::default(), &rules(PartialPatches::Exclude)).unwrap();
        assert_eq!(fs::read_to_string(run.preds()).unwrap(), "{}\n");
        assert_eq!(fs::read_to_string(run.predictions(1)).unwrap(), "");
    }
}
