//! The process tree of one channel on the host, held through its keeper.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, getpid, waitpid};
use sha2::{Digest, Sha256};
use tokio::io::Interest;
use tokio::net::unix::pipe;
use tokio::process::{ChildStdin, ChildStdout};

use crate::keep;
use crate::place::Ended;
use crate::processes;

/// How the keeper is started: a program that calls [`keep::main`] when its first own argument is [`keep::ARGUMENT`].
#[derive(Debug, Clone)]
pub struct KeepCommand {
    /// Program, `/proc/self/exe` in the runner.
    pub program: PathBuf,
    /// Arguments before the keeper's own, [`keep::ARGUMENT`] in the runner.
    pub arguments: Vec<OsString>,
}

impl Default for KeepCommand {
    fn default() -> Self {
        Self {
            program: PathBuf::from("/proc/self/exe"),
            arguments: vec![OsString::from(keep::ARGUMENT)],
        }
    }
}

/// What to run under a keeper.
pub(crate) struct Program<'a> {
    pub(crate) keep: &'a KeepCommand,
    /// The place's private directory.
    pub(crate) place: &'a Path,
    /// Prefix of the names of directories that go with this runner.
    pub(crate) kin: &'a str,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) directory: &'a Path,
    pub(crate) environment: &'a [(String, String)],
}

/// Keepers of this process that are alive or not yet waited for.
static KEEPERS: Mutex<Keepers> = Mutex::new(Keepers {
    live: BTreeSet::new(),
    dropped: Vec::new(),
});

struct Keepers {
    live: BTreeSet<u32>,
    /// Those that nobody waits for any more.
    dropped: Vec<Child>,
}

impl Keepers {
    fn lock() -> MutexGuard<'static, Self> {
        KEEPERS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reap_dropped(&mut self) {
        let live = &mut self.live;
        self.dropped.retain_mut(|child| {
            let running = matches!(child.try_wait(), Ok(None));
            if !running {
                live.remove(&child.id());
            }
            running
        });
    }
}

/// One keeper with everything below it.
pub(crate) struct Tree {
    pid: u32,
    mark: Vec<u8>,
    /// Breaks when the keeper has ended.
    lifeline: pipe::Sender,
    child: Mutex<Option<Child>>,
    ended: OnceLock<Ended>,
}

impl Tree {
    /// Starts a program under a keeper of its own.
    pub(crate) fn spawn(program: Program<'_>) -> io::Result<(Arc<Self>, ChildStdin, ChildStdout)> {
        let (held_by_keeper, lifeline) = pipe_with(PipeFlags::CLOEXEC)?;
        let mut command = Command::new(&program.keep.program);
        command
            .args(&program.keep.arguments)
            .arg(program.place)
            .arg(program.kin)
            .args(program.arguments)
            .current_dir(program.directory)
            .env_clear()
            .envs(
                program
                    .environment
                    .iter()
                    .map(|(name, value)| (name, value)),
            )
            .env(MARK, sign(program.place))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(held_by_keeper));
        // Held until the number is known: a stray is a child of ours that is not on the list.
        let mut keepers = Keepers::lock();
        keepers.reap_dropped();
        let mut child = command.spawn()?;
        let pid = child.id();
        keepers.live.insert(pid);
        drop(keepers);
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the keeper has no streams"));
        };
        let tree = Self {
            pid,
            mark: mark(program.place),
            lifeline: pipe::Sender::from_owned_fd(lifeline)?,
            child: Mutex::new(Some(child)),
            ended: OnceLock::new(),
        };
        Ok((
            Arc::new(tree),
            ChildStdin::from_std(input)?,
            ChildStdout::from_std(output)?,
        ))
    }

    /// The keeper, which everything in the tree descends from.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.get().is_some()
    }

    /// Asks the keeper to end the tree.
    pub(crate) fn close(&self) {
        // A keeper that is gone has ended its tree already.
        let _ = self.lifeline.try_write(keep::CLOSE);
    }

    /// Waits until nothing of the tree is left. Any number may wait, and any of them may stop waiting.
    pub(crate) async fn wait(&self) -> Ended {
        if let Some(ended) = self.ended.get() {
            return *ended;
        }
        // An error would mean that it cannot be watched; then it is asked directly.
        let _ = self.lifeline.ready(Interest::ERROR).await;
        let code = self.collect();
        if code.is_none() && !self.has_ended() {
            // The keeper was killed, so its tree has lost its guard.
            let mark = self.mark.clone();
            let _ = tokio::task::spawn_blocking(move || end_strays(&mark)).await;
        }
        *self.ended.get_or_init(|| Ended { code })
    }

    /// The exit code of a keeper that has ended, once.
    fn collect(&self) -> Option<i32> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let code = match child.as_mut() {
            Some(child) => child.wait().ok()?.code(),
            None => return self.ended.get().and_then(|ended| ended.code),
        };
        *child = None;
        Keepers::lock().live.remove(&self.pid);
        if code.is_some() {
            let _ = self.ended.set(Ended { code });
        }
        code
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.close();
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(child) = child.take() {
            Keepers::lock().dropped.push(child);
        }
    }
}

/// Variable that marks everything started in a place, so that it can be found without its keeper.
const MARK: &str = "PATCHMILL_PLACE";

/// What the variable holds for the place in a directory: the same whoever asks, and nothing that tells of the host.
fn sign(place: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let digest = Sha256::digest(place.as_os_str().as_bytes());
    schema::hex(&digest[..16])
}

/// Name and value of the variable for the place in a directory, where it must be handed on to what runs inside.
pub(crate) fn marking(place: &Path) -> (&'static str, String) {
    (MARK, sign(place))
}

/// The mark of the place in a directory, as it stands in an environment.
pub(crate) fn mark(place: &Path) -> Vec<u8> {
    format!("{MARK}={}", sign(place)).into_bytes()
}

/// Makes this process the one that orphans of killed keepers come to.
pub(crate) fn adopt_orphans() {
    // Without it they go to the host's init, and are found by their mark only.
    let _ = rustix::process::set_child_subreaper(Some(getpid()));
}

/// Ends what a killed keeper left behind: everything that carries the place's mark, and every adopted child in a session that is not the runner's
/// (keepers start sessions, the runner's other children do not).
pub(crate) fn end_strays(mark: &[u8]) {
    let own = std::process::id();
    for _ in 0..64 {
        let table = processes::all();
        let session = table
            .iter()
            .find(|process| process.pid == own)
            .map_or(0, |process| process.session);
        let live = Keepers::lock().live.clone();
        let mut strays = BTreeSet::new();
        for process in table.iter().filter(|process| process.pid != own) {
            let adopted =
                process.parent == own && process.session != session && !live.contains(&process.pid);
            if process.zombie {
                if adopted {
                    reap(process.pid);
                }
                continue;
            }
            let marked = !live.contains(&process.pid) && processes::has_variable(process.pid, mark);
            if adopted || marked {
                strays.insert(process.pid);
                strays.extend(
                    processes::descendants_in(&table, process.pid)
                        .iter()
                        .map(|process| process.pid),
                );
            }
        }
        if strays.is_empty() {
            return;
        }
        for signal in [Signal::STOP, Signal::KILL] {
            for &pid in &strays {
                processes::signal(pid, signal);
            }
        }
        for &pid in &strays {
            reap(pid);
        }
        std::thread::yield_now();
    }
}

fn reap(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = waitpid(Some(pid), WaitOptions::NOHANG);
    }
}
