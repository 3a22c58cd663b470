//! Putting a patch, and the tests that judge it, on a workspace.

use std::path::Path;

use git2::{Delta, Index, Oid, Repository};
use patch::PatchPath;
use schema::grading::{Harness, PatchApplication};

use super::chain::{Refusal, try_all};
use super::checkout::Start;
use super::diff::write_trees;
use super::git_program::borrowing;
use super::prepare::{Prepared, mode};
use super::survey::{Survey, Want, survey};
use super::worktree::{Worktree, as_path};
use crate::error::{Cause, Error};

/// A patch that is to be graded, and what goes on after it.
#[derive(Debug, Clone, Default)]
pub struct Staging {
    /// The patch.
    pub patch: Vec<u8>,
    /// Generation of the official harness whose ways are tried.
    pub harness: Harness,
    /// Paths that are as they were before the patch, whatever it did to them.
    pub restored: Vec<PatchPath>,
    /// Paths at which nothing is left, whoever put it there.
    pub removed: Vec<PatchPath>,
    /// The change to the tests; `None` where nobody asks for one.
    pub test_patch: Option<Vec<u8>>,
}

/// What became of a [`Staging`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Staged {
    /// Of the patch. One that was rejected has changed nothing, and no test was touched then.
    pub patch: PatchApplication,
    /// Of the change to the tests, where there is one; where it was rejected, nothing was changed.
    pub tests: Option<PatchApplication>,
}

/// Stages a patch on a workspace of the host. Either all of it is there afterwards or nothing has changed. Blocks.
pub(crate) fn stage(
    prepared: &Prepared,
    start: &Start,
    workdir: &Path,
    private: &Path,
    staging: &Staging,
) -> Result<Staged, Error> {
    let place = workdir.display().to_string();
    let tree = Worktree::open(workdir).map_err(|error| lost(&place, error.into()))?;
    stage_in(prepared, start, &tree, &place, private, staging)
}

/// The same on an opened workspace, which is known as `place`. Blocks.
pub(crate) fn stage_in(
    prepared: &Prepared,
    start: &Start,
    tree: &Worktree,
    place: &str,
    private: &Path,
    staging: &Staging,
) -> Result<Staged, Error> {
    let found =
        survey(prepared, start, tree, Want::Contents).map_err(|error| lost(place, error.into()))?;
    let (staged, steps) =
        plan(prepared, found, staging, private).map_err(|error| lost(place, error))?;
    install(tree, steps).map_err(|error| lost(place, error.into()))?;
    Ok(staged)
}

fn lost(place: &str, error: Cause) -> Error {
    Error::lost(format!("apply a patch in {place}"), error)
}

/// The patch with the last newline that it may lack; `None` when there is nothing in it.
pub(super) fn whole(patch: &[u8]) -> Option<Vec<u8>> {
    if patch.trim_ascii().is_empty() {
        return None;
    }
    let mut patch = patch.to_vec();
    if !patch.ends_with(b"\n") {
        patch.push(b'\n');
    }
    Some(patch)
}

/// How a patch is staged on what was found, and what that does to which file. An error is that it could not be tried, which says nothing of the patch.
/// Blocks.
pub(super) fn plan(
    prepared: &Prepared,
    found: Survey,
    staging: &Staging,
    private: &Path,
) -> Result<(Staged, Vec<Step>), Cause> {
    let scratch = tempfile::tempdir_in(private)?;
    let repository = borrowing(scratch.path(), &[prepared.objects_directory()])?;
    let mut omissions = found.omissions;
    let (_, now) = write_trees(&repository, prepared, found.changes, &mut omissions)?;
    let (patch, patched) = tried(&repository, now, &staging.patch, staging.harness)?;
    let mut staged = Staged { patch, tests: None };
    if patch == PatchApplication::Rejected {
        return Ok((staged, Vec::new()));
    }
    let mut new = with_tests_restored(&repository, now, patched, staging)?;
    if let Some(test_patch) = &staging.test_patch {
        // By whom the patch came is no matter here: what the row's own tests are is not a question of generations.
        let (application, tested) = tried(&repository, new, test_patch, Harness::V5)?;
        staged.tests = Some(application);
        if application == PatchApplication::Rejected {
            return Ok((staged, Vec::new()));
        }
        new = tested;
    }
    Ok((staged, steps(&repository, now, new)?))
}

