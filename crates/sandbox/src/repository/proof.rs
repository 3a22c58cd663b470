//! Whether the patches that are handed on do what they should: on the start commit, and on the commit that the row names.
//!
//! That the full patch makes the workspace of the start commit is seen when it is taken; here it stands for the workspace.

use std::collections::BTreeMap;

use git2::{Index, Oid, Repository};
use patch::PatchPath;
use schema::journal::OnBase;

use super::base::Base;
use super::chain::leads_through_link;
use super::diff::apply_in_memory;
use super::odb::with_memory_repository;
use super::prepare::{Prepared, mode};
use super::submodules;
use super::worktree::as_path;
use crate::error::Error;

/// A workspace's patch, and the part of it that is handed on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchParts {
    /// All of it, as [`super::WorkspaceDiff::full`] has it.
    pub full: Vec<u8>,
    /// The part.
    pub model: Vec<u8>,
    /// Paths that the part leaves as the start commit has them.
    pub left_out: Vec<PatchPath>,
}

/// What came of applying both in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchProof {
    /// Why the part is not what it should be: it does not apply to the start commit, or makes something else of it than the workspace without what
    /// is left out.
    pub fault: Option<String>,
    /// How both fare on the commit that the row names; `None` when it names none.
    pub on_base: Option<OnBase>,
}

/// Applies the patches in memory. Blocks.
pub(crate) fn prove(prepared: &Prepared, parts: &PatchParts) -> Result<PatchProof, Error> {
    let directories = prepared.objects_with_base();
    let directories: Vec<_> = directories.iter().map(AsRef::as_ref).collect();
    with_memory_repository(&directories, |repository| {
        let start = State::of(repository, prepared.tree)?;
        Ok(PatchProof {
            fault: fault(repository, &start, parts)?,
            on_base: prepared.base.map(|base| on_base(repository, base, parts)),
        })
    })
    .map_err(|error| Error::lost(format!("apply patches to {}", prepared.start), error))
}

fn fault(
    repository: &Repository,
    start: &State,
    parts: &PatchParts,
) -> Result<Option<String>, git2::Error> {
    let end = start.with(repository, &parts.full)?;
    let wanted = end.without(repository, start, &parts.left_out)?;
    Ok(match start.with(repository, &parts.model) {
        Ok(made) if made == wanted => None,
        Ok(_) => Some(String::from(
            "applied to the start commit, it does not give the workspace without what is left out",
        )),
        Err(error) => Some(format!(
            "it does not apply to the start commit: {}",
            error.message()
        )),
    })
}

fn on_base(repository: &Repository, base: Base, parts: &PatchParts) -> OnBase {
    let tree = match base {
        Base::Start => return OnBase::Start,
        Base::Missing => return OnBase::Missing,
        Base::Other(tree) => tree,
    };
    let Ok(state) = State::of(repository, tree) else {
        return OnBase::Missing;
    };
    let applies = |patch: &[u8]| {
        let led_astray = leads_through_link(repository, state.tree, patch).unwrap_or(true);
        !led_astray && state.with(repository, patch).is_ok()
    };
    OnBase::Other {
        full: applies(&parts.full),
        model: applies(&parts.model),
    }
}

/// A tree, its submodules apart: libgit2 wants a work tree for them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    tree: Oid,
    submodules: BTreeMap<Vec<u8>, Oid>,
}

impl State {
    fn of(repository: &Repository, tree: Oid) -> Result<Self, git2::Error> {
        let mut index = index_of(repository, tree)?;
        let submodules: BTreeMap<_, _> = index
            .iter()
            .filter(|entry| entry.mode == mode::SUBMODULE)
            .map(|entry| (entry.path, entry.id))
            .collect();
        if submodules.is_empty() {
            return Ok(Self { tree, submodules });
        }
        for path in submodules.keys() {
            index.remove(&as_path(path), 0)?;
        }
        Ok(Self {
            tree: index.write_tree_to(repository)?,
            submodules,
        })
    }

    /// What a patch makes of it.
    fn with(&self, repository: &Repository, patch: &[u8]) -> Result<Self, git2::Error> {
        if patch.is_empty() {
            return Ok(self.clone());
        }
        let mut submodules = self.submodules.clone();
        submodules::apply(patch, &mut submodules)?;
        Ok(Self {
            tree: apply_in_memory(repository, self.tree, patch)?,
            submodules,
        })
    }

    /// The same with some paths as `start` has them.
    fn without(
        mut self,
        repository: &Repository,
        start: &Self,
        paths: &[PatchPath],
    ) -> Result<Self, git2::Error> {
        if paths.is_empty() {
            return Ok(self);
        }
        let mut index = index_of(repository, self.tree)?;
        let begun = index_of(repository, start.tree)?;
        // What is new goes first: a directory may have taken a file's place.
        for path in paths.iter().map(PatchPath::as_bytes) {
            self.submodules.remove(path);
            if index.get_path(&as_path(path), 0).is_some() {
                index.remove(&as_path(path), 0)?;
            }
        }
        for path in paths.iter().map(PatchPath::as_bytes) {
            if let Some(id) = start.submodules.get(path) {
                self.submodules.insert(path.to_vec(), *id);
            }
            if let Some(entry) = begun.get_path(&as_path(path), 0) {
                index.add(&entry)?;
            }
        }
        self.tree = index.write_tree_to(repository)?;
        Ok(self)
    }
}

fn index_of(repository: &Repository, tree: Oid) -> Result<Index, git2::Error> {
    let mut index = Index::new()?;
    index.read_tree(&repository.find_tree(tree)?)?;
    Ok(index)
}
