//! The tree of the commit that a row names, where work starts from another one: of interest is only whether patches apply to it.

use std::collections::HashSet;
use std::path::PathBuf;

use git2::{Commit, Oid};

use super::history;
use super::odb::disk;
use super::pack::{PackError, pack};
use super::prepare::Prepared;
use super::seal::BaseCommit;
use super::source::Source;

/// What is known of the commit that the row names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    /// It is the start commit.
    Start,
    /// It is another one, with this tree.
    Other(Oid),
    /// It, or some of its tree, is not there.
    Missing,
}

impl Prepared {
    /// Looks for the commit that the row names; says where it is in relation to the start commit.
    pub(super) fn look_for_base(&mut self, opened: &Source, name: &str) -> BaseCommit {
        let repository = opened.repository();
        let found = repository
            .revparse_single(name)
            .and_then(|object| object.peel_to_commit());
        let Ok(commit) = found else {
            self.base = Some(Base::Missing);
            return BaseCommit::Missing;
        };
        if commit.id() == self.start {
            self.base = Some(Base::Start);
            return BaseCommit::Start;
        }
        self.base = Some(Base::Other(commit.tree_id()));
        if let Ok(true) = repository.graph_descendant_of(self.start, commit.id()) {
            return BaseCommit::InHistory;
        }
        if let Err(error) = self.keep_tree(opened, &commit) {
            tracing::warn!(base = name, %error, "the tree of the base commit cannot be read");
            self.base = Some(Base::Missing);
        }
        BaseCommit::Beyond
    }

    /// Copies the tree of a commit that is beyond the start commit's history: no sandbox ever sees where it lies.
    fn keep_tree(&self, opened: &Source, commit: &Commit<'_>) -> Result<(), PackError> {
        let objects = opened.repository().commondir().join("objects");
        let alone = HashSet::from([commit.id()]);
        let wanted = history::walk(&objects, commit.id(), &alone)?.objects;
        let packs = self.base_directory().join("pack");
        std::fs::create_dir_all(&packs)?;
        pack(&objects, &disk(&objects)?, &wanted, &packs).map(drop)
    }

    /// Directories of the objects of the start commit's history and of the base commit's tree.
    pub(super) fn objects_with_base(&self) -> Vec<PathBuf> {
        [self.objects_directory(), self.base_directory()]
            .into_iter()
            .filter(|directory| directory.is_dir())
            .collect()
    }
}
