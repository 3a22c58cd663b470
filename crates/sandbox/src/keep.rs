//! The keeper process: `runner __keep …`, re-executed by the backends that run commands on the host.
//!
//! It owns the process tree of one channel. As the tree's subreaper it is the ancestor of everything that the channel starts, however often that
//! forks or changes session. It ends the tree when its program ends, when the runner says so, and when the runner is gone: its standard error
//! is the read end of a pipe whose other end only the runner holds. (A parent-death signal would fire when the *thread* that started it ends.)
//! The last keeper of a dead runner's place also removes the place's directory.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, getpid, kill_process,
    kill_process_group, wait, waitid,
};

use crate::place::removal;
use crate::processes;

/// The argument by which `main` recognises that it has to be a keeper.
pub const ARGUMENT: &str = "__keep";

/// What the runner writes before it closes the pipe: end the tree, the directory stays.
pub(crate) const CLOSE: &[u8] = b"x";

/// How long the tree may take to be gone once it is killed. What is left then is out of this process's reach.
const END: Duration = Duration::from_secs(5);

/// How often the ending tree is looked at when nothing is heard of it.
const LOOK: Duration = Duration::from_millis(20);

/// Exit code when the program could not be started.
const NOT_STARTED: u8 = 127;

/// File in a place's directory that every living keeper of the place holds a shared lock on.
pub(crate) const LOCK_FILE: &str = "lock";

/// Runs the keeper: call it before anything else in `main` when the first argument is [`ARGUMENT`], with the arguments after that.
///
/// They are the place's directory, the prefix of the names that its runner gives to directories beside it, and the program with its arguments.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    match keep(arguments) {
        Ok(code) => ExitCode::from(code),
        Err(_) => ExitCode::from(NOT_STARTED),
    }
}

fn keep(mut arguments: impl Iterator<Item = OsString>) -> io::Result<u8> {
    let usage = || io::Error::from(io::ErrorKind::InvalidInput);
    let directory = PathBuf::from(arguments.next().ok_or_else(usage)?);
    let kin = arguments.next().ok_or_else(usage)?;
    let program = arguments.next().ok_or_else(usage)?;

    // Being a session leader already would be fine too; nothing else can go wrong.
    let _ = rustix::process::setsid();
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let lock = File::open(directory.join(LOCK_FILE))?;
    flock(&lock, FlockOperation::LockShared)?;

    let lifeline = Arc::new(io::stderr().as_fd().try_clone_to_owned()?);
    let child = Command::new(program)
        .args(arguments)
        .stderr(Stdio::from(io::stdout().as_fd().try_clone_to_owned()?))
        .process_group(0)
        .spawn()?;
    let tree = Arc::new(Tree::of(child.id())?);

    let (tell, events) = channel();
    let tell_of_runner = tell.clone();
    let watched = Arc::clone(&lifeline);
    spawn(move || {
        let event = if watch(&watched) {
            Event::Asked
        } else {
            Event::Orphaned
        };
        // Nobody listens any more when the keeper is about to end.
        let _ = tell_of_runner.send(event);
    })?;
    let reaped = Arc::clone(&tree);
    spawn(move || reaped.reap(&tell))?;

    let mut ending = tree.end(&events);
    // A program that reads from its runner may end of that runner's end before this process hears of it.
    if !ending.asked && !ending.orphaned && has_news(&lifeline) {
        while !ending.asked && !ending.orphaned {
            match events.recv_timeout(END) {
                Ok(event) => ending.hear(&event),
                Err(_) => break,
            }
        }
    }
    if ending.orphaned {
        remove_directories(&lock, &directory, &kin);
    }
    if !ending.empty {
        // Its runner takes a keeper that was killed for one that left strays.
        let _ = kill_process(getpid(), Signal::KILL);
    }
    Ok(code(ending.status))
}

fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new()
        .stack_size(64 * 1024)
        .spawn(work)
        .map(drop)
}

/// What the keeper's main thread hears.
enum Event {
    /// The runner asks for the end.
    Asked,
    /// The runner is gone.
    Orphaned,
    /// The program itself has ended.
    Ended(WaitStatus),
    /// Something else has, while the tree is being ended.
    Reaped,
    /// There is no child any more, hence no tree.
    Empty,
}

