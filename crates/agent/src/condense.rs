//! When the conversation is too long for the window, and which old outputs to leave out.
//!
//! Elision goes oldest first and in large blocks, so that the prefix which the provider caches changes rarely; what was left out stays left
//! out; the head and the last turns are always whole; a turn is the smallest unit, so that a call is never parted from its result.

use schema::Turn;

use crate::history::{Entry, History, tokens};
use crate::ports::ELIDED_OUTPUT;

/// Tokens at the end of the conversation that stay whole: enough for the last few files and test runs (the figure that Pi uses).
const KEEP: u64 = 20_000;

/// Tokens set aside for the reply where its limit is unknown.
const UNKNOWN_REPLY: u64 = 16_384;

/// Tokens set aside beside the reply's limit, for what the estimate gets wrong.
const MARGIN: u64 = 1_024;

/// What the model can hold, where known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// Tokens of request and reply together.
    pub size: Option<u64>,
    /// Tokens of one reply.
    pub max_output: Option<u64>,
}

impl Window {
    /// Tokens of a request above which it is condensed: the window less what the reply needs, and at least half of it.
    pub(crate) fn trigger(self) -> Option<u64> {
        let size = self.size?;
        let reserve = self
            .max_output
            .map_or(UNKNOWN_REPLY, |output| output.saturating_add(MARGIN));
        Some(size.saturating_sub(reserve).max(size / 2))
    }

    pub(crate) fn is_full(self, history: &History) -> bool {
        self.trigger()
            .is_some_and(|trigger| history.estimate() > trigger)
    }
}

/// The position before which outputs should be left out; the present one when nothing can be saved.
///
/// `overflows` counts the times in a row that the server said the request is too long: each time less of the end is kept whole.
pub(crate) fn elide_before(history: &History, window: Window, overflows: u32) -> usize {
    let present = history.elided_before();
    let trigger = window.trigger().unwrap_or(u64::MAX);
    let target = history.estimate().min(trigger) / 5 * 3;
    let keep = KEEP.min(target / 2);
    let entries = history.entries();
    let kept = |keep| first_kept(entries, keep);
    let Some(earlier) = overflows.checked_sub(1) else {
        return saved_before(history, target, kept(keep));
    };
    // The request as it is will not pass, so better a last turn without its outputs than none: the model can ask for them again.
    [kept(keep), kept(keep / 4), kept(0), entries.len()]
        .into_iter()
        .skip(earlier as usize)
        .map(|end| saved_before(history, target, end))
        .find(|before| *before > present)
        .unwrap_or(present)
}

/// The position up to which outputs have to go to reach `target`, at most `end`.
fn saved_before(history: &History, target: u64, end: usize) -> usize {
    let present = history.elided_before();
    let candidates = &history.entries()[present..end.max(present)];
    let (mut saved, mut before) = (0_u64, present);
    for (position, entry) in candidates.iter().enumerate() {
        if history.estimate().saturating_sub(saved) <= target {
            break;
        }
        let saving = saving(&entry.turn);
        if saving > 0 {
            saved = saved.saturating_add(saving);
            before = present + position + 1;
        }
    }
    before
}

/// Position of the first turn that stays whole: at least the last one does.
fn first_kept(entries: &[Entry], keep: u64) -> usize {
    let mut kept = 0_u64;
    for (position, entry) in entries.iter().enumerate().rev() {
        kept = kept.saturating_add(entry.tokens);
        if kept > keep {
            return (position + 1).min(entries.len().saturating_sub(1));
        }
    }
    0
}

fn saving(turn: &Turn) -> u64 {
    match turn {
        Turn::Assistant { results, .. } => results
            .iter()
            .map(|result| tokens(result.content.len()).saturating_sub(tokens(ELIDED_OUTPUT.len())))
            .sum(),
        Turn::User { .. } => 0,
    }
}
