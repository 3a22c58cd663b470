//! Labels of containers: whose they are, and whether that runner still lives.

use std::collections::HashMap;
use std::path::Path;

use crate::place::{Labels, directory};
use crate::processes;

/// On every container of this project.
pub(super) const PROJECT: &str = "patchmill";
const PROJECT_VALUE: &str = "sandbox";
const RUN: &str = "patchmill.run";
const INSTANCE: &str = "patchmill.instance";
const ATTEMPT: &str = "patchmill.attempt";
const HOST: &str = "patchmill.owner.host";
const ROOT: &str = "patchmill.owner.root";
const BOOT: &str = "patchmill.owner.boot";
const NAMESPACE: &str = "patchmill.owner.pidns";
const PID: &str = "patchmill.owner.pid";
const STARTED: &str = "patchmill.owner.started";

/// Longest name of a container, without its random end; the engine takes more, people do not.
const NAME: usize = 100;

/// Start of the names of all containers.
const PREFIX: &str = "patchmill-";
/// Start of the names of those that are kept: labels cannot be changed.
const KEPT: &str = "patchmill-kept-";

/// Labels for a container of this process whose private directories are in `root`.
pub(super) fn of(labels: &Labels, root: &Path) -> HashMap<String, String> {
    [
        (PROJECT, PROJECT_VALUE.to_owned()),
        (RUN, labels.run.clone()),
        (INSTANCE, labels.instance.clone()),
        (ATTEMPT, labels.attempt.clone()),
        (HOST, host()),
        (ROOT, full(root)),
        (BOOT, processes::boot_id()),
        (NAMESPACE, namespace()),
        (PID, std::process::id().to_string()),
        (STARTED, directory::own_start().to_string()),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect()
}

/// Filter for this project's containers.
pub(super) fn filter() -> HashMap<String, Vec<String>> {
    HashMap::from([(
        "label".to_owned(),
        vec![format!("{PROJECT}={PROJECT_VALUE}")],
    )])
}

/// Filter for the containers of this process.
pub(super) fn own_filter() -> HashMap<String, Vec<String>> {
    let own = [
        format!("{PROJECT}={PROJECT_VALUE}"),
        format!("{BOOT}={}", processes::boot_id()),
        format!("{NAMESPACE}={}", namespace()),
        format!("{PID}={}", std::process::id()),
    ];
    HashMap::from([("label".to_owned(), own.to_vec())])
}

/// A directory by its one full name.
fn full(root: &Path) -> String {
    let path = root.canonicalize();
    let path = path.or_else(|_| std::path::absolute(root));
    let path = path.unwrap_or_else(|_| root.to_owned());
    path.to_string_lossy().into_owned()
}

/// Whether the container belongs to runners that have their private directories in `root`.
pub(super) fn is_of(labels: &HashMap<String, String>, root: &Path) -> bool {
    labels.get(ROOT).is_some_and(|found| *found == full(root))
}

/// Name of a container once it is kept.
pub(super) fn kept_name(name: &str) -> String {
    format!("{KEPT}{}", name.strip_prefix(PREFIX).unwrap_or(name))
}

/// Whether a container of this name is kept.
pub(super) fn is_kept(name: &str) -> bool {
    name.starts_with(KEPT)
}

/// What can be told of a container's runner from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runner {
    /// It lives, or nothing is known of it.
    Alive,
    Gone,
    /// It is of this machine, or of one with the same name, and its process cannot be seen: in another container, or before another start.
    Unseen,
}

/// What has become of the runner of a container.
pub(super) fn runner(labels: &HashMap<String, String>) -> Runner {
    let is = |key: &str, value: &str| labels.get(key).is_some_and(|found| found == value);
    if !is(PROJECT, PROJECT_VALUE) || !labels.contains_key(BOOT) {
        return Runner::Alive;
    }
    // A process number means something in its own namespace alone. Runners in containers that share an engine may share all else, the host's name too.
    match (is(BOOT, &processes::boot_id()), is(NAMESPACE, &namespace())) {
        (true, true) if processes::namespace().is_some() => by_process(labels),
        (true, _) => Runner::Unseen,
        (false, _) if is(HOST, &host()) => Runner::Unseen,
        (false, _) => Runner::Alive,
    }
}

fn by_process(labels: &HashMap<String, String>) -> Runner {
    let number = |key: &str| labels.get(key).and_then(|text| text.parse::<u64>().ok());
    let pid = number(PID).and_then(|pid| u32::try_from(pid).ok());
    match (pid, number(STARTED)) {
        (Some(pid), Some(started)) if !directory::is_running(pid, started) => Runner::Gone,
        _ => Runner::Alive,
    }
}

/// The namespace of this process's number, as labels name it.
fn namespace() -> String {
    processes::namespace().map_or_else(|| String::from("unknown"), |inode| inode.to_string())
}

/// Name of this machine.
pub(super) fn host() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// A name that people can read and no other container has: it is known before the engine is asked, so that nothing is lost when the answer is.
pub(super) fn name(labels: &Labels) -> String {
    let text = format!(
        "{PREFIX}run-{}-{}-{}",
        labels.run, labels.instance, labels.attempt
    );
    let safe: String = text
        .chars()
        .map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' => letter,
            _ => '_',
        })
        .take(NAME)
        .collect();
    format!("{safe}-{:012x}", fastrand::u64(..1 << 48))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mine() -> HashMap<String, String> {
        of(
            &Labels {
                run: "r".to_owned(),
                instance: "i".to_owned(),
                attempt: "s1-a1".to_owned(),
            },
            Path::new("/"),
        )
    }

    #[test]
    fn a_process_tells_of_its_own_namespace_alone() {
        assert_eq!(runner(&mine()), Runner::Alive);
        let with = |changes: &[(&str, &str)]| {
            let mut labels = mine();
            for (key, value) in changes {
                labels.insert((*key).to_owned(), (*value).to_owned());
            }
            runner(&labels)
        };
        assert_eq!(with(&[(STARTED, "1")]), Runner::Gone);
        // The same process, of a machine that calls itself something else meanwhile.
        assert_eq!(with(&[(STARTED, "1"), (HOST, "another")]), Runner::Gone);
        assert_eq!(with(&[(STARTED, "1"), (NAMESPACE, "1")]), Runner::Unseen);
        assert_eq!(
            with(&[(STARTED, "1"), (NAMESPACE, "unknown")]),
            Runner::Unseen
        );
        assert_eq!(with(&[(NAMESPACE, "1"), (HOST, "another")]), Runner::Unseen);
        assert_eq!(with(&[(BOOT, "another")]), Runner::Unseen);
        assert_eq!(with(&[(BOOT, "another"), (HOST, "another")]), Runner::Alive);
        assert_eq!(with(&[(STARTED, "1"), (PROJECT, "another")]), Runner::Alive);
        assert_eq!(with(&[(PID, "none")]), Runner::Alive);
        assert_eq!(runner(&HashMap::new()), Runner::Alive);
        let mut older = mine();
        older.remove(NAMESPACE);
        assert_eq!(runner(&older), Runner::Unseen);
    }

    #[test]
    fn names_are_safe_and_differ() {
        let labels = Labels {
            run: "../x y".to_owned(),
            instance: "ä".repeat(300),
            attempt: "s1".to_owned(),
        };
        let (one, two) = (name(&labels), name(&labels));
        assert_ne!(one, two);
        assert!(one.starts_with("patchmill-run-.._x_y-_"), "{one}");
        assert!(one.len() < 120 && one.is_ascii());
    }
}
