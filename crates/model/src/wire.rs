//! Bodies made of parts that were serialised once.

use std::sync::Arc;

use agent::ports::{Fragment, Request};
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Bytes for a token where nothing better is known.
const BYTES_PER_TOKEN: u64 = 4;

/// Wraps serialised bytes.
pub(crate) fn fragment(bytes: Vec<u8>) -> Fragment {
    Fragment {
        sha256: Sha256::digest(&bytes).into(),
        tokens: (bytes.len() as u64).div_ceil(BYTES_PER_TOKEN),
        bytes: bytes.into(),
    }
}

/// Appends `value` as JSON. Writing to memory cannot fail, and none of our types has keys that are not text.
pub(crate) fn write_json(out: &mut Vec<u8>, value: &impl Serialize) {
    if let Err(error) = serde_json::to_writer(out, value) {
        tracing::error!(%error, "a part of a request could not be serialised");
    }
}

/// What the last fragments of a request have beyond their own bytes. They have a hole for it, so that it moves on without another encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// What is filled in.
    pub(crate) text: &'static [u8],
    /// The ending before which it stands; a fragment that ends in another way has no hole.
    pub(crate) ending: &'static [u8],
    /// How many of the last fragments have it, the head among them.
    pub(crate) fragments: usize,
}

/// A request's bytes: head, turns, tail. Cloning it copies no content.
#[derive(Debug, Clone)]
pub(crate) struct Body {
    head: Bytes,
    turns: Arc<Vec<Fragment>>,
    tail: Bytes,
    mark: Option<Mark>,
}

impl Body {
    pub(crate) fn new(request: &Request, tail: &'static [u8], mark: Option<Mark>) -> Self {
        Self {
            head: request.head.bytes.clone(),
            turns: Arc::clone(&request.turns),
            tail: Bytes::from_static(tail),
            mark,
        }
    }

    /// Exact length in bytes.
    pub(crate) fn len(&self) -> usize {
        let turns: usize = self.turns.iter().map(|turn| turn.bytes.len()).sum();
        let fragments = self.turns.len() + 1;
        let late = self.mark.map_or(0, |mark| mark.fragments);
        let marks: usize = (fragments.saturating_sub(late)..fragments)
            .filter_map(|position| self.mark_of(position))
            .map(|mark| mark.text.len())
            .sum();
        self.head.len() + turns + self.tail.len() + marks
    }

    /// A part: the head, a turn, the tail.
    fn part(&self, position: usize) -> Option<&Bytes> {
        match position.checked_sub(1) {
            None => Some(&self.head),
            Some(turn) if turn < self.turns.len() => Some(&self.turns[turn].bytes),
            Some(turn) if turn == self.turns.len() => Some(&self.tail),
            Some(_) => None,
        }
    }

    /// What is filled into a part, where it is one of the last fragments and has a hole.
    fn mark_of(&self, position: usize) -> Option<Mark> {
        let fragments = self.turns.len() + 1;
        let is_late = |mark: &Mark| position < fragments && position + mark.fragments >= fragments;
        let mark = self.mark.filter(is_late)?;
        let has_hole = self.part(position)?.ends_with(mark.ending);
        has_hole.then_some(mark)
    }

    /// The bytes of a part in order. Nothing is copied: each is a reference-counted slice.
    fn pieces(&self, position: usize) -> Option<[Bytes; 3]> {
        let part = self.part(position)?;
        Some(match self.mark_of(position) {
            Some(mark) => {
                let hole = part.len() - mark.ending.len();
                let text = Bytes::from_static(mark.text);
                [part.slice(..hole), text, part.slice(hole..)]
            }
            None => [part.clone(), Bytes::new(), Bytes::new()],
        })
    }

    /// All of them, empty ones left out.
    fn all(self) -> impl Iterator<Item = Bytes> {
        let pieces = (0..).map_while(move |position| self.pieces(position));
        pieces.flatten().filter(|piece| !piece.is_empty())
    }

    /// The body for the HTTP client, which must be told [`Body::len`] as its content length, else it sends chunks.
    pub(crate) fn stream(self) -> reqwest::Body {
        let pieces = self.all().map(Ok::<_, std::convert::Infallible>);
        reqwest::Body::wrap_stream(stream::iter(pieces))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(turns: &[&str]) -> Request {
        let turns: Vec<Fragment> = turns.iter().map(|turn| fragment((*turn).into())).collect();
        Request {
            head: fragment(b"head".to_vec()),
            turns: turns.into(),
            index: 0,
            time_left: None,
            cancel: tokio_util::sync::CancellationToken::new(),
            waits: agent::ports::Waits::default(),
        }
    }

    #[test]
    fn marks_fill_the_holes_of_the_last_fragments() {
        let mark = Mark {
            text: b"!",
            ending: b">",
            fragments: 2,
        };
        for (turns, wanted) in [
            (&[][..], "head]}"),
            (&["<a>"], "head<a!>]}"),
            (&["<a>", "<b>"], "head<a!><b!>]}"),
            (&["<a>", "<b>", "c"], "head<a><b!>c]}"),
            (&["<a>", "<b>", "<c>", "<d>"], "head<a><b><c!><d!>]}"),
        ] {
            let body = Body::new(&request(turns), b"]}", Some(mark));
            assert_eq!(body.len(), wanted.len(), "{wanted}");
            let sent = body.all().collect::<Vec<_>>().concat();
            assert_eq!(String::from_utf8(sent).unwrap(), wanted);
        }
    }

    #[test]
    fn a_body_is_its_parts() {
        let request = request(&["one", "two"]);
        let body = Body::new(&request, b"]}", None);
        let parts: Vec<Bytes> = body.clone().all().collect();
        assert_eq!(parts.concat(), b"headonetwo]}");
        assert_eq!(body.len(), 12);
        assert_eq!(request.head.tokens, 1);
        assert_eq!(
            parts[1].as_ptr(),
            request.turns[0].bytes.as_ptr(),
            "no copy"
        );
    }
}
