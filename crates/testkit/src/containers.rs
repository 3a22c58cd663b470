//! Containers of tests, removed whatever became of the test.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a removal may take. A container can stop the engine's own process in it, and a removal then waits for ever.
const REMOVAL: Duration = Duration::from_secs(30);
/// How often it is looked whether it is done.
const LOOK: Duration = Duration::from_millis(20);

/// Removes containers from the usual engine, by name; each removal has an end. For use in a `drop`: a test that has failed already is only told.
///
/// # Panics
/// When one is not removed, unless the thread panics already.
#[expect(clippy::print_stderr, reason = "what is left must be named")]
pub fn remove_containers(names: impl IntoIterator<Item = String>) {
    let problems: Vec<String> = names
        .into_iter()
        .filter_map(|name| removed("docker", &name, REMOVAL).err())
        .collect();
    let problem = problems.join("; ");
    if thread::panicking() && !problem.is_empty() {
        eprintln!("{problem}");
    } else {
        assert!(problem.is_empty(), "{problem}");
    }
}

/// Removes one by a program that takes the engine's words.
fn removed(program: &str, name: &str, limit: Duration) -> Result<(), String> {
    let words = ["rm", "--force", "--volumes", name];
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("the container {name} is left: {program}: {error}"))?;
    let status = wait(&mut child, limit);
    if status.is_none() {
        let _ = child.kill();
    }
    let said = child.wait_with_output().map(|output| output.stderr);
    let said = String::from_utf8_lossy(&said.unwrap_or_default()).into_owned();
    match status {
        Some(status) if status.success() || said.contains("No such container") => Ok(()),
        Some(_) => Err(format!("the container {name} is left: {}", said.trim())),
        None => Err(format!(
            "the container {name} is left: its removal did not end within {} s",
            limit.as_secs_f32()
        )),
    }
}

/// How a child ended; `None` when it goes on.
fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let until = Instant::now() + limit;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() >= until {
            return None;
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// What comes of a removal by an engine that does this.
    fn with(script: &str, limit: Duration) -> Result<(), String> {
        let directory = tempfile::tempdir().expect("a directory");
        let program = directory.path().join("engine");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("a file");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&program, mode).expect("a mode");
        removed(program.to_str().expect("a path"), "it", limit)
    }

    #[test]
    fn a_removal_has_an_end_and_says_what_is_left() {
        let long = REMOVAL;
        assert_eq!(with("[ \"$*\" = 'rm --force --volumes it' ]", long), Ok(()));
        let gone = "echo 'Error: No such container: it' >&2; exit 1";
        assert_eq!(with(gone, long), Ok(()));
        let busy = with("echo 'device busy' >&2; exit 1", long).unwrap_err();
        assert_eq!(busy, "the container it is left: device busy");
        let started = Instant::now();
        let hangs = with("exec sleep 1000", Duration::from_millis(100)).unwrap_err();
        assert!(hangs.contains("did not end within 0.1 s"), "{hangs}");
        assert!(started.elapsed() < REMOVAL);
    }
}
