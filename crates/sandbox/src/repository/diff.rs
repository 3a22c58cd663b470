//! The patch between the sealed start commit and the workspace as it is.
//!
//! Nothing of the agent's repository is read: not its objects, index, configuration, attributes or hooks. The workspace's bytes are put into a tree in
//! memory as they are, and that tree is compared with the start commit's.

use std::path::Path;

use git2::{
    Diff, DiffFormat, DiffOptions, Index, IndexEntry, IndexTime, ObjectType, Oid, Repository,
};

use super::checkout::Start;
use super::excess;
use super::headers;
use super::odb::with_memory_repository;
use super::prepare::Prepared;
use super::submodules;
use super::survey::{Change, Content, Survey, Want, survey};
use super::worktree::{Worktree, as_path};
use crate::error::{Cause, Error};

pub use super::survey::Omission;

/// What changed in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceDiff {
    /// A git patch with binary changes and whole object names, without rename detection (a rename is a deletion and an addition, so that each side is
    /// judged by its own path); empty when nothing changed. It was applied to the start commit in memory and gave the workspace's tree.
    pub full: Vec<u8>,
    /// Commit that it is against.
    pub start_commit: String,
    /// What differs and is not in the patch, at most 1000 of it and what git cannot hold.
    pub omissions: Vec<Omission>,
    /// How many more there were.
    pub unlisted_omissions: u64,
}

/// Compares a workspace on the host with its start. Blocks.
pub(crate) fn diff(
    prepared: &Prepared,
    start: &Start,
    workdir: &Path,
) -> Result<WorkspaceDiff, Error> {
    let place = workdir.display().to_string();
    let tree = Worktree::open(workdir).map_err(|error| lost(&place, prepared, error.into()))?;
    diff_of(prepared, start, &tree, &place)
}

/// Compares an opened workspace, which is known as `place`, with its start. Blocks.
pub(crate) fn diff_of(
    prepared: &Prepared,
    start: &Start,
    tree: &Worktree,
    place: &str,
) -> Result<WorkspaceDiff, Error> {
    let found = survey(prepared, start, tree, Want::Contents)
        .map_err(|error| lost(place, prepared, error.into()))?;
    patch_of(prepared, found, place)
}

fn lost(place: &str, prepared: &Prepared, error: Cause) -> Error {
    excess::failed(format!("compare {place} with {}", prepared.start), error)
}

/// The patch that makes what was found at `place` of the start commit. Blocks.
pub(super) fn patch_of(
    prepared: &Prepared,
    found: Survey,
    place: &str,
) -> Result<WorkspaceDiff, Error> {
    let Survey {
        changes,
        mut omissions,
        unlisted,
    } = found;
    let mut full = submodules::sections(prepared, &changes);
    if !changes.is_empty() {
        let files = with_memory_repository(&[&prepared.objects_directory()], |repository| {
            let (old, new) = write_trees(repository, prepared, changes, &mut omissions)?;
            let patch = compare(repository, old, new)?;
            check(repository, old, new, &patch)?;
            Ok(patch)
        });
        full.append(&mut files.map_err(|error| lost(place, prepared, error.into()))?);
    }
    Ok(WorkspaceDiff {
        full,
        start_commit: prepared.start.to_string(),
        omissions,
        unlisted_omissions: unlisted,
    })
}

/// The start commit's tree and the workspace's, both without submodules (libgit2 wants a work tree for them). What git cannot hold is left out and said
/// to be.
pub(super) fn write_trees(
    repository: &Repository,
    prepared: &Prepared,
    changes: Vec<Change>,
    omissions: &mut Vec<Omission>,
) -> Result<(Oid, Oid), git2::Error> {
    let odb = repository.odb()?;
    let mut index = Index::new()?;
    index.read_tree(&repository.find_tree(prepared.tree)?)?;
    let mut old = prepared.tree;
    if prepared.submodules() > 0 {
        for path in submodules::paths(prepared) {
            index.remove(&as_path(path), 0)?;
        }
        old = index.write_tree_to(repository)?;
    }
    // Deletions first: a file may have become a directory.
    for change in &changes {
        if change.now.is_none() && !submodules::is_one(prepared, &change.path) {
            index.remove(&as_path(&change.path), 0)?;
        }
    }
    for change in changes {
        let Some((mode, Content::Bytes(bytes))) = change.now else {
            continue;
        };
        let id = odb.write(ObjectType::Blob, &bytes)?;
        let path = String::from_utf8_lossy(&change.path).into_owned();
        if let Err(error) = index.add(&entry(change.path, mode, id)) {
            omissions.push(Omission {
                path,
                reason: format!("git cannot hold it: {}", error.message()),
            });
        }
    }
    Ok((old, index.write_tree_to(repository)?))
}

pub(super) fn entry(path: Vec<u8>, mode: u32, id: Oid) -> IndexEntry {
    IndexEntry {
        ctime: IndexTime::new(0, 0),
        mtime: IndexTime::new(0, 0),
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path,
    }
}

