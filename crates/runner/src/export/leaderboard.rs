//! A submission in the layout of SWE-bench's repository of experiments: predictions, trajectories, the grader's logs, metadata.
//!
//! Files are copied by name, so nothing else of the run gets out: no settings, no journals, no addresses. What the runner had secret is not in
//! those files (it is taken out before they are written); variables that hold keys are looked for once more.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use schema::grading::Harness;
use schema::{AttemptKey, InstanceId, Outcome};
use serde_json::{Value, json};

use super::papers;
use crate::error::{At, Error};
use crate::recorder::Redactor;
use crate::settings::PatchKind;
use crate::store::ledger::{Attempt, Grading, Ledger};
use crate::store::selection;
use crate::store::{RunDirectory, RunFile, journal};

/// Files of a grading, by their names there and here. A log without one of the others is no evidence.
const LOGS: [&str; 2] = ["report.json", "test_output.txt"];

/// Ends of the names of variables that hold secrets.
const SECRET_NAMES: [&str; 5] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS"];

/// What was written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Exported {
    /// Lines of `all_preds.jsonl`.
    pub predictions: usize,
    /// Files in `trajs/`.
    pub trajectories: usize,
    /// Directories in `logs/`.
    pub logs: usize,
    /// Instances with a patch that nobody graded.
    pub ungraded: Vec<InstanceId>,
    /// Instances without a prediction.
    pub missing: usize,
    /// Graded instances whose tests were not run, so that there is no log.
    pub without_log: Vec<InstanceId>,
    /// Whether some instances had more than one sample; only the first is exported.
    pub samples: bool,
    /// Whether some instances had more than one attempt that the agent ended.
    pub several_attempts: bool,
}

impl Exported {
    /// What makes the submission less than whole, a line each.
    pub fn warnings(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let instances = |count| crate::ui::count(count, "instance");
        if self.missing > 0 {
            lines.push(format!("{} without a prediction", instances(self.missing)));
        }
        if !self.ungraded.is_empty() {
            let count = instances(self.ungraded.len());
            lines.push(format!(
                "{count} without a verdict, and so without logs: `runner grade` makes them"
            ));
        }
        if !self.without_log.is_empty() {
            let count = instances(self.without_log.len());
            lines.push(format!(
                "{count} whose tests were not run: there is no test_output.txt of them"
            ));
        }
        if self.samples {
            lines.push(
                "the run has several samples: the first of each instance is exported".to_owned(),
            );
        }
        if self.several_attempts {
            lines.push("some instances were solved more than once: this is not pass@1 unless the choice knew no verdict".to_owned());
        }
        lines
    }

    /// The same for programs.
    pub fn json(&self, out: &Path) -> Value {
        json!({
            "directory": out, "predictions": self.predictions, "trajectories": self.trajectories,
            "logs": self.logs, "missing": self.missing, "ungraded": self.ungraded,
            "without_log": self.without_log,
        })
    }
}

/// Writes the submission to `out`, which must not be there, or be empty.
///
/// # Errors
/// The directory holds something; the run has no predictions; a file cannot be read or written.
pub fn leaderboard(run: &RunDirectory, file: &RunFile, out: &Path) -> Result<Exported, Error> {
    let journal = journal::read(run)?;
    let ledger = Ledger::fold(journal.lines.iter().map(|line| &line.event));
    claim(out)?;
    let submission = Submission {
        run,
        out,
        kind: file.identity.patch,
        model: &file.identity.model,
        redactor: Redactor::new(secrets()),
    };
    let mut exported = Exported::default();
    let mut predictions = String::new();
    let mut resolved = Vec::new();
    for (id, sample, attempts) in ledger.samples() {
        let Some((number, attempt, end)) = attempts.counting() else {
            continue;
        };
        if sample != 1 {
            exported.samples = true;
            continue;
        }
        if !is_submitted(&end.outcome) {
            continue;
        }
        let settled = attempts
            .attempts
            .values()
            .filter_map(|one| one.end.as_ref());
        exported.several_attempts |= settled.filter(|end| is_submitted(&end.outcome)).count() > 1;
        let key = AttemptKey {
            instance_id: id.clone(),
            sample,
            attempt: number,
        };
        predictions.push_str(&submission.instance(&key, attempt, &mut exported)?);
        if attempt.grade().is_some_and(|grade| grade.official_resolved) {
            resolved.push(id.as_str().to_owned());
        }
    }
    let all = selection::read(run)?.len();
    exported.missing = all.saturating_sub(exported.predictions);
    submission.write("all_preds.jsonl", &predictions)?;
    let harness = match file.operation.harness {
        Harness::V4 => "4",
        Harness::V5 => "5",
    };
    let facts = papers::Facts {
        file,
        harness,
        exported: &exported,
        resolved: resolved.len(),
        all: all.max(exported.predictions),
    };
    submission.write("metadata.yaml", &papers::metadata(&facts))?;
    submission.write("README.md", &papers::readme(&facts))?;
    Ok(exported)
}

