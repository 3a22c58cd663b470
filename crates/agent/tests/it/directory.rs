//! A workspace over a real directory and a real `sh`, unconfined: for the tools' own scripts.

use std::path::Path;
use std::time::Duration;

use agent::ports::{
    Command, CommandEnd, CommandOutput, DiffSummary, EntryKind, Workspace, WorkspaceError,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

pub(crate) struct DirectoryWorkspace(pub(crate) tempfile::TempDir);

impl DirectoryWorkspace {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn root(&self) -> &str {
        self.0.path().to_str().unwrap()
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn bytes(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.0.path().join(path)).unwrap()
    }

    pub(crate) fn git_init(&self) {
        let run = std::process::Command::new("git")
            .args(["init", "-q", self.root()])
            .status();
        assert!(run.unwrap().success());
    }
}

fn refused(error: &std::io::Error) -> WorkspaceError {
    WorkspaceError::Refused(error.to_string())
}

impl Workspace for DirectoryWorkspace {
    fn run<'a>(
        &'a self,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<CommandOutput, WorkspaceError>> {
        self.exec(command)
    }

    fn exec<'a>(
        &'a self,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<CommandOutput, WorkspaceError>> {
        async move {
            let ran = tokio::process::Command::new("sh")
                .args(["-c", &format!("exec 2>&1\n{}", command.text)])
                .current_dir(self.0.path())
                .output()
                .await
                .map_err(|error| refused(&error))?;
            Ok(CommandOutput {
                total: ran.stdout.len() as u64,
                head: ran.stdout,
                tail: vec![],
                sha256: String::new(),
                end: CommandEnd::Exited(ran.status.code().unwrap_or(-1)),
                shell_note: None,
                elapsed: Duration::ZERO,
            })
        }
        .boxed()
    }

    fn entry<'a>(
        &'a self,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Option<EntryKind>, WorkspaceError>> {
        async move {
            Ok(match std::fs::metadata(path) {
                Ok(found) if found.is_dir() => Some(EntryKind::Directory),
                Ok(found) if found.is_file() => Some(EntryKind::File),
                Ok(_) => Some(EntryKind::Other),
                Err(_) => None,
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
            let content = std::fs::read(path).map_err(|error| refused(&error))?;
            if content.len() as u64 > limit {
                return Err(WorkspaceError::Refused("the file is too large".into()));
            }
            Ok(content)
        }
        .boxed()
    }

    fn write<'a>(
        &'a self,
        path: &'a str,
        content: &'a [u8],
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        async move {
            if let Some(parent) = Path::new(path).parent() {
                std::fs::create_dir_all(parent).map_err(|error| refused(&error))?;
            }
            std::fs::write(path, content).map_err(|error| refused(&error))
        }
        .boxed()
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        async move { std::fs::remove_file(path).map_err(|error| refused(&error)) }.boxed()
    }

    fn diff<'a>(&'a self) -> BoxFuture<'a, Result<DiffSummary, WorkspaceError>> {
        async { Ok(DiffSummary::default()) }.boxed()
    }

    fn keep_output<'a>(
        &'a self,
        _: &'a CommandOutput,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        async { Ok(()) }.boxed()
    }
}
