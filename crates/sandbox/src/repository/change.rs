//! What is done to a repository before anybody works in it: the change that makes the task, and files that are not to be there.

use std::path::Path;

use git2::{Index, Oid, Repository, Signature, Time};
use schema::grading::Harness;

use super::apply::{Step, steps, whole};
use super::chain::{Refusal, try_all};
use super::git_program::borrowing;
use super::source::Source;
use super::worktree::as_path;
use crate::error::{Cause, Error};

/// A change to the start commit. What it takes away cannot be read in the sandbox: the commit that it gives has no history.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct StartChange {
    /// A patch; empty for none.
    pub patch: Vec<u8>,
    /// Files that are removed, as far as they are there.
    pub removed: Vec<String>,
}

/// A repository with the change as its only commit.
pub(super) struct Changed {
    pub(super) source: Source,
    pub(super) start: Oid,
    /// What the change does to the files of the start commit: deletions first.
    pub(super) steps: Vec<Step>,
}

/// Whose name the commit bears, and what it says. Both, and its date, are always the same: so is its id then.
const NAME: &str = "Patchmill";
const ADDRESS: &str = "patchmill@localhost";
const MESSAGE: &str = "Start\n";

/// Makes the changed repository below `scratch`, which the caller removes; `label` names the repository in messages. Blocks.
pub(super) fn change(
    opened: &Source,
    base: Oid,
    change: &StartChange,
    scratch: &Path,
    label: &Path,
) -> Result<Changed, Error> {
    let problem = "the change that starts the instance does not apply to it";
    let objects = opened.repository().commondir().join("objects");
    let repository = borrowing(scratch, &[objects]).map_err(|error| start(label, error))?;
    let old = tree_of(&repository, base).map_err(|error| start(label, error.into()))?;
    let patched = match whole(&change.patch) {
        None => old,
        Some(patch) => match try_all(&repository, old, &patch, Harness::V5) {
            Ok((_, new)) => new,
            Err(Refusal::NotTried(cause)) => return Err(start(label, cause)),
            Err(Refusal::DoesNotApply) => {
                return Err(Error::repository(
                    label,
                    problem,
                    "see whether the row's base commit, or its image, is the one that its `patch` was made for",
                ));
            }
        },
    };
    let made = commit(&repository, patched, &change.removed)
        .and_then(|(commit, new)| Ok((commit, steps(&repository, old, new)?)));
    let (commit, steps) = made.map_err(|error| start(label, error.into()))?;
    Ok(Changed {
        source: Source::Directory(repository),
        start: commit,
        steps,
    })
}

fn start(label: &Path, error: Cause) -> Error {
    Error::start(format!("change the repository {}", label.display()), error)
}

fn tree_of(repository: &Repository, commit: Oid) -> Result<Oid, git2::Error> {
    Ok(repository.find_commit(commit)?.tree_id())
}

/// Commits a tree without some of its files; returns the commit and its tree.
fn commit(
    repository: &Repository,
    tree: Oid,
    removed: &[String],
) -> Result<(Oid, Oid), git2::Error> {
    let mut index = Index::new()?;
    index.read_tree(&repository.find_tree(tree)?)?;
    for path in removed {
        let path = as_path(path.as_bytes());
        if index.get_path(&path, 0).is_some() {
            index.remove(&path, 0)?;
        }
    }
    let tree = index.write_tree_to(repository)?;
    let who = Signature::new(NAME, ADDRESS, &Time::new(0, 0))?;
    let content = repository.find_tree(tree)?;
    let commit = repository.commit(None, &who, &who, MESSAGE, &content, &[])?;
    Ok((commit, tree))
}