/// Whether an attempt with this outcome is a prediction: a failure of the infrastructure is none.
fn is_submitted(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Completed | Outcome::Stopped { .. } => true,
        Outcome::Failed { reason, .. } => reason.handling().counted,
        Outcome::Cancelled => false,
    }
}

/// Takes an empty directory.
fn claim(out: &Path) -> Result<(), Error> {
    fs::create_dir_all(out).at("create", out)?;
    if fs::read_dir(out).at("read", out)?.next().is_some() {
        return Err(Error::Settings {
            message: format!("`{}` is not empty: nothing is written over", out.display()),
            hint: Some("give a new directory with --out".to_owned()),
            source: None,
        });
    }
    for name in ["trajs", "logs"] {
        let path = out.join(name);
        fs::create_dir(&path).at("create", &path)?;
    }
    Ok(())
}

/// Values of variables that hold secrets, as their names say.
fn secrets() -> impl Iterator<Item = secrecy::SecretString> {
    let secret = |name: &str| SECRET_NAMES.iter().any(|end| name.ends_with(end));
    std::env::vars_os().filter_map(move |(name, value)| {
        secret(&name.to_string_lossy().to_ascii_uppercase())
            .then(|| value.to_string_lossy().into_owned().into())
    })
}

struct Submission<'a> {
    run: &'a RunDirectory,
    out: &'a Path,
    kind: PatchKind,
    model: &'a str,
    redactor: Redactor,
}

impl Submission<'_> {
    /// Writes what there is of one instance; its line of the predictions is returned.
    fn instance(
        &self,
        key: &AttemptKey,
        attempt: &Attempt,
        exported: &mut Exported,
    ) -> Result<String, Error> {
        let directory = self.run.attempt(key);
        let path = match self.kind {
            PatchKind::Model => directory.model_patch(),
            PatchKind::Full => directory.full_patch(),
        };
        let patch = self.read(&path)?.unwrap_or_default();
        exported.predictions += 1;
        let name = key.instance_id.file_name();
        if let Some(trajectory) = self.read(&self.run.trajectory(&key.instance_id, 1))? {
            self.write(&format!("trajs/{name}.json"), &trajectory)?;
            exported.trajectories += 1;
        }
        match grading(attempt) {
            Some(number) => {
                self.logs(
                    &directory.grading(number),
                    &key.instance_id,
                    &patch,
                    exported,
                )?;
            }
            None => exported.ungraded.push(key.instance_id.clone()),
        }
        let line = json!({
            "instance_id": key.instance_id, "model_name_or_path": self.model, "model_patch": patch,
        });
        Ok(format!("{line}\n"))
    }

    fn logs(
        &self,
        grading: &Path,
        id: &InstanceId,
        patch: &str,
        exported: &mut Exported,
    ) -> Result<(), Error> {
        let place = format!("logs/{}", id.file_name());
        let path = self.out.join(&place);
        fs::create_dir(&path).at("create", &path)?;
        self.write(&format!("{place}/patch.diff"), patch)?;
        for name in LOGS {
            match self.read(&grading.join(name))? {
                Some(text) => self.write(&format!("{place}/{name}"), &text)?,
                None => exported.without_log.push(id.clone()),
            }
        }
        exported.logs += 1;
        Ok(())
    }

    /// A file's text without secrets, `None` where there is none.
    fn read(&self, path: &Path) -> Result<Option<String>, Error> {
        match fs::read(path) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                Ok(Some(self.redactor.clean(text)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).at("read", path),
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let path: PathBuf = self.out.join(name);
        fs::write(&path, text).at("write", path)
    }
}

/// The grading whose verdict counts.
fn grading(attempt: &Attempt) -> Option<u32> {
    let finished = |(number, grading): (&u32, &Grading)| match grading {
        Grading::Finished { .. } => Some(*number),
        Grading::Started | Grading::Failed { .. } => None,
    };
    attempt.gradings.iter().rev().find_map(finished)
}
