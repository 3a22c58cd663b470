//! Directories that `save_to_disk` of the `datasets` library wrote: Arrow streams, and JSON that lists them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::files::{DataFile, Located};
use crate::layout::{self, Wanted};

/// Bytes that a list of files may have.
const MAX_STATE_BYTES: u64 = 16 << 20;

/// `dataset_dict.json`, in a directory with several splits.
#[derive(Deserialize)]
struct Splits {
    splits: Vec<String>,
}

/// `state.json`, in the directory of one split.
#[derive(Deserialize)]
struct State {
    #[serde(rename = "_data_files")]
    data_files: Vec<Listed>,
    #[serde(rename = "_indices_data_files", default)]
    indices: Option<Vec<Listed>>,
    #[serde(rename = "_split", default)]
    split: Option<String>,
}

#[derive(Deserialize)]
struct Listed {
    filename: String,
}

/// The files of a saved dataset; `None` when the directory is none.
pub(crate) fn locate(path: &Path, wanted: &Wanted) -> Result<Option<Located>, Error> {
    let list = path.join("dataset_dict.json");
    if let Some(Splits { splits }) = read::<Splits>(&list)? {
        let known: BTreeSet<&str> = splits.iter().map(String::as_str).collect();
        let Some(split) = layout::pick_split(&known, wanted.split.as_deref()) else {
            return Err(Error::Split {
                path: path.into(),
                splits,
                wanted: wanted.split.clone(),
            });
        };
        let directory = path.join(plain(&list, split)?);
        let Some(state) = read::<State>(&directory.join("state.json"))? else {
            return Err(bad(
                &list,
                format!("names the split {split:?}, which has no state.json"),
            ));
        };
        return located(path, &directory, split, &state).map(Some);
    }
    let Some(state) = read::<State>(&path.join("state.json"))? else {
        return Ok(None);
    };
    let split = state.split.clone().unwrap_or_default();
    if let Some(wanted) = &wanted.split
        && *wanted != split
    {
        return Err(Error::Split {
            path: path.into(),
            splits: vec![split],
            wanted: Some(wanted.clone()),
        });
    }
    located(path, path, &split, &state).map(Some)
}

fn located(shown: &Path, directory: &Path, split: &str, state: &State) -> Result<Located, Error> {
    let list = directory.join("state.json");
    if state.indices.as_ref().is_some_and(|list| !list.is_empty()) {
        return Err(bad(
            &list,
            "keeps the rows in another order than they are stored in".into(),
        ));
    }
    let mut files = Vec::new();
    for Listed { filename } in &state.data_files {
        let file = directory.join(plain(&list, filename)?);
        if !file.is_file() {
            return Err(bad(
                &list,
                format!("names {filename:?}, which is not there"),
            ));
        }
        files.push(DataFile::new(file));
    }
    if files.is_empty() {
        return Err(Error::NoData {
            path: directory.into(),
        });
    }
    Ok(Located {
        shown: shown.into(),
        directory: shown.into(),
        files,
        split: Some(split.to_owned()),
        revision: None,
        inner_split: None,
    })
}

/// A name that does not lead out of its directory.
fn plain<'a>(list: &Path, name: &'a str) -> Result<&'a str, Error> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(_)), None) => Ok(name),
        _ => Err(bad(
            list,
            format!("names {name:?}, which is no file beside it"),
        )),
    }
}

/// A JSON file; `None` when it is not there.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    let failed = |source| Error::Read {
        path: path.into(),
        source,
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_STATE_BYTES)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| bad(path, format!("cannot be read: {error}")))
}

fn bad(path: &Path, problem: String) -> Error {
    Error::Saved {
        path: path.into(),
        problem,
    }
}
