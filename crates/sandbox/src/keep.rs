//! The keeper process: `runner __keep …`, re-executed by the backends that run commands on the host.
//!
//! It owns the process tree of one channel. As the tree's subreaper it is the ancestor of everything that the channel starts, however often that
//! forks or changes session. It ends the tree when its program ends, when the runner says so, and when the runner is gone: its standard error
//! is the read end of a pipe whose other end only the runner holds. (A parent-death signal would fire when the *thread* that started it ends.)
//! The last keeper of a dead runner's place also removes the place's directory.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, wait};

use crate::place::removal;
use crate::processes;

/// The argument by which `main` recognises that it has to be a keeper.
pub const ARGUMENT: &str = "__keep";

/// What the runner writes before it closes the pipe: end the tree, the directory stays.
pub(crate) const CLOSE: &[u8] = b"x";

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

    let lifeline = io::stderr().as_fd().try_clone_to_owned()?;
    let child = Command::new(program)
        .args(arguments)
        .stderr(Stdio::from(io::stdout().as_fd().try_clone_to_owned()?))
        .process_group(0)
        .spawn()?;
    let child = child.id();

    let orphaned = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&orphaned);
    std::thread::Builder::new()
        .stack_size(64 * 1024)
        .spawn(move || {
            told.store(!watch(&lifeline), Ordering::SeqCst);
            end_tree();
        })?;

    let status = reap_until(child);
    end_tree_and_reap();
    if orphaned.load(Ordering::SeqCst) {
        remove_directories(&lock, &directory, &kin);
    }
    Ok(code(status))
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

/// Waits for every child, its own and adopted ones, until the program itself has ended.
fn reap_until(child: u32) -> Option<WaitStatus> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if is(pid, child) => return Some(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

fn is(pid: Pid, child: u32) -> bool {
    u32::try_from(pid.as_raw_nonzero().get()) == Ok(child)
}

/// Stops all before it kills any, so that fewer can fork in between.
fn end_tree() {
    let tree = processes::descendants_quickly(std::process::id());
    for signal in [Signal::STOP, Signal::KILL] {
        for &pid in &tree {
            processes::signal(pid, signal);
        }
    }
}

/// Whatever was forked while others were killed becomes a child of this process when its parent dies: each death wakes the wait, and the tree
/// is looked at again until the kernel says that there is no child.
fn end_tree_and_reap() {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => continue,
            Ok(None) => end_tree(),
            Err(_) => return,
        }
        // Something was killed, so this returns.
        let _ = wait(WaitOptions::empty());
    }
}

/// Trading the shared lock for an exclusive one drops it first: of several last keepers exactly one, the last to try, gets it.
fn remove_directories(lock: &File, directory: &Path, kin: &std::ffi::OsStr) {
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
