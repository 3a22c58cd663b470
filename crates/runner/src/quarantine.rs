//! Instances that say nothing of a patch: the file that names them, and the rates without them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use schema::InstanceId;
use schema::quarantine::{Quarantine, Quarantined};
use schema::validation::{Finding, Validation};

use crate::error::{At, Error};
use crate::store::{RunDirectory, atomic};

/// What a file begins with.
const HEAD: &str = "# Instances whose tests cannot be relied on. They are graded like all others; reports give the rates with and without them.\n\
    # An entry needs its id alone.\n\n";

/// Reads a quarantine file.
///
/// # Errors
/// When it cannot be read, or holds something else.
pub fn read(path: &Path) -> Result<Quarantine, Error> {
    let text = fs::read_to_string(path).at("read", path)?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<Quarantine, Error> {
    toml::from_str(text).map_err(|error| Error::Format {
        path: path.to_owned(),
        message: error.message().to_owned(),
    })
}

/// Writes one.
///
/// # Errors
/// When it cannot be written.
pub fn write(path: &Path, quarantine: &Quarantine) -> Result<(), Error> {
    let text = toml::to_string_pretty(quarantine).map_err(|error| Error::Format {
        path: path.to_owned(),
        message: error.to_string(),
    })?;
    let text = format!("{HEAD}{text}");
    atomic::replace_bytes(path, text.as_bytes()).at("write", path)
}

/// The quarantine that a run has; `None` when nobody gave it one.
///
/// # Errors
/// When its file cannot be read.
pub fn of_run(run: &RunDirectory) -> Result<Option<Quarantine>, Error> {
    let path = run.quarantine();
    match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        text => parse(&path, &text.at("read", &path)?).map(Some),
    }
}

/// Gives a run this quarantine: it keeps a copy, so that its reports can be made again anywhere.
///
/// # Errors
/// When it cannot be written.
pub fn give(run: &RunDirectory, quarantine: &Quarantine) -> Result<(), Error> {
    write(&run.quarantine(), quarantine)
}

/// The instances that a validation speaks against. Those of which it only does not know are left out.
pub fn of(validation: &Validation) -> Quarantine {
    let condemned = validation.instances.iter().filter_map(|one| {
        let finding = one.findings.iter().find(|one| one.reason.condemns())?;
        Some(Quarantined {
            id: one.instance_id.clone(),
            reason: finding.reason.name().to_owned(),
            profile: finding.profile.clone(),
            detail: detail(finding),
        })
    });
    Quarantine {
        date: Some(validation.date.clone()),
        dataset: validation.dataset.clone(),
        profiles: validation.profiles.clone(),
        times: Some(validation.times),
        patchmill: Some(validation.patchmill.clone()),
        grader: Some(validation.grader.clone()),
        instances: condemned.collect(),
    }
}

fn detail(finding: &Finding) -> Option<String> {
    /// Tests that are named; `validation.json` has them all.
    const NAMED: usize = 10;
    let tests = finding.tests.iter().chain(&finding.missing);
    let named: Vec<&str> = tests.take(NAMED).map(String::as_str).collect();
    let parts = finding.detail.as_deref().into_iter();
    let parts: Vec<String> = parts
        .map(str::to_owned)
        .chain((!named.is_empty()).then(|| named.join(", ")))
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// What to tell of ids of the file that are not among the `known` ones, those of a dataset or a run: `whose`.
pub fn unknown(
    quarantine: &Quarantine,
    known: &BTreeSet<&InstanceId>,
    whose: &str,
) -> Option<String> {
    let ids = quarantine.instances.iter().map(|one| &one.id);
    let unknown: Vec<&InstanceId> = ids.filter(|id| !known.contains(id)).collect();
    let first = unknown.first()?;
    let more = match unknown.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "the quarantine file names `{first}`{more}, which the {whose} has not got"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_by_hand_needs_ids_alone() {
        let path = Path::new("q.toml");
        let read = parse(
            path,
            "[[instance]]\nid = 'a__b-1'\n\n[[instance]]\nid = 'c'\nreason = 'slow'\n",
        );
        let read = read.unwrap();
        let found = read.find(&InstanceId::new("c")).unwrap();
        assert_eq!((read.instances.len(), found.reason.as_str()), (2, "slow"));
        for wrong in ["{}", "[[instance]]\nreason = 'x'\n", "instance = ['a']\n"] {
            let told = parse(path, wrong).unwrap_err().to_string();
            assert!(told.contains("`q.toml`"), "{told}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let place = tempfile::tempdir().unwrap();
        let run = RunDirectory::new(place.path());
        assert_eq!(of_run(&run).unwrap(), None);
        let quarantine = Quarantine {
            date: Some("2026-01-01T00:00:00.000Z".to_owned()),
            times: Some(2),
            instances: vec![Quarantined {
                id: InstanceId::new("a"),
                reason: "flakes".to_owned(),
                profile: Some("sealed".to_owned()),
                detail: Some("a \"quoted\"\nname".to_owned()),
            }],
            ..Quarantine::default()
        };
        give(&run, &quarantine).unwrap();
        assert_eq!(of_run(&run).unwrap(), Some(quarantine));
    }
}
