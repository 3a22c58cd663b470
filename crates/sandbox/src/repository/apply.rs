//! Putting a patch on the workspace for grading: as it is, else by three-way merge, else with fuzz.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use git2::{Delta, Index, ObjectType, Oid, Repository};
use patch::FilePatch;
use schema::grading::PatchApplication;

use super::checkout::{Start, honest};
use super::diff::{apply_in_memory, entry, read, write_trees};
use super::odb::with_memory_repository;
use super::prepare::{Prepared, mode};
use super::survey::{MAX_FILE, Survey, Want, survey};
use super::worktree::{Kind, Worktree, as_path};
use crate::error::{Cause, Error};

/// Lines of context that may differ in the last resort, as the official harness allows.
const FUZZ: &str = "--fuzz=5";

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
    match plan(prepared, found, &patch, private).map_err(|error| lost(error.into()))? {
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

/// How the patch is applied to what was found, and what that does to which file; `None` when it does not apply. Blocks.
pub(super) fn plan(
    prepared: &Prepared,
    found: Survey,
    patch: &[u8],
    private: &Path,
) -> Result<Option<(PatchApplication, Vec<Step>)>, git2::Error> {
    with_memory_repository(&[&prepared.objects_directory()], |repository| {
        let mut omissions = found.omissions;
        let (_, now) = write_trees(repository, prepared, found.changes, &mut omissions)?;
        match try_all(repository, now, patch, private) {
            Some((application, new)) => Ok(Some((application, steps(repository, now, new)?))),
            None => Ok(None),
        }
    })
}

/// The first way that works, with the tree that it gives.
fn try_all(
    repository: &Repository,
    now: Oid,
    patch: &[u8],
    private: &Path,
) -> Option<(PatchApplication, Oid)> {
    if leads_through_link(repository, now, patch).unwrap_or(true) {
        return None;
    }
    if let Ok(new) = apply_in_memory(repository, now, patch) {
        return Some((PatchApplication::Applied, new));
    }
    if let Ok(new) = merge(repository, now, patch) {
        return Some((PatchApplication::AppliedWith3way, new));
    }
    fuzzy(repository, now, patch, private)
        .ok()
        .map(|new| (PatchApplication::AppliedWithFuzz, new))
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

/// Lets the `patch` program work on copies of the files that the patch names, in a directory where nothing else is.
fn fuzzy(repository: &Repository, now: Oid, patch: &[u8], private: &Path) -> Result<Oid, Cause> {
    let scratch = tempfile::tempdir_in(private)?;
    let directory = scratch.path().join("tree");
    std::fs::create_dir(&directory)?;
    let copies = Worktree::open(&directory)?;
    let paths = paths(patch);
    let tree = repository.find_tree(now)?;
    let mut index = Index::new()?;
    index.read_tree(&tree)?;
    for path in &paths {
        let Some(entry) = index.get_path(&as_path(path), 0) else {
            continue;
        };
        if matches!(entry.mode, mode::FILE | mode::EXECUTABLE) {
            let blob = repository.find_blob(entry.id)?;
            copies.write(path, entry.mode, blob.content())?;
        }
    }
    let file = scratch.path().join("patch");
    std::fs::write(&file, patch)?;
    let status = Command::new("patch")
        .args([
            "--batch",
            // Else it turns round what looks as if it had been applied: a patch the wrong way round would mend what it breaks.
            "--forward",
            "--silent",
            "-p1",
            "--no-backup-if-mismatch",
            "--reject-file=-",
            FUZZ,
        ])
        .arg("--directory")
        .arg(&directory)
        .arg("--input")
        .arg(&file)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if !status.success() {
        return Err("`patch` rejects it".into());
    }
    let odb = repository.odb()?;
    for path in &paths {
        match copies.metadata(path)?.map(|metadata| metadata.kind) {
            Some(Kind::File { executable }) => {
                let content = copies.read(path, MAX_FILE)?.ok_or("a file grew too big")?;
                let mode = if executable {
                    mode::EXECUTABLE
                } else {
                    mode::FILE
                };
                let id = odb.write(ObjectType::Blob, &content)?;
                index.add(&entry(path.clone(), mode, id))?;
            }
            _ if index
                .get_path(&as_path(path), 0)
                .is_some_and(|entry| entry.mode != mode::LINK) =>
            {
                index.remove(&as_path(path), 0)?;
            }
            _ => {}
        }
    }
    let new = index.write_tree_to(repository)?;
    if new == now {
        return Err("`patch` changes nothing".into());
    }
    Ok(new)
}

/// Paths in the patch's headers, without their first component; quoted ones are left to the other ways.
fn paths(patch: &[u8]) -> BTreeSet<Vec<u8>> {
    patch
        .split(|&byte| byte == b'\n')
        .filter_map(|line| {
            let name = line
                .strip_prefix(b"--- ")
                .or_else(|| line.strip_prefix(b"+++ "))?;
            let name = name.split(|&byte| byte == b'\t').next()?;
            let name = name.strip_suffix(b"\r").unwrap_or(name);
            let slash = memchr::memchr(b'/', name)?;
            let path = &name[slash + 1..];
            let honest = name != b"/dev/null"
                && path.split(|&byte| byte == b'/').all(|part| {
                    !part.is_empty() && part != b".." && !part.eq_ignore_ascii_case(b".git")
                });
            honest.then(|| path.to_vec())
        })
        .collect()
}

/// What one file becomes.
pub(super) struct Step {
    pub(super) path: Vec<u8>,
    /// Mode and content; `None` when it goes.
    pub(super) now: Option<(u32, Vec<u8>)>,
}

/// What turns one tree into another: deletions first.
fn steps(repository: &Repository, old: Oid, new: Oid) -> Result<Vec<Step>, git2::Error> {
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
