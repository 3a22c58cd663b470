//! Processes of the host as `/proc` shows them: who descends from whom, and since when.

use std::io;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

/// Clock ticks in a second, as `/proc` counts start times; fixed by the kernel's interface on every Linux that Rust's std supports.
const TICKS_PER_SECOND: u64 = 100;

/// One line of `/proc/<pid>/stat`, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) session: u32,
    /// Ticks after boot at which it started.
    pub(crate) start: u64,
    /// Dead and not yet waited for. One whose first thread alone is dead shows as such and runs on: it is none.
    pub(crate) zombie: bool,
}

/// Reads one process, `None` when it is gone.
pub(crate) fn read(pid: u32) -> Option<Process> {
    parse(pid, &std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The name may hold anything, also `)`: fields are counted from the last one.
fn parse(pid: u32, stat: &[u8]) -> Option<Process> {
    let close = memchr::memrchr(b')', stat)?;
    let rest = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let threads: u64 = fields.nth(13)?.parse().ok()?;
    let start = fields.nth(1)?.parse().ok()?;
    Some(Process {
        pid,
        parent,
        session,
        start,
        zombie: matches!(state, "Z" | "X") && threads <= 1,
    })
}

/// Every process that can be seen, zombies included.
pub(crate) fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(read)
        .collect()
}

/// All descendants of `root` that are not zombies, children before grandchildren; `root` is not among them.
pub(crate) fn descendants(root: u32) -> Vec<Process> {
    descendants_in(&all(), root)
}

pub(crate) fn descendants_in(table: &[Process], root: u32) -> Vec<Process> {
    let mut found = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for process in table.iter().filter(|process| process.parent == parent) {
            if found.iter().any(|known: &Process| known.pid == process.pid) {
                continue;
            }
            found.push(*process);
            parents.push(process.pid);
        }
    }
    found.retain(|process| !process.zombie);
    found
}

/// Descendants by way of the kernel's lists of children: cheap, but it may miss some while processes end. For those who look again until there are none.
pub(crate) fn descendants_quickly(root: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        let Some(children) = children(parent) else {
            return descendants(root)
                .iter()
                .map(|process| process.pid)
                .collect();
        };
        found.extend_from_slice(&children);
        parents.extend(children);
    }
    found
}

/// Children of every thread of a process; `None` where the kernel does not list them.
fn children(pid: u32) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return Some(found);
    };
    for task in tasks.filter_map(Result::ok) {
        match std::fs::read_to_string(task.path().join("children")) {
            Ok(list) => found.extend(
                list.split_ascii_whitespace()
                    .filter_map(|pid| pid.parse::<u32>().ok()),
            ),
            Err(error) if error.kind() == io::ErrorKind::NotFound && task.path().exists() => {
                return None;
            }
            Err(_) => {}
        }
    }
    Some(found)
}

/// Ticks since boot, on the clock of [`Process::start`].
pub(crate) fn ticks_now() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/uptime")?;
    let uptime = text.split(' ').next().unwrap_or_default();
    uptime_ticks(uptime).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Ticks in an uptime as `/proc/uptime` writes it: seconds with two decimals.
pub(crate) fn uptime_ticks(uptime: &str) -> Option<u64> {
    let (seconds, hundredths) = uptime.split_once('.').unwrap_or((uptime, "0"));
    let number = |digits: &str| digits.parse::<u64>().ok();
    Some(number(seconds)? * TICKS_PER_SECOND + number(hundredths)?)
}

/// Ticks that a duration spans, rounded down.
pub(crate) fn ticks(duration: std::time::Duration) -> u64 {
    duration.as_secs() * TICKS_PER_SECOND + u64::from(duration.subsec_millis()) / 10
}

/// The boot that this host is in, so that a process number from before it is never trusted.
pub(crate) fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

/// Inode of the namespace in which this process's numbers mean something; `None` where it cannot be seen. The kernel tells every namespace of one boot
/// apart by it.
pub(crate) fn namespace() -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    let namespace = std::fs::metadata("/proc/self/ns/pid").ok()?;
    Some(namespace.ino())
}

/// Sends a signal; a process that is already gone, or not ours, is not an error.
pub(crate) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Whether there is a process that `/proc` does not show: it may hide those of other users.
pub(crate) fn is_hidden(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| !matches!(test_kill_process(pid), Err(Errno::SRCH)))
}

/// Whether the process reads its standard input from a pipe: then it ends by itself once its writer is gone.
pub(crate) fn reads_from_pipe(pid: u32) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(format!("/proc/{pid}/fd/0"))
        .is_ok_and(|metadata| metadata.file_type().is_fifo())
}

/// The number that a process has in its own, innermost process namespace.
pub(crate) fn inner_pid(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().last()?.parse().ok()
}

/// Whether the process was started with the environment variable `name=value`. Its owner can hide that; most do not.
pub(crate) fn has_variable(pid: u32, assignment: &[u8]) -> bool {
    std::fs::read(Path::new("/proc").join(pid.to_string()).join("environ")).is_ok_and(|environ| {
        environ
            .split(|&byte| byte == 0)
            .any(|one| one == assignment)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let line = b"7 (a) (b Z 1 2) S 3 4 5 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 4711 1 1";
        let process = parse(7, line).unwrap();
        assert_eq!(
            (process.parent, process.session, process.start),
            (3, 5, 4711)
        );
        assert!(!process.zombie);
    }

    #[test]
    fn a_process_whose_first_thread_alone_is_dead_is_alive() {
        let line = |threads| {
            format!("7 (a) Z 3 4 5 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 {threads} 0 4711 1 1")
        };
        let zombie = |threads| parse(7, line(threads).as_bytes()).unwrap().zombie;
        assert!(zombie(1));
        assert!(!zombie(2));
    }

    #[test]
    fn own_process_is_seen_below_its_parent_and_started_before_now() {
        let own = read(std::process::id()).unwrap();
        assert!(own.start <= ticks_now().unwrap());
        assert!(
            descendants(own.parent)
                .iter()
                .any(|process| process.pid == own.pid)
        );
    }
}