/// How it came to an end.
#[derive(Default)]
struct Ending {
    status: Option<WaitStatus>,
    asked: bool,
    orphaned: bool,
    empty: bool,
}

impl Ending {
    fn hear(&mut self, event: &Event) {
        match *event {
            Event::Reaped => {}
            Event::Asked => self.asked = true,
            Event::Orphaned => self.orphaned = true,
            Event::Ended(status) => self.status = Some(status),
            Event::Empty => self.empty = true,
        }
    }
}

/// The program and everything below it.
struct Tree {
    program: Pid,
    /// Whether the program's number is still its own.
    waits: Mutex<bool>,
    ending: AtomicBool,
}

impl Tree {
    fn of(program: u32) -> io::Result<Self> {
        let program = i32::try_from(program).ok().and_then(Pid::from_raw);
        Ok(Self {
            program: program.ok_or(io::ErrorKind::InvalidData)?,
            waits: Mutex::new(true),
            ending: AtomicBool::new(false),
        })
    }

    /// Waits for every child, its own and adopted ones, until there is none.
    fn reap(&self, tell: &Sender<Event>) {
        loop {
            // Only looks: the number of what has ended is given back under the lock.
            let event = match waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
                Ok(_) => self.collect(),
                Err(rustix::io::Errno::INTR) => None,
                Err(_) => Some(Event::Empty),
            };
            let empty = matches!(event, Some(Event::Empty));
            if event.is_some_and(|event| tell.send(event).is_err()) || empty {
                return;
            }
        }
    }

    fn collect(&self) -> Option<Event> {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        let (pid, status) = wait(WaitOptions::NOHANG).ok()??;
        if pid == self.program {
            *waits = false;
            return Some(Event::Ended(status));
        }
        self.ending.load(Ordering::SeqCst).then_some(Event::Reaped)
    }

    /// Waits for a reason to end the tree, then for its end. What is forked while others are killed becomes a child of this process when its
    /// parent dies: each death is a reason to look again.
    fn end(&self, events: &Receiver<Event>) -> Ending {
        let mut ending = Ending::default();
        if let Ok(event) = events.recv() {
            ending.hear(&event);
        }
        self.ending.store(true, Ordering::SeqCst);
        let deadline = Instant::now() + END;
        while !ending.empty && Instant::now() < deadline {
            self.kill();
            match events.recv_timeout(LOOK) {
                Ok(event) => ending.hear(&event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            for event in events.try_iter() {
                ending.hear(&event);
            }
        }
        ending
    }

    /// Stops all before it kills any, so that fewer can fork in between.
    fn kill(&self) {
        let tree = processes::descendants_quickly(std::process::id());
        for signal in [Signal::STOP, Signal::KILL] {
            for &pid in &tree {
                processes::signal(pid, signal);
            }
        }
        // Also where `/proc` shows nothing.
        let waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        if *waits {
            let _ = kill_process_group(self.program, Signal::KILL);
            let _ = kill_process(self.program, Signal::KILL);
        }
    }
}

/// Whether the runner has said something, or is gone.
fn has_news(lifeline: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(lifeline, PollFlags::IN)];
    let now = rustix::event::Timespec::default();
    poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
}

/// Waits until the runner asks for the end (`true`) or is gone (`false`).
fn watch(lifeline: &impl AsFd) -> bool {
    loop {
        let mut fds = [PollFd::new(lifeline, PollFlags::IN)];
        match poll(&mut fds, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
            Ok(_) => {
                let mut byte = [0; 1];
                match rustix::io::read(lifeline, &mut byte) {
                    Err(rustix::io::Errno::INTR) => {}
                    Ok(read) if read > 0 => return true,
                    Ok(_) | Err(_) => return false,
                }
            }
        }
    }
}

/// Trading the shared lock for an exclusive one drops it first: of several last keepers exactly one, the last to try, gets it.
fn remove_directories(lock: &File, directory: &Path, kin: &OsStr) {
    if flock(lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return;
    }
    let _ = removal::remove_tree(directory);
    if let Some(root) = directory.parent() {
        removal::remove_kin(root, kin);
    }
}

fn code(status: Option<WaitStatus>) -> u8 {
    let code = status.map_or(Some(1), |status| {
        status
            .exit_status()
            .or_else(|| status.terminating_signal().map(|signal| 128 + signal))
    });
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
