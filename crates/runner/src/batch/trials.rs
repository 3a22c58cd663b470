//! The patches that a validation tries.

use dataset::Row;

use super::gradings::GivenPatch;
use crate::error::Error;
use crate::settings::{ProfileChoice, RunSettings, TrialPatch, Trials};
use crate::store::RunDirectory;

/// The patches of all samples of the rows. A row without a known patch has only the empty one.
pub(super) fn samples(settings: &RunSettings, rows: &[Row]) -> Result<Vec<GivenPatch>, Error> {
    let Some(trials) = &settings.operation.trials else {
        return Ok(Vec::new());
    };
    check_profiles(settings, trials)?;
    let mut patches = Vec::new();
    for row in rows {
        let known = grade::known_fix(&row.answer);
        for (sample, trial) in trials.all() {
            let patch = match trial.patch {
                TrialPatch::Known => known.as_deref(),
                TrialPatch::Empty => Some(""),
            };
            patches.extend(patch.map(|patch| GivenPatch {
                id: row.instance.id.clone(),
                sample,
                patch: patch.to_owned(),
            }));
        }
    }
    Ok(patches)
}

/// The numbers of a run's samples mean what they meant when it began.
fn check_profiles(settings: &RunSettings, trials: &Trials) -> Result<(), Error> {
    let run = RunDirectory::new(&settings.run_directory);
    let Some(file) = run.read_run_file()? else {
        return Ok(());
    };
    let path = run.root().display();
    let wrong = |message| Error::Settings {
        message,
        hint: Some("use another --out".to_owned()),
        source: None,
    };
    match &file.operation.trials {
        None => Err(wrong(format!("`{path}` holds a run that is no validation"))),
        Some(before) if before.profiles != trials.profiles => {
            let names = before.profiles.iter().copied().map(ProfileChoice::name);
            let names: Vec<&str> = names.collect();
            Err(wrong(format!(
                "the validation in `{path}` was made with --profiles {}",
                names.join(",")
            )))
        }
        Some(_) => Ok(()),
    }
}
