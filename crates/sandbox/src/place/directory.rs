//! Private directories of places on the host, and who owns them.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::keep;
use crate::place::{Labels, Leftover, PlaceId, removal};
use crate::processes;

const OWNER_FILE: &str = "owner.json";

/// Start of the names of directories that belong to a runner and to none of its places.
const KIN: &str = "prepared-";

/// A process, told apart from a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pid: u32,
    /// Ticks after boot.
    start: u64,
    boot: String,
    /// Namespace of the process number; `None` where it is not known.
    #[serde(default)]
    namespace: Option<u64>,
    run: String,
    instance: String,
    attempt: String,
    /// Whether the place outlives it on purpose.
    #[serde(default)]
    kept: bool,
}

static OWN_START: LazyLock<u64> =
    LazyLock::new(|| processes::read(std::process::id()).map_or(0, |process| process.start));
static BOOT: LazyLock<String> = LazyLock::new(processes::boot_id);
static NAMESPACE: LazyLock<Option<u64>> = LazyLock::new(processes::namespace);

impl Owner {
    fn this_process(labels: &Labels) -> Self {
        Self {
            pid: std::process::id(),
            start: *OWN_START,
            boot: BOOT.clone(),
            namespace: *NAMESPACE,
            run: labels.run.clone(),
            instance: labels.instance.clone(),
            attempt: labels.attempt.clone(),
            kept: false,
        }
    }

    /// Whether it may live: a number of another namespace says nothing.
    fn is_alive(&self) -> bool {
        self.boot == *BOOT && (self.namespace != *NAMESPACE || is_running(self.pid, self.start))
    }
}

/// Whether a process still runs, and is not a later one with the same number.
pub(crate) fn is_running(pid: u32, start: u64) -> bool {
    match processes::read(pid) {
        Some(process) => process.start == start && !process.zombie,
        None => processes::is_hidden(pid),
    }
}

/// Ticks after boot at which this process started.
pub(crate) fn own_start() -> u64 {
    *OWN_START
}

/// Prefix of the names of directories that this runner keeps beside its places.
pub(crate) fn kin() -> String {
    let namespace = NAMESPACE.unwrap_or_default();
    format!("{KIN}{}.{}.{namespace}.", std::process::id(), *OWN_START)
}

/// Creates a directory that only its owner may enter; its parents are made too.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)?;
    }
    DirBuilder::new().mode(0o700).create(path)
}

/// A path for a directory that goes with this runner: its name alone says whose it is.
pub(crate) fn kin_path(root: &Path) -> PathBuf {
    static COUNTER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    root.join(format!("{}{number}", kin()))
}

/// Creates a directory for something that goes with this runner; its keepers remove it when the runner is gone.
pub(crate) fn create_kin(root: &Path) -> io::Result<PathBuf> {
    let path = kin_path(root);
    create_private(&path)?;
    Ok(path)
}

/// Creates a place's directory. Its name is the same in every run of the same name, so that prompts are too; a file in it says whose it is.
///
/// It is made under a name that says whose it is and then renamed: a runner that dies in between leaves nothing that nobody owns.
pub(crate) fn create(root: &Path, labels: &Labels) -> Result<(PlaceId, PathBuf), Error> {
    let name = name(labels);
    let failed = |error| {
        let path = root.join(&name);
        Error::start(
            format!("create the private directory {}", path.display()),
            error,
        )
    };
    let made = create_kin(root).map_err(failed)?;
    let moved = fill(&made, labels).and_then(|()| settle(&made, root, &name));
    if moved.is_err() {
        let _ = removal::remove_tree(&made);
    }
    moved.map_err(failed)
}