fn tried(
    repository: &Repository,
    now: Oid,
    patch: &[u8],
    harness: Harness,
) -> Result<(PatchApplication, Oid), Cause> {
    let Some(patch) = whole(patch) else {
        return Ok((PatchApplication::Empty, now));
    };
    match try_all(repository, now, &patch, harness) {
        Ok(done) => Ok(done),
        Err(Refusal::DoesNotApply) => Ok((PatchApplication::Rejected, now)),
        Err(Refusal::NotTried(cause)) => Err(cause),
    }
}

/// The patched tree with the tests as they were, and nothing at the paths that are to be free.
fn with_tests_restored(
    repository: &Repository,
    before: Oid,
    patched: Oid,
    staging: &Staging,
) -> Result<Oid, git2::Error> {
    if staging.restored.is_empty() && staging.removed.is_empty() {
        return Ok(patched);
    }
    let mut original = Index::new()?;
    original.read_tree(&repository.find_tree(before)?)?;
    let mut index = Index::new()?;
    index.read_tree(&repository.find_tree(patched)?)?;
    // First of all what stands in the way: a file may have taken a directory's place, and the other way round.
    for path in staging.restored.iter().chain(&staging.removed) {
        clear(&mut index, path.as_bytes())?;
    }
    for path in &staging.restored {
        if let Some(entry) = original.get_path(&as_path(path.as_bytes()), 0) {
            index.add(&entry)?;
        }
    }
    index.write_tree_to(repository)
}

/// Takes away what stands at a path, below it, and in the place of a directory above it.
fn clear(index: &mut Index, path: &[u8]) -> Result<(), git2::Error> {
    let above = memchr::memchr_iter(b'/', path).map(|slash| &path[..slash]);
    for path in above.chain([path]) {
        if index.get_path(&as_path(path), 0).is_some() {
            index.remove(&as_path(path), 0)?;
        }
    }
    index.remove_dir(&as_path(path), 0)
}

/// What one file becomes.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) path: Vec<u8>,
    /// Mode and content; `None` when it goes.
    pub(super) now: Option<(u32, Vec<u8>)>,
}

/// What turns one tree into another: deletions first.
pub(super) fn steps(repository: &Repository, old: Oid, new: Oid) -> Result<Vec<Step>, git2::Error> {
    let (old, new) = (repository.find_tree(old)?, repository.find_tree(new)?);
    let diff = repository.diff_tree_to_tree(Some(&old), Some(&new), None)?;
    let (mut deletions, mut writes) = (Vec::new(), Vec::new());
    for delta in diff.deltas() {
        let file = delta.new_file();
        let Some(path) = file.path_bytes().map(<[u8]>::to_vec) else {
            continue;
        };
        let mode = u32::from(file.mode());
        match delta.status() {
            Delta::Deleted => deletions.push(Step { path, now: None }),
            // The commit of a submodule is nothing on disk.
            _ if mode == mode::SUBMODULE => {}
            _ => {
                let content = repository.find_blob(file.id())?.content().to_vec();
                writes.push(Step {
                    path,
                    now: Some((mode, content)),
                });
            }
        }
    }
    deletions.append(&mut writes);
    Ok(deletions)
}

fn install(tree: &Worktree, steps: Vec<Step>) -> std::io::Result<()> {
    for step in steps {
        match step.now {
            None => tree.remove(&step.path)?,
            Some((mode, content)) => tree.write(&step.path, mode, &content)?,
        }
    }
    Ok(())
}
