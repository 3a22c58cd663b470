//! This machine's `git apply`, on an index: no work tree, no configuration, no attributes but those of git itself.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use git2::{Index, Oid, Repository};

use super::chain::Refusal;
use super::program;
use crate::error::Cause;
use crate::space;

/// How it is asked to apply a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// As it is.
    Plain,
    /// By a merge with the files that the patch was made from.
    Merged,
    /// The other way round.
    Undo,
}

/// A patch and the tree that it is tried on.
pub(super) struct GitProgram<'a> {
    repository: &'a Repository,
    tree: Oid,
    patch: PathBuf,
    index: PathBuf,
}

impl<'a> GitProgram<'a> {
    /// Writes the patch down beside the repository's objects, without its changes to submodules: their commits are nothing in a workspace.
    pub(super) fn new(
        repository: &'a Repository,
        tree: Oid,
        patch: &[u8],
    ) -> Result<Self, Refusal> {
        let at = repository.path();
        let program = Self {
            repository,
            tree,
            patch: at.join("patch"),
            index: at.join("tried"),
        };
        fs::write(&program.patch, without_submodules(patch)).map_err(Refusal::failed)?;
        Ok(program)
    }

    /// The same patch on another tree.
    pub(super) fn on(self, tree: Oid) -> Self {
        Self { tree, ..self }
    }

    /// The tree that the patch gives in this way; `None` when it does not fit.
    pub(super) fn apply(&self, way: Way) -> Result<Option<Oid>, Refusal> {
        if fs::metadata(&self.patch).map_err(Refusal::failed)?.len() == 0 {
            return Ok(Some(self.tree));
        }
        // What was tried before may have left its conflicts.
        let _ = fs::remove_file(&self.index);
        let mut index = Index::open(&self.index)?;
        index.read_tree(&self.repository.find_tree(self.tree)?)?;
        index.write()?;
        let status = self.run(way).map_err(|error| {
            Refusal::failed(io::Error::new(
                error.kind(),
                format!("the program `git`, which applies patches, cannot be run: {error}"),
            ))
        })?;
        // One that takes for ever fits nobody.
        let Some(status) = status else {
            return Ok(None);
        };
        if !status.success() {
            return self.refused(status);
        }
        if way == Way::Undo {
            return Ok(Some(self.tree));
        }
        index.read(true)?;
        Ok(Some(index.write_tree_to(self.repository)?))
    }

    fn run(&self, way: Way) -> io::Result<Option<ExitStatus>> {
        let ways: &[&str] = match way {
            Way::Plain => &[],
            Way::Merged => &["--3way"],
            Way::Undo => &["--check", "--reverse"],
        };
        let mut command = Command::new("git");
        command
            .args(["apply", "--cached"])
            .args(ways)
            .arg("--")
            .arg(&self.patch)
            .current_dir(self.repository.path())
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("GIT_DIR", self.repository.path())
            .env("GIT_INDEX_FILE", &self.index)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        program::run(&mut command)
    }

    /// What an exit status that is none of success says: mostly, that the patch does not fit.
    fn refused(&self, status: ExitStatus) -> Result<Option<Oid>, Refusal> {
        if status.code() != Some(1) && space::is_full(self.repository.path()) {
            return Err(Refusal::failed(io::ErrorKind::StorageFull.into()));
        }
        if status.code().is_none() {
            let killed = format!("the program `git`, which applies patches, was killed: {status}");
            return Err(Refusal::failed(io::Error::other(killed)));
        }
        Ok(None)
    }
}

impl Refusal {
    /// It could not be tried.
    fn failed(error: io::Error) -> Self {
        Self::NotTried(Cause::from(error))
    }
}

/// The patch without its sections about submodules; as it is where it cannot be read.
fn without_submodules(patch: &[u8]) -> Vec<u8> {
    let Ok(parsed) = patch::parse(patch) else {
        return patch.to_vec();
    };
    let mut kept = patch.to_vec();
    for file in parsed.files.iter().rev().filter(|file| file.is_submodule()) {
        kept.drain(file.range.clone());
    }
    kept
}

/// A repository on disk below `scratch` that has the objects of `borrowed` and keeps what is written into it for itself.
pub(super) fn borrowing(scratch: &Path, borrowed: &[PathBuf]) -> Result<Repository, Cause> {
    let directory = scratch.join("borrowing.git");
    let mut options = git2::RepositoryInitOptions::new();
    options.bare(true).external_template(false);
    drop(Repository::init_opts(&directory, &options)?);
    let mut alternates = Vec::new();
    for objects in borrowed {
        alternates.extend_from_slice(objects.canonicalize()?.as_os_str().as_encoded_bytes());
        alternates.push(b'\n');
    }
    fs::write(directory.join("objects/info/alternates"), alternates)?;
    // Borrowed objects are looked for when it is opened.
    Ok(Repository::open_bare(&directory)?)
}