/// Gives a directory the first of its names that is free.
fn settle(made: &Path, root: &Path, name: &str) -> io::Result<(PlaceId, PathBuf)> {
    for number in 1..=99 {
        let name = if number == 1 {
            name.to_owned()
        } else {
            format!("{name}.{number}")
        };
        let path = root.join(&name);
        let mut moved = fs::rename(made, &path);
        if is_taken(&moved) && is_abandoned(&path) && removal::remove_tree(&path).is_ok() {
            moved = fs::rename(made, &path);
        }
        if !is_taken(&moved) {
            return moved.map(|()| (PlaceId(name), path));
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

fn is_taken(moved: &io::Result<()>) -> bool {
    moved.as_ref().is_err_and(|error| {
        matches!(
            error.kind(),
            io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty
        )
    })
}

fn fill(path: &Path, labels: &Labels) -> io::Result<()> {
    fs::File::create(path.join(keep::LOCK_FILE))?;
    fs::write(
        path.join(OWNER_FILE),
        serde_json::to_vec(&Owner::this_process(labels))?,
    )
}

fn name(labels: &Labels) -> String {
    let text = format!("{}-{}-{}", labels.run, labels.instance, labels.attempt);
    let safe: String = text
        .chars()
        .map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' => letter,
            _ => '_',
        })
        .take(200)
        .collect();
    // A leading dot would hide it, a name of dots only would be a directory that exists already; kin have their own names.
    if safe.starts_with('.') || safe.starts_with(KIN) {
        format!("_{safe}")
    } else {
        safe
    }
}

/// Names in `root` of what belonged to dead runners and to none of their places.
pub(crate) fn abandoned_kin(root: &Path) -> io::Result<Vec<Leftover>> {
    let mut found = abandoned(root)?;
    found.retain(|left| is_kin(&left.name));
    Ok(found)
}

/// Whether a name is that of a directory that goes with a runner.
pub(crate) fn is_kin(name: &str) -> bool {
    name.starts_with(KIN)
}

/// Whether a directory's runner is known to be gone and did not keep it. Without a readable owner file nothing is known, and it stays.
fn is_abandoned(path: &Path) -> bool {
    owner(path).is_some_and(|owner| !owner.kept && !owner.is_alive())
}

fn is_kept(path: &Path) -> bool {
    owner(path).is_some_and(|owner| owner.kept && !owner.is_alive())
}

fn owner(path: &Path) -> Option<Owner> {
    let text = fs::read(path.join(OWNER_FILE)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Marks the directory of a place as one that outlives its runner.
pub(crate) fn mark_kept(path: &Path) -> io::Result<()> {
    let mut owner = owner(path).ok_or(io::ErrorKind::NotFound)?;
    owner.kept = true;
    let fresh = path.join(format!("{OWNER_FILE}.new"));
    fs::write(&fresh, serde_json::to_vec(&owner)?)?;
    fs::rename(fresh, path.join(OWNER_FILE))
}

/// Names in `root` that belong to dead runners.
pub(crate) fn abandoned(root: &Path) -> io::Result<Vec<Leftover>> {
    matching(root, |name, path| match name.strip_prefix(KIN) {
        Some(rest) => is_dead_kin(rest),
        None => is_abandoned(path),
    })
}

/// Names in `root` of places that dead runners kept.
pub(crate) fn kept(root: &Path) -> io::Result<Vec<Leftover>> {
    matching(root, |_, path| is_kept(path))
}

fn matching(root: &Path, wanted: impl Fn(&str, &Path) -> bool) -> io::Result<Vec<Leftover>> {
    let entries = match fs::read_dir(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if wanted(&name, &entry.path()) {
            found.push(Leftover {
                id: PlaceId(name.clone()),
                name,
            });
        }
    }
    Ok(found)
}

/// Whether the rest of a kin's name is that of a process which is gone; one of another namespace cannot be seen.
fn is_dead_kin(rest: &str) -> bool {
    let numbers: Option<Vec<u64>> = rest.split('.').map(|part| part.parse().ok()).collect();
    let Some([pid, start, namespace, _]) = numbers.as_deref() else {
        return false;
    };
    let is_ours = *namespace == NAMESPACE.unwrap_or_default();
    is_ours && u32::try_from(*pid).is_ok_and(|pid| !is_running(pid, *start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_labels_name_a_directory_of_the_root() {
        let labels = Labels {
            run: String::from(".."),
            instance: String::from("../a b\n"),
            attempt: String::from("s1-a1"),
        };
        assert_eq!(name(&labels), "_..-.._a_b_-s1-a1");
    }

    #[test]
    fn a_process_tells_of_its_own_namespace_alone() {
        let mut owner = Owner::this_process(&Labels::new("r", "i", "a"));
        assert!(owner.is_alive());
        owner.start += 1;
        assert!(!owner.is_alive());
        owner.namespace = owner.namespace.map(|inode| inode + 1);
        assert!(owner.is_alive());
        owner.boot.push('x');
        assert!(!owner.is_alive());
        let own = kin();
        let own = own.strip_prefix(KIN).unwrap();
        assert!(!is_dead_kin(&format!("{own}7")));
        let namespace = NAMESPACE.unwrap_or_default();
        assert!(is_dead_kin(&format!("1.1.{namespace}.7")));
        assert!(!is_dead_kin(&format!("1.1.{}.7", namespace + 1)));
        assert!(!is_dead_kin(&format!("1.1.{namespace}")));
        assert!(!is_dead_kin("mine"));
    }
}
