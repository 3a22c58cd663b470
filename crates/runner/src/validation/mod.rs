//! Validating a dataset: what known patches and unchanged trees came to, and which instances can be relied on.

mod findings;
mod text;
mod trials;

use std::collections::{BTreeMap, BTreeSet};

use schema::grading::Profile;
use schema::validation::{InstanceValidation, Reason, Validation};
use schema::{FormatVersion, InstanceId};

pub use text::text;
pub use trials::{Came, Tried};

use crate::clock;
use crate::error::{At, Error};
use crate::grading;
use crate::settings::{ProfileChoice, Trials};
use crate::store::ledger::Ledger;
use crate::store::{RunDirectory, RunFile, atomic, journal, selection};

/// Says what the run shows of all instances that were ever selected for it, and writes it to `validation.json`.
///
/// # Errors
/// When the run cannot be read, is no validation, or the file cannot be written.
pub fn conclude(run: &RunDirectory, file: &RunFile) -> Result<Validation, Error> {
    let Some(trials) = &file.operation.trials else {
        return Err(Error::Settings {
            message: format!(
                "`{}` holds a run that is no validation",
                run.root().display()
            ),
            hint: None,
            source: None,
        });
    };
    let journal = journal::read(run)?;
    let ledger = Ledger::fold(journal.lines.iter().map(|line| &line.event));
    let selected = selection::read(run)?;
    let mut instances = Vec::new();
    let mut unmet = Unmet::new();
    for id in selected.keys() {
        let tried = trials::of(run, &ledger, trials, id)?;
        note_unmet(&mut unmet, &tried);
        instances.push(instance(id, &tried));
    }
    let validation = Validation {
        unmet,
        ..sum(run, file, trials, instances)
    };
    let path = run.validation();
    let mut text = serde_json::to_vec_pretty(&validation).map_err(|error| Error::Format {
        path: path.clone(),
        message: error.to_string(),
    })?;
    text.push(b'\n');
    atomic::replace_bytes(&path, &text).at("write", path)?;
    Ok(validation)
}

/// What sandboxes did not have of the conditions of each profile.
type Unmet = BTreeMap<Profile, BTreeSet<String>>;

fn note_unmet(unmet: &mut Unmet, tried: &[Tried]) {
    for Tried { came, .. } in tried {
        if let Came::Verdict(report) = came
            && !report.unmet.is_empty()
        {
            let known = unmet.entry(report.profile).or_default();
            known.extend(report.unmet.iter().cloned());
        }
    }
}

fn instance(id: &InstanceId, tried: &[Tried]) -> InstanceValidation {
    let findings = findings::of(tried);
    InstanceValidation {
        instance_id: id.clone(),
        validated: findings.is_empty(),
        findings,
        passing_before: findings::passing_before(tried),
    }
}

fn sum(
    run: &RunDirectory,
    file: &RunFile,
    trials: &Trials,
    instances: Vec<InstanceValidation>,
) -> Validation {
    let mut reasons: BTreeMap<Reason, usize> = BTreeMap::new();
    for finding in instances.iter().filter_map(|one| one.findings.first()) {
        *reasons.entry(finding.reason).or_default() += 1;
    }
    let names = trials.profiles.iter().copied().map(ProfileChoice::name);
    let dataset = file.operation.dataset.as_ref();
    Validation {
        schema_version: FormatVersion::VALIDATION,
        run_directory: run.root().display().to_string(),
        dataset: dataset.map(|path| path.display().to_string()),
        profiles: names.map(str::to_owned).collect(),
        times: trials.times,
        unmet: Unmet::new(),
        date: clock::text(clock::now()),
        patchmill: env!("CARGO_PKG_VERSION").to_owned(),
        grader: grading::GRADER.to_owned(),
        harness: file.operation.harness,
        validated: instances.iter().filter(|one| one.validated).count(),
        reasons,
        instances,
    }
}
