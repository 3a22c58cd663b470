//! The ways in which the official harness tries to put a patch on a tree, each on the tree as it was.
//!
//! The programs are the harness's own, `git` and `patch` of this machine. They never see a workspace: git works on an index and on objects, `patch` on
//! copies of the files that the patch names, both in a directory where nothing else is.

use git2::{ErrorClass, Index, Oid, Repository};
use patch::FilePatch;
use schema::grading::{Harness, PatchApplication};

use super::checkout::honest;
use super::fuzzy::{self, Fuzzed, fuzzy};
use super::git_program::{GitProgram, Way};
use super::prepare::mode;
use super::worktree::as_path;
use crate::error::Cause;

/// Why a patch is not on a tree.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It does not fit: that is the patch's fault.
    DoesNotApply,
    /// What tries it could not work.
    NotTried(Cause),
}

impl From<Cause> for Refusal {
    /// Trouble with files is the machine's; whatever else stops us lies in the patch.
    fn from(cause: Cause) -> Self {
        let machine = cause.is::<std::io::Error>()
            || cause.downcast_ref::<git2::Error>().is_some_and(|error| {
                matches!(error.class(), ErrorClass::Os | ErrorClass::Filesystem)
            });
        if machine {
            Self::NotTried(cause)
        } else {
            Self::DoesNotApply
        }
    }
}

impl From<git2::Error> for Refusal {
    fn from(error: git2::Error) -> Self {
        Cause::from(error).into()
    }
}

/// The first way that works, with the tree that it gives. `repository` is one on disk that borrows its objects: what is tried is left in it.
///
/// `git apply --reject` is not among them: on a clean tree it takes what `git apply` takes.
pub(super) fn try_all(
    repository: &Repository,
    now: Oid,
    patch: &[u8],
    harness: Harness,
) -> Result<(PatchApplication, Oid), Refusal> {
    if leads_through_link(repository, now, patch)? {
        return Err(Refusal::DoesNotApply);
    }
    let git = GitProgram::new(repository, now, patch)?;
    if let Some(new) = git.apply(Way::Plain)? {
        return Ok((PatchApplication::Applied, new));
    }
    if harness == Harness::V5
        && let Some(new) = git.apply(Way::Merged)?
    {
        return Ok((PatchApplication::AppliedWith3way, new));
    }
    let Fuzzed { fitted, tree } = fuzzy(repository, now, patch)?;
    if fitted {
        return Ok((PatchApplication::AppliedWithFuzz, tree));
    }
    // What the program left out may have been there before: then all of it is there now.
    if harness == Harness::V5 && git.on(tree).apply(Way::Undo)?.is_some() {
        return Ok((PatchApplication::AlreadyApplied, tree));
    }
    Err(Refusal::DoesNotApply)
}

/// Whether the patch has a path that leads out of the tree, or below a symbolic link that it does not take away itself: git refuses such a patch too.
pub(super) fn leads_through_link(
    repository: &Repository,
    now: Oid,
    patch: &[u8],
) -> Result<bool, Cause> {
    let mut index = Index::new()?;
    index.read_tree(&repository.find_tree(now)?)?;
    // What cannot be read is left to `patch`, which knows names by their header lines.
    let Ok(parsed) = patch::parse(patch) else {
        return Ok(fuzzy::paths(patch)
            .iter()
            .any(|path| below_link(&index, path)));
    };
    for file in &parsed.files {
        if let Some(path) = file.old_path().filter(|_| file.new_path().is_none()) {
            let _ = index.remove(&as_path(path.as_bytes()), 0);
        }
    }
    Ok(parsed
        .files
        .iter()
        .filter_map(FilePatch::new_path)
        .any(|path| honest(path.as_bytes()).is_err() || below_link(&index, path.as_bytes())))
}

fn below_link(index: &Index, path: &[u8]) -> bool {
    memchr::memchr_iter(b'/', path).any(|slash| {
        index
            .get_path(&as_path(&path[..slash]), 0)
            .is_some_and(|entry| entry.mode == mode::LINK)
    })
}

#[cfg(test)]
mod tests;
