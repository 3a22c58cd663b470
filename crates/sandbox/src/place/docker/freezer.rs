//! Processes that the engine froze: it pauses a container by freezing its control group, whatever is on its way in.

use std::fs;
use std::path::{Path, PathBuf};

/// Where a control group says whether its processes are frozen, and is told.
#[derive(Debug, PartialEq, Eq)]
struct Freezer {
    file: PathBuf,
    /// What the file says of processes that are frozen.
    frozen: &'static str,
    /// What lets them go on.
    thawed: &'static str,
}

/// Lets the control group of a process go on; whether it was frozen, and this process may thaw it.
pub(super) fn thaw(pid: u32) -> bool {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let groups = read(&format!("/proc/{pid}/cgroup"));
    let Some(freezer) = freezer(&groups, &read("/proc/self/mountinfo")) else {
        return false;
    };
    let said = fs::read_to_string(&freezer.file).unwrap_or_default();
    said.trim_end() == freezer.frozen && fs::write(&freezer.file, freezer.thawed).is_ok()
}

/// By the groups of a process and the mounts of this one; a hierarchy of its own (version 1) goes before the unified one.
fn freezer(groups: &str, mounts: &str) -> Option<Freezer> {
    own(groups, mounts).or_else(|| unified(groups, mounts))
}

fn own(groups: &str, mounts: &str) -> Option<Freezer> {
    let has = |list: &str| list.split(',').any(|name| name == "freezer");
    let group = group(groups, |controllers| has(controllers))?;
    let root = root(mounts, |kind, options| kind == "cgroup" && has(options))?;
    Some(Freezer {
        file: within(root, group).join("freezer.state"),
        frozen: "FROZEN",
        thawed: "THAWED",
    })
}

fn unified(groups: &str, mounts: &str) -> Option<Freezer> {
    let group = group(groups, str::is_empty)?;
    let root = root(mounts, |kind, _| kind == "cgroup2")?;
    Some(Freezer {
        file: within(root, group).join("cgroup.freeze"),
        frozen: "1",
        thawed: "0",
    })
}

/// The group in the hierarchy whose controllers are wanted: a line is `number:controllers:group`.
fn group(groups: &str, wanted: impl Fn(&str) -> bool) -> Option<&str> {
    groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, group) = rest.split_once(':')?;
        wanted(controllers).then_some(group)
    })
}

/// Where a whole file system of control groups is mounted, by its kind and its options.
fn root(mounts: &str, wanted: impl Fn(&str, &str) -> bool) -> Option<&str> {
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let (part, point) = (before.next()?, before.next()?);
        let mut after = after.split(' ');
        let (kind, options) = (after.next()?, after.nth(1)?);
        (part == "/" && wanted(kind, options)).then_some(point)
    })
}

fn within(root: &str, group: &str) -> PathBuf {
    Path::new(root).join(group.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
        33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
        36 31 0:33 /inner /elsewhere rw shared:4 - cgroup cgroup rw,freezer\n\
        37 31 0:34 / /sys/fs/cgroup/freezer rw,relatime shared:9 - cgroup cgroup rw,freezer\n";

    #[test]
    fn version_1_has_a_hierarchy_of_its_own() {
        let groups = "7:cpu,cpuacct:/docker/c1\n6:freezer:/docker/c1\n0::/docker/c1\n";
        let found = freezer(groups, MOUNTS).unwrap();
        let file = "/sys/fs/cgroup/freezer/docker/c1/freezer.state";
        assert_eq!(found.file, Path::new(file));
        assert_eq!((found.frozen, found.thawed), ("FROZEN", "THAWED"));
    }

    #[test]
    fn version_2_has_one_for_all() {
        let mounts = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup rw,nsdelegate\n";
        let found = freezer("0::/system.slice/docker-c1.scope\n", mounts).unwrap();
        let file = "/sys/fs/cgroup/system.slice/docker-c1.scope/cgroup.freeze";
        assert_eq!(found.file, Path::new(file));
        assert_eq!((found.frozen, found.thawed), ("1", "0"));
    }

    #[test]
    fn without_a_hierarchy_nothing_is_frozen() {
        for (groups, mounts) in [
            ("", MOUNTS),
            ("6:freezer:/c1\n", ""),
            ("6:freezer\n", MOUNTS),
            ("0::/c1\n", MOUNTS),
        ] {
            assert_eq!(freezer(groups, mounts), None, "{groups:?}");
        }
    }
}
