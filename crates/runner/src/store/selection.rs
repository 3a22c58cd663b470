//! Which instances a run is about, whether or not anything was done for them: what its rates are of.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use schema::InstanceId;
use serde::{Deserialize, Serialize};

use super::{RunDirectory, atomic};
use crate::error::{At, Error};

/// What is known of a selected instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selected {
    /// `owner/name` of its repository, empty where its row does not say.
    #[serde(default)]
    pub repo: String,
    /// Image that its sandboxes are made from, where they are containers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// All that was ever selected, by id.
pub type Selection = BTreeMap<InstanceId, Selected>;

/// `selection.json`; empty where there is none.
///
/// # Errors
/// When it cannot be read.
pub fn read(run: &RunDirectory) -> Result<Selection, Error> {
    let path = run.selection();
    let text = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Selection::new()),
        text => text.at("read", &path)?,
    };
    serde_json::from_slice(&text).map_err(|error| Error::Format {
        path,
        message: error.to_string(),
    })
}

/// Adds what was selected now.
///
/// # Errors
/// When the file cannot be read or written.
pub fn extend(run: &RunDirectory, selected: Selection) -> Result<Selection, Error> {
    let mut all = read(run)?;
    let known = all.len();
    let mut changed = false;
    for (id, one) in selected {
        changed |= all.get(&id) != Some(&one);
        all.insert(id, one);
    }
    if changed || all.len() != known {
        let path = run.selection();
        let mut text = serde_json::to_vec_pretty(&all).map_err(|error| Error::Format {
            path: path.clone(),
            message: error.to_string(),
        })?;
        text.push(b'\n');
        atomic::replace_bytes(&path, &text).at("write", path)?;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_selection_takes_nothing_away() {
        let root = tempfile::tempdir().unwrap();
        let run = RunDirectory::new(root.path());
        assert!(read(&run).unwrap().is_empty());
        let one = |id: &str| {
            let selected = Selected {
                repo: "o/r".into(),
                image: None,
            };
            (InstanceId::new(id), selected)
        };
        extend(&run, [one("a"), one("b")].into()).unwrap();
        extend(&run, [one("b")].into()).unwrap();
        let ids: Vec<_> = read(&run).unwrap().into_keys().collect();
        assert_eq!(ids, [InstanceId::new("a"), InstanceId::new("b")]);
    }
}
