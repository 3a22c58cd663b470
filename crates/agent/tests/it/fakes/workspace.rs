//! A workspace in memory with a handful of commands.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent::ports::{
    Command, CommandEnd, CommandOutput, DiffSummary, EntryKind, Workspace, WorkspaceError,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use schema::FailureKind;
use tokio_util::sync::CancellationToken;

use super::WORKDIR;

/// Files and commands. Commands are words: `echo TEXT`, `write PATH TEXT`, `fail CODE`, `poll`, `flood BYTES`, `hang` (minds its deadline and
/// its token), `deaf` (minds neither), `lost`, `panic`.
#[derive(Default)]
pub(crate) struct MemoryWorkspace {
    start: BTreeMap<String, Vec<u8>>,
    files: Mutex<BTreeMap<String, Vec<u8>>>,
    /// Every command that was begun, in order.
    pub(crate) commands: Mutex<Vec<String>>,
    /// Outputs that were kept.
    pub(crate) kept: AtomicUsize,
    polls: AtomicUsize,
    /// How often the diff cannot be taken.
    pub(crate) broken_diffs: AtomicUsize,
    /// Cancelled when the process that drives this died: nothing goes on after that.
    pub(crate) killed: Mutex<CancellationToken>,
}

impl MemoryWorkspace {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let files: BTreeMap<String, Vec<u8>> = files
            .iter()
            .map(|(path, content)| (format!("{WORKDIR}/{path}"), content.as_bytes().to_vec()))
            .collect();
        Self {
            start: files.clone(),
            files: Mutex::new(files),
            ..Self::default()
        }
    }

    pub(crate) fn content(&self, path: &str) -> Option<String> {
        let files = self.files.lock().unwrap();
        let bytes = files.get(&format!("{WORKDIR}/{path}"))?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    pub(crate) fn put(&self, path: &str, content: &str) {
        let path = format!("{WORKDIR}/{path}");
        self.files.lock().unwrap().insert(path, content.into());
    }

    async fn alive(&self) {
        let dead = self.killed.lock().unwrap().is_cancelled();
        if dead {
            std::future::pending::<()>().await;
        }
    }

    async fn command(&self, command: &Command) -> Result<CommandOutput, WorkspaceError> {
        self.alive().await;
        self.commands.lock().unwrap().push(command.text.clone());
        let words: Vec<&str> = command.text.splitn(3, ' ').collect();
        let exited = |text: &str, code| Ok(output(text, CommandEnd::Exited(code)));
        match words[..] {
            ["echo", ..] => exited(&command.text[5..], 0),
            ["write", path, content] => {
                self.put(path, content);
                exited("written\n", 0)
            }
            ["fail", code] => exited("failed\n", code.parse().unwrap()),
            ["poll"] => {
                let polls = self.polls.fetch_add(1, Ordering::Relaxed);
                exited(&format!("waiting, {polls} done\n"), 0)
            }
            ["flood", bytes] => exited(&"x".repeat(bytes.parse().unwrap()), 0),
            ["hang"] => {
                let end = tokio::select! {
                    () = command.cancel.cancelled() => CommandEnd::Cancelled,
                    () = tokio::time::sleep(command.timeout) => CommandEnd::TimedOut,
                };
                Ok(output("half\n", end))
            }
            ["deaf"] => std::future::pending().await,
            ["lost"] => Err(WorkspaceError::Failed {
                kind: FailureKind::EnvironmentLost,
                message: "the sandbox is gone".into(),
            }),
            ["panic"] => panic!("a tool that panics"),
            ["exit", ..] | ["command", "exit", ..] => Ok(CommandOutput {
                shell_note: Some("the shell was restarted".into()),
                ..output("", CommandEnd::ShellEnded(0))
            }),
            _ => exited("command not found\n", 127),
        }
    }
}

pub(crate) fn output(text: &str, end: CommandEnd) -> CommandOutput {
    CommandOutput {
        head: text.as_bytes().to_vec(),
        tail: vec![],
        total: text.len() as u64,
        sha256: "0".repeat(64),
        end,
        shell_note: None,
        elapsed: Duration::from_millis(1),
    }
}

impl Workspace for MemoryWorkspace {
    fn run<'a>(
        &'a self,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<CommandOutput, WorkspaceError>> {
        self.command(command).boxed()
    }

    fn exec<'a>(
        &'a self,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<CommandOutput, WorkspaceError>> {
        self.command(command).boxed()
    }

    fn entry<'a>(
        &'a self,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Option<EntryKind>, WorkspaceError>> {
        async move {
            self.alive().await;
            let files = self.files.lock().unwrap();
            let below = format!("{}/", path.trim_end_matches('/'));
            Ok(if files.contains_key(path) {
                Some(EntryKind::File)
            } else if files.keys().any(|file| file.starts_with(&below)) {
                Some(EntryKind::Directory)
            } else {
                None
            })
        }
        .boxed()
    }

    fn read<'a>(
        &'a self,
        path: &'a str,
        limit: u64,
    ) -> BoxFuture<'a, Result<Vec<u8>, WorkspaceError>> {
        async move {
            self.alive().await;
            let files = self.files.lock().unwrap();
            let content = files.get(path).cloned();
            content
                .filter(|content| content.len() as u64 <= limit)
                .ok_or_else(|| WorkspaceError::Refused(format!("cannot read {path}")))
        }
        .boxed()
    }

    fn write<'a>(
        &'a self,
        path: &'a str,
        content: &'a [u8],
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        async move {
            self.alive().await;
            let mut files = self.files.lock().unwrap();
            files.insert(path.to_owned(), content.to_vec());
            Ok(())
        }
        .boxed()
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        async move {
            self.files.lock().unwrap().remove(path);
            Ok(())
        }
        .boxed()
    }

    fn diff<'a>(&'a self) -> BoxFuture<'a, Result<DiffSummary, WorkspaceError>> {
        async move {
            self.alive().await;
            let broken = self.broken_diffs.load(Ordering::Relaxed);
            if broken > 0 {
                self.broken_diffs.store(broken - 1, Ordering::Relaxed);
                return Err(WorkspaceError::Failed {
                    kind: FailureKind::Check,
                    message: "no diff today".into(),
                });
            }
            let files = self.files.lock().unwrap();
            let changed = self
                .start
                .keys()
                .chain(files.keys())
                .filter(|path| self.start.get(*path) != files.get(*path))
                .map(|path| path.trim_start_matches("/repo/").to_owned());
            let (tests, counted) = changed.partition(|path| path.starts_with("tests/"));
            Ok(DiffSummary { counted, tests })
        }
        .boxed()
    }

    fn keep_output<'a>(
        &'a self,
        _: &'a CommandOutput,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        self.kept.fetch_add(1, Ordering::Relaxed);
        async { Ok(()) }.boxed()
    }
}
