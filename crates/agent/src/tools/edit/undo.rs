//! What the edit tool changed, so that it can be taken back.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Bytes of earlier versions that are kept in all.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// One change of one file.
#[derive(Debug)]
pub(crate) struct Change {
    path: String,
    /// The content before, `None` when there was no file.
    pub(crate) before: Option<Vec<u8>>,
    after: u64,
}

impl Change {
    /// Whether the file still is what the change left.
    pub(crate) fn left(&self, now: Option<&[u8]>) -> bool {
        now.is_some_and(|now| digest(now) == self.after)
    }

    fn weight(&self) -> usize {
        self.before.as_ref().map_or(0, Vec::len)
    }
}

/// Changes, oldest first. The oldest are forgotten when they weigh too much.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    changes: VecDeque<Change>,
    bytes: usize,
}

impl Undo {
    pub(crate) fn remember(&mut self, path: &str, before: Option<Vec<u8>>, after: &[u8]) {
        let change = Change {
            path: path.to_owned(),
            before,
            after: digest(after),
        };
        self.bytes += change.weight();
        self.changes.push_back(change);
        while self.bytes > MAX_BYTES {
            let Some(oldest) = self.changes.pop_front() else {
                break;
            };
            self.bytes -= oldest.weight();
        }
    }

    pub(crate) fn last(&self, path: &str) -> Option<&Change> {
        self.changes.iter().rev().find(|change| change.path == path)
    }

    pub(crate) fn forget_last(&mut self, path: &str) {
        let position = self.changes.iter().rposition(|change| change.path == path);
        if let Some(change) = position.and_then(|position| self.changes.remove(position)) {
            self.bytes -= change.weight();
        }
    }
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
