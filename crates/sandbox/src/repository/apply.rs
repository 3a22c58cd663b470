//! Putting a patch on the workspace for grading: as it is, else by three-way merge, else with fuzz.

use std::path::Path;

use git2::{Delta, ErrorClass, Index, Oid, Repository};
use patch::FilePatch;
use schema::grading::PatchApplication;

use super::checkout::{Start, honest};
use super::diff::{apply_in_memory, entry, read, write_trees};
use super::fuzzy::{fuzzy, paths};
use super::odb::with_memory_repository;
use super::prepare::{Prepared, mode};
use super::survey::{Survey, Want, survey};
use super::worktree::{Worktree, as_path};
use crate::error::{Cause, Error};

/// Applies a patch to a workspace on the host. Either all of it is there afterwards or nothing has changed. Blocks.
pub(crate) fn apply(
    prepared: &Prepared,
    start: &Start,
    workdir: &Path,
    private: &Path,
    patch: &[u8],
) -> Result<PatchApplication, Error> {
    let Some(patch) = whole(patch) else {
        return Ok(PatchApplication::Empty);
    };
    let lost = |error: Cause| Error::lost(format!("apply a patch in {}", workdir.display()), error);
    let tree = Worktree::open(workdir).map_err(|error| lost(error.into()))?;
    let found =
        survey(prepared, start, &tree, Want::Contents).map_err(|error| lost(error.into()))?;
    match plan(prepared, found, &patch, private).map_err(lost)? {
        None => Ok(PatchApplication::Rejected),
        Some((application, steps)) => {
            install(&tree, steps).map_err(|error| lost(error.into()))?;
            Ok(application)
        }
    }
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

/// How the patch is applied to what was found, and what that does to which file; `None` when it does not apply. An error is that it could not be
/// tried, which says nothing of the patch. Blocks.
pub(super) fn plan(
    prepared: &Prepared,
    found: Survey,
    patch: &[u8],
    private: &Path,
) -> Result<Option<(PatchApplication, Vec<Step>)>, Cause> {
    with_memory_repository(&[&prepared.objects_directory()], |repository| {
        let mut omissions = found.omissions;
        let (_, now) = write_trees(repository, prepared, found.changes, &mut omissions)?;
        match try_all(repository, now, patch, private) {
            Ok((application, new)) => Ok(Ok(Some((application, steps(repository, now, new)?)))),
            Err(Refusal::DoesNotApply) => Ok(Ok(None)),
            Err(Refusal::NotTried(cause)) => Ok(Err(cause)),
        }
    })?
}

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

/// The first way that works, with the tree that it gives.
pub(super) fn try_all(
    repository: &Repository,
    now: Oid,
    patch: &[u8],
    private: &Path,
) -> Result<(PatchApplication, Oid), Refusal> {
    if leads_through_link(repository, now, patch)? {
        return Err(Refusal::DoesNotApply);
    }
    if let Ok(new) = apply_in_memory(repository, now, patch) {
        return Ok((PatchApplication::Applied, new));
    }
    if let Ok(new) = merge(repository, now, patch) {
        return Ok((PatchApplication::AppliedWith3way, new));
    }
    let new = fuzzy(repository, now, patch, private)?;
    Ok((PatchApplication::AppliedWithFuzz, new))
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
        return Ok(paths(patch).iter().any(|path| below_link(&index, path)));
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

/// Applies the patch to the files that it was made from, which its index lines name, and merges the result.
fn merge(repository: &Repository, now: Oid, patch: &[u8]) -> Result<Oid, Cause> {
    let diff = read(patch)?.ok_or("the patch changes no files")?;
    let odb = repository.odb()?;
    let ours = repository.find_tree(now)?;
    let mut index = Index::new()?;
    index.read_tree(&ours)?;
    for delta in diff.deltas() {
        let old = delta.old_file();
        let Some(path) = old.path_bytes().filter(|_| delta.status() != Delta::Added) else {
            continue;
        };
        let name = old.id().to_string();
        let name = name.trim_end_matches('0');
        if name.len() < 4 {
            return Err("the patch does not name what it was made from".into());
        }
        let id = odb.exists_prefix(Oid::from_str(name)?, name.len())?;
        let mode = index
            .get_path(&as_path(path), 0)
            .map_or(mode::FILE, |entry| entry.mode);
        index.add(&entry(path.to_vec(), mode, id))?;
    }
    let base = index.write_tree_to(repository)?;
    let theirs = apply_in_memory(repository, base, patch)?;
    let mut merged = repository.merge_trees(
        &repository.find_tree(base)?,
        &ours,
        &repository.find_tree(theirs)?,
        None,
    )?;
    if merged.has_conflicts() {
        return Err("the merge has conflicts".into());
    }
    Ok(merged.write_tree_to(repository)?)
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
