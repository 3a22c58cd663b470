//! What an agent's repository holds, and what was left out of it.

use serde::{Deserialize, Serialize};

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
    /// Submodules: their directories are empty.
    pub submodules: u64,
    /// What was left out.
    pub left_out: LeftOut,
    /// Whether it was checked that nothing beyond the start commit can be read.
    pub verified: bool,
}
