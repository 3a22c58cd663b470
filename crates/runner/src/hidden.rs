//! What of this machine's files an agent must not see, wherever its sandbox shows the host's: answers, other runs, secrets.

use std::fs;
use std::path::{Path, PathBuf};

use model::Choice;

use crate::settings::RunSettings;
use crate::store::{RUNS, RunDirectory};

/// Paths to hide, absolute. Those that do not exist yet are hidden from sandboxes that start once they do.
pub fn paths(settings: &RunSettings) -> Vec<PathBuf> {
    let operation = &settings.operation;
    let mut paths: Vec<PathBuf> = [&operation.dataset, &operation.repositories]
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    match Choice::parse(&settings.identity.model) {
        Ok(Choice::Script { path } | Choice::Replay { path }) => paths.push(path),
        Ok(Choice::Served { .. }) | Err(_) => {}
    }
    paths.extend(settings.secrets.files.iter().cloned());
    paths.push(settings.run_directory.clone());
    paths.extend(beside(&settings.run_directory));
    paths.push(PathBuf::from(RUNS));
    paths
        .iter()
        .filter_map(|path| std::path::absolute(path).ok())
        .collect()
}

/// The other runs beside a run: the directory around all of them where it holds nothing else, since more may come, else those that are there.
fn beside(run: &Path) -> Vec<PathBuf> {
    let absolute = std::path::absolute(run).ok();
    let Some(around) = absolute.as_deref().and_then(Path::parent) else {
        return Vec::new();
    };
    let entries = fs::read_dir(around).into_iter().flatten().flatten();
    let (runs, others): (Vec<PathBuf>, Vec<PathBuf>) = entries
        .map(|entry| entry.path())
        .filter(|path| !is_dot_file(path))
        .partition(|path| is_run(path) || Some(path.as_path()) == absolute.as_deref());
    if others.is_empty() {
        vec![around.to_owned()]
    } else {
        runs
    }
}

fn is_run(path: &Path) -> bool {
    let run = RunDirectory::new(path);
    run.run_file().exists() || run.writers().exists()
}

fn is_dot_file(path: &Path) -> bool {
    let name = path.file_name();
    name.is_some_and(|name| name.to_string_lossy().starts_with('.')) && path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(root: &Path, names: &[&str]) {
        for name in names {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
    }

    #[test]
    fn a_directory_of_runs_is_hidden_whole_and_runs_among_other_things_one_by_one() {
        let root = tempfile::tempdir().unwrap();
        let (only, mixed) = (root.path().join("only"), root.path().join("mixed"));
        make(&only, &["a/run.json", "b/writers/w1/owner.json", ".keep"]);
        make(&mixed, &["a/run.json", "src/main.rs", "notes.txt"]);
        assert_eq!(beside(&only.join("new")), std::slice::from_ref(&only));
        assert_eq!(beside(&mixed.join("new")), [mixed.join("a")]);
        assert_eq!(
            beside(&root.path().join("none/new")),
            [root.path().join("none")]
        );
    }
}
