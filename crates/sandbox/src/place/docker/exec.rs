//! Programs beside the main process: each is an exec of its own, as the same user.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bollard::Docker;
use bollard::container::LogOutput;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use bytes::{Bytes, BytesMut};
use rustix::process::Signal;
use tokio::time::{Instant, sleep, timeout_at};

use super::boot;
use super::call::{self, Failure};
use super::channel::{self, Frames, Input, Output, Sink};
use super::stuck;
use crate::error::Error;
use crate::place::{Channel, Ended, Launch};

/// How long the engine may take to start one, on a machine that is busy with many.
const START: Duration = Duration::from_secs(30);
/// How long it may take to know that one is gone.
const GONE: Duration = Duration::from_secs(3);
/// How often it is asked.
const ASK: Duration = Duration::from_millis(5);
/// Most bytes that may come before the wrapper's first word.
const GREETING: usize = 64 << 10;
/// Bytes of them that are told of.
const TOLD: usize = 1 << 10;
/// Capacity for its output, in bytes: the engine's frames hold up to 32 KiB.
const CAPACITY: usize = 64 << 10;

const SWEEP: &str = include_str!("sweep.sh");
const WRAP: &str = include_str!("wrap.sh");
/// Becomes the program, since no process may be free for it.
const BECOME: &str = "ulimit -S -n 65536 2>/dev/null; echo \"$$\" >&2; exec \"$@\" 2>&1";

/// The shell that the main process was started with, before anybody could put another in its place.
const OWN: &str = "/proc/1/exe";
const IMAGES: &str = "/bin/sh";
/// Where the launched program stands among the words after the shell, which are `-c`, its script, and its name.
const PROGRAM: usize = 3;
/// What the engine says where it could start everything but the program itself.
const RUNTIME: &str = "OCI runtime";

/// Which shell a container's programs are started by: the one that started the first of them, before anybody worked in there. Whoever works there can
/// make either fail, and is not to choose by that.
#[derive(Debug, Default)]
pub(super) struct Entry {
    settled: Mutex<Option<&'static str>>,
}

impl Entry {
    /// Forgets it with the main process that it belonged to.
    pub(super) fn forget(&self) {
        *self.settled() = None;
    }

    fn settled(&self) -> MutexGuard<'_, Option<&'static str>> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A started exec.
pub(super) struct Exec {
    id: String,
    frames: Frames,
    sink: Sink,
    /// Output that came before the wrapper's first word: the engine carries the two streams apart.
    early: Bytes,
    /// What came with that word.
    rest: Bytes,
    /// The number of its first process, as it sees itself.
    root: u32,
}

/// Why none was started.
pub(super) enum NotStarted {
    /// The engine's answer.
    Call(Failure),
    /// What came instead of the program.
    Said(String),
}

impl NotStarted {
    pub(super) fn losing(self, operation: impl Into<String>) -> Error {
        match self {
            Self::Call(failure) if failure.message().contains(RUNTIME) => Error::NotStarted {
                said: failure.message().trim().to_owned(),
            },
            Self::Call(failure) => failure.losing(operation),
            Self::Said(said) => Error::NotStarted { said },
        }
    }

    /// Whether the engine did its part, and the program was not what it should be.
    fn is_of_the_program(&self) -> bool {
        match self {
            Self::Call(failure) => failure.message().contains(RUNTIME),
            Self::Said(_) => true,
        }
    }

