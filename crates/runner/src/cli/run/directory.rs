//! Where a run is kept that was given no directory.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::store::RUNS;

/// The directory of a run.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    /// What was made for it, the innermost first.
    made: Vec<PathBuf>,
}

impl Directory {
    /// The one that was asked for.
    pub(crate) fn given(path: PathBuf) -> Self {
        Self {
            path,
            made: Vec::new(),
        }
    }

    /// Makes one of its own for a run that begins `now`: two that begin in the same second get different ones.
    pub(crate) fn made(now: jiff::Timestamp, subject: Option<&Path>) -> Self {
        Self::made_below(Path::new(RUNS), now, subject)
    }

    fn made_below(runs: &Path, now: jiff::Timestamp, subject: Option<&Path>) -> Self {
        let mut made = Vec::new();
        for path in names(runs, now, subject) {
            if fs::create_dir(runs).is_ok() {
                made.push(runs.to_owned());
            }
            match fs::create_dir(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Ok(()) => {
                    made.insert(0, path.clone());
                    return Self { path, made };
                }
                // Whoever takes the run up says what is wrong with it.
                Err(_) => return Self { path, made },
            }
        }
        Self::given(runs.to_owned())
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Directory {
    /// Removes what was made and is empty: nothing was started then.
    fn drop(&mut self) {
        for path in &self.made {
            let _ = fs::remove_dir(path);
        }
    }
}

/// The name that a run which begins `now` would get.
pub(super) fn free(now: jiff::Timestamp, subject: Option<&Path>) -> PathBuf {
    names(Path::new(RUNS), now, subject)
        .find(|path| !path.exists())
        .unwrap_or_default()
}

/// `<time>-<subject>`, in UTC, then the same with numbers.
fn names(
    runs: &Path,
    now: jiff::Timestamp,
    subject: Option<&Path>,
) -> impl Iterator<Item = PathBuf> {
    let stem = subject
        .and_then(Path::file_stem)
        .map_or_else(|| "run".into(), |stem| stem.to_string_lossy());
    let first = runs.join(format!("{}-{stem}", now.strftime("%Y%m%d-%H%M%S")));
    (1u64..).map(move |number| match number {
        1 => first.clone(),
        number => {
            let mut name = first.clone().into_os_string();
            name.push(format!("-{number}"));
            name.into()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_second_get_directories_of_their_own() {
        let place = tempfile::tempdir().unwrap();
        let runs = place.path().join("runs");
        let now = jiff::Timestamp::UNIX_EPOCH;
        let make = || Directory::made_below(&runs, now, Some(Path::new("data/lite.jsonl")));
        let one = make();
        let other = make();
        assert_eq!(one.path(), runs.join("19700101-000000-lite"));
        assert_eq!(other.path(), runs.join("19700101-000000-lite-2"));
        fs::write(one.path().join("run.json"), "{}").unwrap();
        drop((one, other));
        let left: Vec<_> = fs::read_dir(&runs).unwrap().collect();
        assert_eq!(left.len(), 1, "an empty one goes, one with a run stays");
    }

    #[test]
    fn a_run_that_never_began_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let runs = place.path().join("runs");
        drop(Directory::made_below(
            &runs,
            jiff::Timestamp::UNIX_EPOCH,
            None,
        ));
        assert!(!runs.exists());
    }
}