/// The patch from one tree to another.
fn compare(repository: &Repository, old: Oid, new: Oid) -> Result<Vec<u8>, git2::Error> {
    let (old, new) = (repository.find_tree(old)?, repository.find_tree(new)?);
    let mut options = DiffOptions::new();
    options
        .show_binary(true)
        .id_abbrev(40)
        .context_lines(3)
        .old_prefix("a")
        .new_prefix("b");
    let diff = repository.diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options))?;
    let mut patch = Vec::new();
    diff.print(DiffFormat::Patch, |_, _, line| {
        if let '+' | '-' | ' ' = line.origin() {
            patch.extend_from_slice(line.origin().encode_utf8(&mut [0; 4]).as_bytes());
        }
        patch.extend_from_slice(line.content());
        true
    })?;
    Ok(patch)
}

/// Applies the patch in memory: it must give the tree that it was made from.
fn check(repository: &Repository, old: Oid, new: Oid, patch: &[u8]) -> Result<(), git2::Error> {
    let applied = apply_in_memory(repository, old, patch)?;
    if applied == new {
        Ok(())
    } else {
        Err(git2::Error::from_str(
            "the patch, applied to the start commit, does not give the workspace",
        ))
    }
}

/// The tree that a patch makes of another.
pub(super) fn apply_in_memory(
    repository: &Repository,
    tree: Oid,
    patch: &[u8],
) -> Result<Oid, git2::Error> {
    let Some(diff) = read(patch)? else {
        return Ok(tree);
    };
    let tree = repository.find_tree(tree)?;
    let mut index = repository.apply_to_tree(&tree, &diff, None)?;
    index.write_tree_to(repository)
}

/// Reads a patch, whatever its names are; `None` when it changes no files.
pub(super) fn read(patch: &[u8]) -> Result<Option<Diff<'static>>, git2::Error> {
    let normal = headers::normalise(patch)
        .map_err(|error| git2::Error::from_str(&format!("the patch cannot be read: {error}")))?;
    if normal.is_empty() {
        return Ok(None);
    }
    Diff::from_buffer(&normal).map(Some)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pieces that patches are made of, right and wrong.
    const PIECES: [&str; 37] = [
        "diff --git a/f b/f\n",
        "diff --git a/f b/g\n",
        "diff --git a/d/x b/d/x\n",
        "diff --git a/d b/d\n",
        "--- a/d\n",
        "+++ b/f/below\n",
        "diff --git \"a/q\\n\" \"b/q\\n\"\n",
        "diff --git a/a b b/a b\n",
        "new file mode 100644\n",
        "new file mode 120000\n",
        "new file mode 160000\n",
        "new file mode 777777\n",
        "deleted file mode 100644\n",
        "deleted file mode 160000\n",
        "old mode 100644\nnew mode 100755\n",
        "old mode 160000\nnew mode 100644\n",
        "rename from f\nrename to g\n",
        "rename from nowhere\nrename to f/x\n",
        "copy from f\ncopy to g\n",
        "similarity index 100%\n",
        "index 1111111..2222222 100644\n",
        "index 1111111..2222222 160000\n",
        "index 0000000..1\n",
        "--- a/f\n",
        "+++ b/f\n",
        "--- /dev/null\n",
        "+++ /dev/null\n",
        "@@ -1,3 +1,3 @@\n",
        "@@ -0,0 +1 @@\n",
        "@@ -1 +0,0 @@\n",
        "@@ -1,4294967295 +1,4294967295 @@\n",
        " one\n-two\n+2\n three\n",
        "+new\n",
        "-one\n",
        "\\ No newline at end of file\n",
        "GIT binary patch\nliteral 1\nIcmZPo000310RR91\n\nliteral 0\nHcmV?d00001\n\n",
        "GIT binary patch\ndelta 3\nKcmZPo000310RR91\n\ndelta 9\nHcmV?d00001\n\n",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(
            std::env::var("PATCHMILL_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
        ))]

        /// A patch comes from a model: whatever it holds, it is applied or refused.
        #[test]
        fn no_patch_breaks_the_applier(picks in prop::collection::vec((0..PIECES.len(), any::<u8>()), 0..14)) {
            let mut patch = Vec::new();
            for (pick, noise) in picks {
                patch.extend_from_slice(PIECES[pick].as_bytes());
                if noise < 8 {
                    patch.pop();
                }
            }
            let directory = tempfile::tempdir().unwrap();
            with_memory_repository(&[directory.path()], |repository| {
                let odb = repository.odb()?;
                let mut index = Index::new()?;
                for (path, content) in [("f", "one\ntwo\nthree\n"), ("d/x", "one\n"), ("a b", "one\n"), ("q\n", "")] {
                    let id = odb.write(ObjectType::Blob, content.as_bytes())?;
                    index.add(&entry(path.as_bytes().to_vec(), 0o100_644, id))?;
                }
                let tree = index.write_tree_to(repository)?;
                let _ = apply_in_memory(repository, tree, &patch);
                Ok(())
            })
            .unwrap();
        }
    }
}
