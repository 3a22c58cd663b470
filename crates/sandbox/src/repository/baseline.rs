//! How the workspace differed from the start commit before the agent came: an image may be dirty, and that is nobody's patch.

use std::collections::{HashMap, HashSet};

use git2::{ObjectType, Oid};

use super::survey::{Content, Survey};

/// What was there, or was missing, at the start.
#[derive(Debug, Default)]
pub(crate) struct Baseline {
    /// Mode and content of paths that differed from the start commit; `None` where its file was missing.
    differing: HashMap<Vec<u8>, Option<(u32, Oid)>>,
    /// Paths that no patch could hold at the start.
    omitted: HashSet<String>,
    /// One number for what lay in each submodule's directory.
    submodules: HashMap<Vec<u8>, Oid>,
}

impl Baseline {
    /// What a survey of the untouched workspace found.
    pub(super) fn new(found: Survey, submodules: HashMap<Vec<u8>, Oid>) -> Self {
        let differing = found.changes.into_iter().map(|change| {
            let now = change.now.and_then(|(mode, content)| {
                let id = match content {
                    Content::Bytes(bytes) => Oid::hash_object(ObjectType::Blob, &bytes).ok()?,
                    Content::Blob(id) | Content::Submodule(id) => id,
                };
                Some((mode, id))
            });
            (change.path, now)
        });
        Self {
            differing: differing.collect(),
            omitted: found
                .omissions
                .into_iter()
                .map(|omission| omission.path)
                .filter(|path| !submodules.contains_key(path.as_bytes()))
                .collect(),
            submodules,
        }
    }

    /// Whether anything is known of the inside of a submodule's directory.
    pub(super) fn has_submodules(&self) -> bool {
        !self.submodules.is_empty()
    }

    /// Whether a path that differs from the start commit holds what it held at the start.
    pub(super) fn has(&self, path: &[u8], mode: u32, id: Oid) -> bool {
        matches!(self.differing.get(path), Some(Some(known)) if *known == (mode, id))
    }

    /// Whether anything is known about a path, so that comparing is worth the while.
    pub(super) fn knows(&self, path: &[u8]) -> bool {
        self.differing.contains_key(path)
    }

    /// Whether a file of the start commit was missing at the start.
    pub(super) fn was_missing(&self, path: &[u8]) -> bool {
        matches!(self.differing.get(path), Some(None))
    }

    /// Whether something that no patch can hold was there at the start already.
    pub(super) fn was_omitted(&self, path: &str) -> bool {
        self.omitted.contains(path)
    }

    /// What lay in a submodule's directory at the start.
    pub(super) fn submodule(&self, path: &[u8]) -> Option<Oid> {
        self.submodules.get(path).copied()
    }

    /// What a path held at the start, where that differed from the start commit.
    pub(super) fn blob(&self, path: &[u8]) -> Option<Oid> {
        self.differing.get(path)?.map(|(_, id)| id)
    }

    /// How many paths differed.
    pub(super) fn len(&self) -> usize {
        self.differing.len()
    }
}
