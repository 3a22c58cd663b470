//! What an agent's repository holds, and what was left out of it.

use serde::{Deserialize, Serialize};

use super::prepare::Prepared;

/// What the source has and the sandbox does not. Counted when the repository is prepared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Branches.
    pub branches: u64,
    /// Tags.
    pub tags: u64,
    /// Remote-tracking references.
    pub remote_references: u64,
    /// Notes, stashes, replacements and other references.
    pub other_references: u64,
    /// Configured remotes.
    pub remotes: u64,
    /// Files of reflogs.
    pub reflogs: u64,
    /// Alternate object directories.
    pub alternates: u64,
    /// Linked work trees.
    pub worktrees: u64,
    /// References that point to commits beyond the base commit's history.
    pub references_beyond: u64,
    /// Objects that the base commit does not reach.
    pub objects: u64,
}

/// How the repository was sealed: it was built from the base commit's history alone, and nothing else was ever in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealRecord {
    /// Commit that is checked out, detached; the diff is taken against it.
    pub start_commit: String,
    /// Its tree.
    pub start_tree: String,
    /// Commits of its history.
    pub commits: u64,
    /// Objects in all.
    pub objects: u64,
    /// Commits whose parents the source does not have (a shallow clone).
    pub shallow_boundary: u64,
    /// Files of earlier commits that an image's repository does not have (a partial clone).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub absent: u64,
    /// Submodules: their directories are empty.
    pub submodules: u64,
    /// What was left out.
    pub left_out: LeftOut,
    /// Whether it was checked that nothing beyond the start commit can be read.
    pub verified: bool,
    /// Paths that were changed or removed to make the task, where the row asks for that: the start commit then has no history.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub changed_at_start: u64,
    /// What only a repository that came with an image has to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageState>,
}

/// How an image's own repository was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageState {
    /// Where the row's base commit is, if the row names one.
    pub base_commit: Option<BaseCommit>,
    /// Paths of the work tree that differed from HEAD at the start: they are in no patch as long as they stay as they were.
    pub differing_at_start: u64,
    /// Repositories of submodules, other places of the history, and other checkouts of it, that were taken away.
    pub histories_removed: u64,
}

/// Where the commit is that a row says its repository is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaseCommit {
    /// It is the start commit.
    Start,
    /// It is in the start commit's history.
    InHistory,
    /// The image has it, beyond the start commit's history: it was left out.
    Beyond,
    /// The image has no such commit.
    Missing,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl SealRecord {
    pub(super) fn new(prepared: &Prepared, verified: bool) -> Self {
        Self {
            start_commit: prepared.start.to_string(),
            start_tree: prepared.tree.to_string(),
            commits: prepared.commits,
            objects: prepared.objects,
            shallow_boundary: prepared.shallow.len() as u64,
            absent: prepared.absent,
            submodules: prepared.submodules(),
            left_out: prepared.left_out.clone(),
            verified,
            changed_at_start: prepared.changed,
            image: None,
        }
    }
}
