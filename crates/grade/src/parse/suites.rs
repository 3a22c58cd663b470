//! Names of tests that stand below suites, which are told by their indentation.

use super::text::{indentation, strip};

/// How many times its own length the names in a log may take. Real ones stay below twice; without a limit a hostile log of short lines below
/// long suites would grow with the square of its length.
const MAX_GROWTH: usize = 8;

/// Bytes that joined names may still take.
#[derive(Debug)]
pub(super) struct Room(usize);

impl Room {
    /// The room for names in a log.
    pub(super) fn of(log: &str) -> Self {
        Self(log.len().saturating_mul(MAX_GROWTH).max(1 << 16))
    }

    /// Takes some of the room; `false` when there is not so much.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }

    /// Joins names; `None` when there is no more room.
    pub(super) fn join<'n>(
        &mut self,
        names: impl Iterator<Item = &'n str> + Clone,
        separator: &str,
    ) -> Option<String> {
        let length: usize = names.clone().map(|name| name.len() + separator.len()).sum();
        if !self.take(length) {
            return None;
        }
        let mut joined = String::with_capacity(length);
        for (at, name) in names.enumerate() {
            if at > 0 {
                joined.push_str(separator);
            }
            joined.push_str(name);
        }
        Some(joined)
    }
}

/// The suites that are open, outermost first. A line opens one below all suites that are indented less.
#[derive(Debug, Default)]
pub(super) struct Suites<'a> {
    open: Vec<(&'a str, usize)>,
}

impl<'a> Suites<'a> {
    /// Closes the suites that are indented as much as a line, or more.
    pub(super) fn leave(&mut self, line: &str) {
        let indent = indentation(line);
        while self.open.last().is_some_and(|(_, outer)| *outer >= indent) {
            self.open.pop();
        }
    }

    /// Whether no suite is open.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Opens a suite, where the line is indented at all.
    pub(super) fn enter(&mut self, line: &'a str) {
        let indent = indentation(line);
        if indent > 0 {
            self.leave(line);
            self.open.push((strip(line), indent));
        }
    }

    /// The names of the open suites.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> + Clone + '_ {
        self.open.iter().map(|(name, _)| *name)
    }

    /// A test's name below the open suites.
    pub(super) fn name(&self, test: &str, separator: &str, room: &mut Room) -> Option<String> {
        room.join(self.names().chain(std::iter::once(test)), separator)
    }
}
