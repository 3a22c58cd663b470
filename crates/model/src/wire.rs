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

/// A request's bytes: head, turns, tail. Cloning it copies no content.
#[derive(Debug, Clone)]
pub(crate) struct Body {
    head: Bytes,
    turns: Arc<Vec<Fragment>>,
    tail: Bytes,
}

impl Body {
    pub(crate) fn new(request: &Request, tail: &'static [u8]) -> Self {
        Self {
            head: request.head.bytes.clone(),
            turns: Arc::clone(&request.turns),
            tail: Bytes::from_static(tail),
        }
    }

    /// Exact length in bytes.
    pub(crate) fn len(&self) -> usize {
        let turns: usize = self.turns.iter().map(|turn| turn.bytes.len()).sum();
        self.head.len() + turns + self.tail.len()
    }

    /// The parts in order. Nothing is copied: each is a reference-counted slice.
    fn part(&self, position: usize) -> Option<Bytes> {
        match position.checked_sub(1) {
            None => Some(self.head.clone()),
            Some(turn) if turn < self.turns.len() => Some(self.turns[turn].bytes.clone()),
            Some(turn) if turn == self.turns.len() => Some(self.tail.clone()),
            Some(_) => None,
        }
    }

    /// The body for the HTTP client, which must be told [`Body::len`] as its content length, else it sends chunks.
    pub(crate) fn stream(self) -> reqwest::Body {
        let parts = (0..).map_while(move |position| self.part(position));
        reqwest::Body::wrap_stream(stream::iter(parts.map(Ok::<_, std::convert::Infallible>)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_its_parts() {
        let request = Request {
            head: fragment(b"head".to_vec()),
            turns: vec![fragment(b"one".to_vec()), fragment(b"two".to_vec())].into(),
            index: 0,
            time_left: None,
            cancel: tokio_util::sync::CancellationToken::new(),
            waits: agent::ports::Waits::default(),
        };
        let body = Body::new(&request, b"]}");
        let parts: Vec<Bytes> = (0..).map_while(|position| body.part(position)).collect();
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
