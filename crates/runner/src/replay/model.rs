//! The recorded replies as a model.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use agent::ports::{Fragment, Head, Model, Request, Shape};
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use schema::event::ModelFailure;
use schema::{ModelFailureKind, Reply, Turn};

use super::Recording;

/// Answers with the recorded replies in order. Paths of the recorded sandbox in them become those of the new one.
pub struct Recorded {
    replies: Mutex<VecDeque<Reply>>,
}

impl Recorded {
    /// The replies of `recording`, for a repository at `workdir`.
    pub fn new(recording: &Recording, workdir: &str) -> Self {
        let recorded = &recording.task.workdir;
        let moved = recording.replies().map(|reply| {
            let mut reply = reply.clone();
            reply.text = reply.text.replace(recorded, workdir);
            for call in &mut reply.tool_calls {
                call.arguments = call.arguments.replace(recorded, workdir);
            }
            // Times and failed tries belong to the recording.
            reply.retries.clear();
            reply
        });
        Self {
            replies: Mutex::new(moved.collect()),
        }
    }
}

impl Model for Recorded {
    fn head(&self, _head: &Head) -> Fragment {
        empty()
    }

    fn turn(&self, _turn: &Turn, _shape: Shape) -> Fragment {
        empty()
    }

    fn window(&self) -> Option<u64> {
        None
    }

    fn max_output(&self) -> Option<u64> {
        None
    }

    fn query<'a>(&'a self, _request: Request) -> BoxFuture<'a, Result<Reply, ModelFailure>> {
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = replies.pop_front().ok_or_else(|| ModelFailure {
            kind: Some(ModelFailureKind::BadRequest),
            message: "the recording has no further reply".to_owned(),
            retries: Vec::new(),
            waited_ms: 0,
        });
        std::future::ready(answer).boxed()
    }
}

/// Nothing is sent anywhere, so nothing needs to be serialised.
fn empty() -> Fragment {
    Fragment {
        bytes: Bytes::new(),
        sha256: [0; 32],
        tokens: 0,
    }
}
