//! Joins the agent's port to a sandbox: one call each way, errors and outputs translated, whole outputs kept.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agent::ports::{
    Command, CommandEnd, CommandOutput, DiffSummary, EntryKind, Workspace, WorkspaceError,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use patch::{PatchPath, PathClasses, split};
use sandbox::shell::Spool;
use sandbox::{Captured, End, Entry, Kept, RunOptions, Sandbox};
use schema::FailureKind;

use crate::error::chain;
use crate::store::outputs;

/// Outputs up to this are compressed on the spot; longer ones on a thread of their own.
const SMALL: u64 = 256 << 10;

/// How much of outputs is kept where.
#[derive(Debug, Clone, Copy)]
pub struct OutputLimits {
    /// Bytes in memory; at least what the model reads.
    pub memory: usize,
    /// Bytes in the store.
    pub stored: u64,
}

/// A sandbox as the agent sees it.
pub struct SandboxWorkspace {
    sandbox: Arc<Sandbox>,
    classes: Arc<PathClasses>,
    outputs: PathBuf,
    limits: OutputLimits,
    /// What the last command printed, where memory does not hold it all.
    spool: Mutex<Option<(String, Spool)>>,
    edited: AtomicBool,
}

impl SandboxWorkspace {
    /// `sandbox` for the agent; whole outputs go to the directory `outputs`.
    pub fn new(
        sandbox: Arc<Sandbox>,
        classes: Arc<PathClasses>,
        outputs: PathBuf,
        limits: OutputLimits,
    ) -> Self {
        Self {
            sandbox,
            classes,
            outputs,
            limits,
            spool: Mutex::default(),
            edited: AtomicBool::new(false),
        }
    }

    /// Whether anything was ever changed, as far as the edit tool and the completion checks have seen.
    pub fn edited(&self) -> bool {
        self.edited.load(Ordering::Relaxed)
    }

    fn options(&self, command: &Command) -> RunOptions {
        RunOptions {
            timeout: command.timeout,
            idle: command.idle,
            kept: Kept {
                memory: self.limits.memory,
                stored: self.limits.stored,
            },
            ..RunOptions::default()
        }
    }

    fn output(&self, captured: Captured) -> CommandOutput {
        let spool = captured.spool.map(|spool| (captured.sha256.clone(), spool));
        *self.spool() = spool;
        CommandOutput {
            head: captured.head,
            tail: captured.tail,
            total: captured.total,
            sha256: captured.sha256,
            end: end(captured.end),
            shell_note: captured.shell_note,
            elapsed: captured.elapsed,
        }
    }

    fn spool(&self) -> std::sync::MutexGuard<'_, Option<(String, Spool)>> {
        self.spool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn keep(&self, output: &CommandOutput) -> io::Result<()> {
        let held = self.spool().take();
        match held.filter(|(sha256, _)| *sha256 == output.sha256) {
            None => outputs::keep(&self.outputs, &output.sha256, |file| {
                file.write_all(&output.head)?;
                file.write_all(&output.tail)
            }),
            Some((sha256, mut spool)) if output.total <= SMALL => {
                outputs::keep(&self.outputs, &sha256, |file| spool.copy_to(file))
            }
            Some((sha256, mut spool)) => {
                let directory = self.outputs.clone();
                tokio::task::spawn_blocking(move || {
                    outputs::keep(&directory, &sha256, |file| spool.copy_to(file))
                })
                .await
                .unwrap_or_else(|panic| Err(io::Error::other(panic)))
            }
        }
    }
}

fn end(end: End) -> CommandEnd {
    match end {
        End::Exited(code) => CommandEnd::Exited(code),
        End::ShellEnded(code) => CommandEnd::ShellEnded(code),
        End::TimedOut => CommandEnd::TimedOut,
        End::Idle => CommandEnd::Idle,
        End::OutputLimit => CommandEnd::OutputLimit,
        End::Cancelled => CommandEnd::Cancelled,
    }
}

fn refused(error: sandbox::Error) -> WorkspaceError {
    match error {
        sandbox::Error::Refused(message) => WorkspaceError::Refused(message),
        error => WorkspaceError::Failed {
            kind: error.kind(),
            message: chain(&error),
        },
    }
}

/// Paths of a patch as the completion check wants them.
pub(crate) fn summary(
    full: &[u8],
    classes: &PathClasses,
) -> Result<DiffSummary, patch::ParseError> {
    if full.is_empty() {
        return Ok(DiffSummary::default());
    }
    let split = split(full, classes)?;
    let names = |paths: &[PatchPath]| -> Vec<String> {
        paths
            .iter()
            .map(|path| path.to_str_lossy().into_owned())
            .collect()
    };
    let mut counted = names(&split.source_files);
    counted.extend(names(&split.runner_config_files));
    Ok(DiffSummary {
        counted,
        tests: names(&split.test_files),
    })
}

impl Workspace for SandboxWorkspace {
    fn run<'a>(
        &'a self,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<CommandOutput, WorkspaceError>> {
        async move {
            let options = self.options(command);
            let ran = self.sandbox.run(&command.text, &options, &command.cancel);
            ran.await
                .map(|captured| self.output(captured))
                .map_err(refused)
        }
        .boxed()
    }

    fn exec<'a>(
        &'a self,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<CommandOutput, WorkspaceError>> {
        async move {
            let options = self.options(command);
            let ran = self.sandbox.exec(&command.text, &options, &command.cancel);
            ran.await
                .map(|captured| self.output(captured))
                .map_err(refused)
        }
        .boxed()
    }

    fn entry<'a>(
        &'a self,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Option<EntryKind>, WorkspaceError>> {
        async move {
            let entry = self.sandbox.entry(path).await.map_err(refused)?;
            Ok(entry.map(|entry| match entry {
                Entry::File => EntryKind::File,
                Entry::Directory => EntryKind::Directory,
                Entry::Other => EntryKind::Other,
            }))
        }
        .boxed()
    }

    fn read<'a>(
        &'a self,
        path: &'a str,
        limit: u64,
    ) -> BoxFuture<'a, Result<Vec<u8>, WorkspaceError>> {
        async move { self.sandbox.read(path, limit).await.map_err(refused) }.boxed()
    }

    fn write<'a>(
        &'a self,
        path: &'a str,
        content: &'a [u8],
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        async move {
            self.sandbox.write(path, content).await.map_err(refused)?;
            self.edited.store(true, Ordering::Relaxed);
            Ok(())
        }
        .boxed()
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        async move { self.sandbox.remove_file(path).await.map_err(refused) }.boxed()
    }

    fn diff<'a>(&'a self) -> BoxFuture<'a, Result<DiffSummary, WorkspaceError>> {
        async move {
            let diff = self.sandbox.diff().await.map_err(refused)?;
            if !diff.full.is_empty() {
                self.edited.store(true, Ordering::Relaxed);
            }
            summary(&diff.full, &self.classes).map_err(|error| WorkspaceError::Failed {
                kind: FailureKind::Internal,
                message: format!("our own diff cannot be read: {}", chain(&error)),
            })
        }
        .boxed()
    }

    fn keep_output<'a>(
        &'a self,
        output: &'a CommandOutput,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        async move {
            self.keep(output).await.map_err(|error| {
                let kind = if error.kind() == io::ErrorKind::StorageFull {
                    FailureKind::EnvironmentDisk
                } else {
                    FailureKind::Internal
                };
                WorkspaceError::Failed {
                    kind,
                    message: format!(
                        "could not keep an output in `{}`: {error}",
                        self.outputs.display()
                    ),
                }
            })
        }
        .boxed()
    }
}