    /// Whether that is sure without another look at the container.
    pub(super) fn is_explained(&self) -> bool {
        let said = match self {
            Self::Call(failure) => failure.message(),
            Self::Said(said) => said,
        };
        ["no such file or directory", "permission denied"]
            .iter()
            .any(|word| said.contains(word))
    }
}

/// Starts a program, under the wrapper unless it needs none.
pub(super) async fn start(
    docker: &Docker,
    container: &str,
    entry: &Entry,
    launch: &Launch,
) -> Result<Exec, NotStarted> {
    let mut command = vec![
        String::from("-c"),
        boot::bare(&if launch.lasting {
            BECOME.to_owned()
        } else {
            format!("{SWEEP}{WRAP}")
        }),
        String::from("exec"),
    ];
    command.extend_from_slice(&launch.arguments);
    run(docker, container, entry, command, launch.directory.clone()).await
}

/// Ends what descends from a process that an exec, or the container, was started with.
pub(super) async fn sweep(
    docker: &Docker,
    container: &str,
    entry: &Entry,
    root: u32,
) -> Result<(), NotStarted> {
    let own = if root == 1 { "" } else { "kill -9 \"$1\"\n" };
    let sweep = boot::bare(SWEEP);
    let script = format!("{sweep}echo \"$$\" >&2\nsweep \"$1\" 2>/dev/null\n{own}");
    let command = ["-c", &script, "sweep", &root.to_string()]
        .map(str::to_owned)
        .to_vec();
    let directory = Some(String::from("/"));
    let mut exec = run(docker, container, entry, command, directory).await?;
    let until = Instant::now() + START;
    loop {
        match timeout_at(until, channel::next(&mut exec.frames)).await {
            Ok(Some(Ok(_))) => {}
            Ok(None) => return Ok(()),
            Ok(Some(Err(error))) => return Err(NotStarted::Said(error.to_string())),
            Err(_) => return Err(NotStarted::Call(Failure::Late)),
        }
    }
}

/// Gives arguments to a container's shell. Calls for one container come one after the other.
async fn run(
    docker: &Docker,
    container: &str,
    entry: &Entry,
    arguments: Vec<String>,
    directory: Option<String>,
) -> Result<Exec, NotStarted> {
    let with = |shell: &str| {
        let words = arguments.iter().enumerate().map(|(at, word)| {
            let is_shell = at == PROGRAM && word == IMAGES;
            if is_shell { shell } else { word }.to_owned()
        });
        std::iter::once(shell.to_owned()).chain(words).collect()
    };
    let settled = *entry.settled();
    if let Some(shell) = settled {
        return run_command(docker, container, with(shell), directory).await;
    }
    let own = run_command(docker, container, with(OWN), directory.clone()).await;
    let (shell, started) = match own {
        // One that finds its work by its own name (busybox) is another program under this one.
        Err(failed) if failed.is_of_the_program() => {
            let images = run_command(docker, container, with(IMAGES), directory).await;
            (IMAGES, images)
        }
        own => (OWN, own),
    };
    if started.is_ok() {
        *entry.settled() = Some(shell);
    }
    started
}

async fn run_command(
    docker: &Docker,
    container: &str,
    command: Vec<String>,
    directory: Option<String>,
) -> Result<Exec, NotStarted> {
    let until = Instant::now() + START;
    let options = CreateExecOptions {
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        cmd: Some(command),
        working_dir: directory,
        ..CreateExecOptions::default()
    };
    let id = call::by(until, docker.create_exec(container, options))
        .await
        .map_err(NotStarted::Call)?
        .id;
    let options = StartExecOptions {
        output_capacity: Some(CAPACITY),
        ..StartExecOptions::default()
    };
    let start = call::by(until, docker.start_exec(&id, Some(options)));
    let started = stuck::through(container, Signal::CONT, start).await;
    if let Err(Failure::Late) = started {
        stuck::send(container, Signal::KILL).await;
    }
    let started = started.map_err(NotStarted::Call)?;
    let StartExecResults::Attached { output, input } = started else {
        return Err(NotStarted::Said(String::from("it is detached")));
    };
    let mut frames: Frames = output;
    let Greeting { root, early, rest } = match stuck::through(
        container,
        Signal::CONT,
        timeout_at(until, greeting(&mut frames)),
    )
    .await
    {
        Err(_) => {
            stuck::send(container, Signal::KILL).await;
            return Err(NotStarted::Call(Failure::Late));
        }
        Ok(greeting) => greeting?,
    };
    Ok(Exec {
        id,
        frames,
        sink: input,
        early,
        rest,
        root,
    })
}

struct Greeting {
    root: u32,
    early: Bytes,
    rest: Bytes,
}

/// Waits for the wrapper's first word, or for what the engine says in its place.
async fn greeting(frames: &mut Frames) -> Result<Greeting, NotStarted> {
    let mut early = BytesMut::new();
    let mut errors = BytesMut::new();
    loop {
        match channel::next(frames).await {
            Some(Ok(LogOutput::StdErr { message })) => {
                errors.extend_from_slice(&message);
                if let Some((root, rest)) = root(&mut errors) {
                    early.extend_from_slice(&errors);
                    return Ok(Greeting {
                        root,
                        early: early.freeze(),
                        rest,
                    });
                }
            }
            Some(Ok(frame)) => early.extend_from_slice(&frame.into_bytes()),
            Some(Err(error)) => return Err(NotStarted::Said(error.to_string())),
            None => {
                early.extend_from_slice(&errors);
                let said = String::from_utf8_lossy(&early).trim().to_owned();
                return Err(NotStarted::Said(if said.is_empty() {
                    String::from("its stream ended at once")
                } else {
                    said
                }));
            }
        }
        if early.len() + errors.len() > GREETING {
            early.extend_from_slice(&errors);
            let said = String::from_utf8_lossy(&early[..TOLD]);
            let said = format!("it printed more than {GREETING} bytes before it began: {said}");
            return Err(NotStarted::Said(said));
        }
    }
}

/// The number in a line of its own, which a shell's complaints of its environment may come before, and what follows it. The complaints stay in `errors`.
fn root(errors: &mut BytesMut) -> Option<(u32, Bytes)> {
    let mut start = 0;
    while let Some(length) = memchr::memchr(b'\n', errors.get(start..)?) {
        let line = &errors[start..start + length];
        if let Some(number) = std::str::from_utf8(line)
            .ok()
            .and_then(|it| it.parse().ok())
        {
            let rest = errors.split_off(start + length + 1).freeze();
            errors.truncate(start);
            return Some((number, rest));
        }
        start += length + 1;
    }
    None
}

impl Exec {
    /// As a channel; `guard` takes the number of its first process, its identifier, and a flag that is set when it is gone.
    pub(super) fn into_channel(
        self,
        docker: Docker,
        guard: impl FnOnce(u32, String, Arc<AtomicBool>) -> Box<dyn Send + Sync>,
    ) -> Channel {
        let gone = Arc::new(AtomicBool::new(false));
        let (output, heard) = Output::new(self.frames, self.early, &self.rest, false);
        let guard = guard(self.root, self.id.clone(), Arc::clone(&gone));
        let id = self.id;
        Channel {
            input: Box::new(Input::new(self.sink)),
            output: Box::new(output),
            ended: Box::pin(async move {
                let _ = heard.await;
                let ended = ended(&docker, &id).await;
                gone.store(ended.code.is_some(), Ordering::Relaxed);
                ended
            }),
            keeper: None,
            guard,
        }
    }
}

/// Asks the engine for the exit code until it knows that the program is gone.
async fn ended(docker: &Docker, id: &str) -> Ended {
    let until = Instant::now() + GONE;
    while let Ok(exec) = call::by(until, docker.inspect_exec(id)).await {
        if exec.running != Some(true) {
            let code = exec.exit_code.and_then(|code| i32::try_from(code).ok());
            return Ended { code };
        }
        sleep(ASK).await;
    }
    Ended { code: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_of_a_shell_are_told_apart_from_its_greeting() {
        let mut errors = BytesMut::from("sh: warning: setlocale\n");
        assert_eq!(root(&mut errors), None);
        errors.extend_from_slice(b"41\nmore");
        let (number, rest) = root(&mut errors).unwrap();
        assert_eq!((number, &rest[..]), (41, &b"more"[..]));
        assert_eq!(&errors[..], b"sh: warning: setlocale\n");
    }
}
