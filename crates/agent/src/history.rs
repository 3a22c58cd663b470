//! The conversation: turns, each serialised once, and the view of it that the model is sent.

use std::sync::Arc;

use schema::{Turn, Usage};
use sha2::{Digest, Sha256};

use crate::ports::{Fragment, Head, Model, Shape};

/// Turns parts of a conversation into the bytes that go out. A pure function of its arguments.
pub trait Encode: Send + Sync {
    /// Serialises what comes before the first turn.
    fn head(&self, head: &Head) -> Fragment;
    /// Serialises one turn.
    fn turn(&self, turn: &Turn, shape: Shape) -> Fragment;
}

/// A model, as far as it encodes.
pub struct ModelEncoder(pub Arc<dyn Model>);

impl Encode for ModelEncoder {
    fn head(&self, head: &Head) -> Fragment {
        self.0.head(head)
    }

    fn turn(&self, turn: &Turn, shape: Shape) -> Fragment {
        self.0.turn(turn, shape)
    }
}

/// One turn and what eliding it would save.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// What was said.
    pub(crate) turn: Turn,
    /// Rough tokens of the turn as the view holds it.
    pub(crate) tokens: u64,
}

/// The conversation so far.
///
/// A step costs what it adds: each turn is encoded once (and once more when it is elided), the digest of a request goes on from the last one's.
#[derive(Clone)]
pub struct History {
    /// What came before the first turn.
    opening: Option<Head>,
    head: Option<Fragment>,
    entries: Vec<Entry>,
    /// Shared with the request that is on its way.
    view: Arc<Vec<Fragment>>,
    /// Has taken in the digests of the head and of every fragment of the view.
    digest: Sha256,
    /// Turns before this position are shown without their outputs.
    elided_before: usize,
    /// What the next request will weigh, as far as can be told.
    estimate: u64,
}

impl Default for History {
    fn default() -> Self {
        Self {
            opening: None,
            head: None,
            entries: Vec::new(),
            view: Arc::default(),
            digest: Sha256::new(),
            elided_before: 0,
            estimate: 0,
        }
    }
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History")
            .field("turns", &self.entries.len())
            .field("elided_before", &self.elided_before)
            .field("estimate", &self.estimate)
            .finish_non_exhaustive()
    }
}

impl PartialEq for History {
    fn eq(&self, other: &Self) -> bool {
        self.head == other.head
            && self.entries == other.entries
            && self.view == other.view
            && self.elided_before == other.elided_before
            && self.estimate == other.estimate
    }
}

impl History {
    /// Begins with the part that no later turn changes.
    pub(crate) fn start(&mut self, opening: Head, encode: &dyn Encode) {
        let head = encode.head(&opening);
        self.estimate = head.tokens;
        self.head = Some(head);
        self.opening = Some(opening);
        self.digest_again();
    }

    /// Adds a turn that is complete.
    ///
    /// A reply that says what its request weighed replaces the estimate; what came after it is added by size. A message of ours that follows
    /// another of ours, or the prompt, becomes one with it, since some servers refuse two in a row.
    pub(crate) fn push(&mut self, turn: Turn, encode: &dyn Encode) {
        if let Turn::User { text } = &turn
            && self.entries.is_empty()
            && let Some(mut opening) = self.opening.take()
        {
            opening.prompt = format!("{}\n\n{text}", opening.prompt);
            return self.start(opening, encode);
        }
        if let Turn::User { text } = &turn
            && let Some(Entry {
                turn: Turn::User { text: last },
                ..
            }) = self.entries.last()
        {
            let text = format!("{last}\n\n{text}");
            return self.replace_last(Turn::User { text }, encode);
        }
        let fragment = encode.turn(&turn, Shape::Full);
        self.estimate = match &turn {
            Turn::Assistant { reply, results } if reply.usage.input > 0 => {
                let bytes: usize = results.iter().map(|result| result.content.len()).sum();
                weighed(&reply.usage).saturating_add(tokens(bytes))
            }
            Turn::Assistant { .. } | Turn::User { .. } => {
                self.estimate.saturating_add(fragment.tokens)
            }
        };
        self.digest.update(fragment.sha256);
        self.entries.push(Entry {
            turn,
            tokens: fragment.tokens,
        });
        Arc::make_mut(&mut self.view).push(fragment);
    }

    /// Puts a turn in the place of the last one.
    fn replace_last(&mut self, turn: Turn, encode: &dyn Encode) {
        let fragment = encode.turn(&turn, Shape::Full);
        if let Some(old) = self.entries.pop() {
            self.estimate = self.estimate.saturating_sub(old.tokens);
        }
        self.estimate = self.estimate.saturating_add(fragment.tokens);
        self.entries.push(Entry {
            turn,
            tokens: fragment.tokens,
        });
        let view = Arc::make_mut(&mut self.view);
        view.pop();
        view.push(fragment);
        self.digest_again();
    }

    /// Leaves the outputs of all turns before `before` out of the view, from now on.
    pub(crate) fn elide(&mut self, before: usize, encode: &dyn Encode) {
        let before = before.min(self.entries.len());
        let range = self.elided_before.min(before)..before;
        for (entry, fragment) in self.entries[range.clone()]
            .iter_mut()
            .zip(&mut Arc::make_mut(&mut self.view)[range])
        {
            let short = encode.turn(&entry.turn, Shape::Elided);
            if short.bytes.len() >= fragment.bytes.len() {
                continue;
            }
            self.estimate = self
                .estimate
                .saturating_sub(entry.tokens.saturating_sub(short.tokens));
            entry.tokens = short.tokens;
            *fragment = short;
        }
        self.elided_before = self.elided_before.max(before);
        self.digest_again();
    }

    fn digest_again(&mut self) {
        self.digest = Sha256::new();
        for fragment in self.head.iter().chain(self.view.iter()) {
            self.digest.update(fragment.sha256);
        }
    }

    /// The head's fragment, once there is one.
    pub fn head(&self) -> Option<&Fragment> {
        self.head.as_ref()
    }

    /// The fragments of the view.
    pub fn view(&self) -> &Arc<Vec<Fragment>> {
        &self.view
    }

    /// The turns, whole.
    pub fn turns(&self) -> impl ExactSizeIterator<Item = &Turn> {
        self.entries.iter().map(|entry| &entry.turn)
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Turns before this position are shown without their outputs.
    pub fn elided_before(&self) -> usize {
        self.elided_before
    }

    /// Tokens that the next request is thought to have.
    pub fn estimate(&self) -> u64 {
        self.estimate
    }

    /// Hexadecimal SHA-256 over the digests of the request's fragments, head first.
    pub fn request_sha256(&self) -> String {
        schema::hex(&self.digest.clone().finalize())
    }
}

/// Tokens of a conversation up to and with a reply, as the server counted them.
fn weighed(usage: &Usage) -> u64 {
    usage.input.saturating_add(usage.output)
}

/// Rough tokens of so many bytes: four bytes a token, as English and code have with the tokenizers of today.
pub(crate) fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}
