//! What strict servers have in common: they refuse, they count what they refused, and they remember conversations.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::answer::Answer;
use crate::server::{Captured, FakeServer};

/// A server whose answers are a protocol's affair.
pub(crate) struct StrictServer {
    pub(crate) server: FakeServer,
    conversations: Arc<Conversations>,
}

impl StrictServer {
    /// Starts a server that answers each request, after some time, with what `answer` makes of it, or with `refusal` of what is wrong with it.
    pub(crate) fn start(
        latency: Duration,
        answer: impl Fn(&Captured, &Conversations) -> Result<Answer, String> + Send + Sync + 'static,
        refusal: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let conversations = Arc::new(Conversations::default());
        let shared = Arc::clone(&conversations);
        let server = FakeServer::start(move |request| {
            let answer = answer(request, &shared).unwrap_or_else(|violation| {
                let refusal = refusal(&violation);
                shared.lock().violations.push(violation);
                refusal
            });
            if latency.is_zero() {
                answer
            } else {
                answer.after(latency)
            }
        });
        Self {
            server,
            conversations,
        }
    }

    /// What clients did wrong, in words.
    pub(crate) fn violations(&self) -> Vec<String> {
        self.conversations.lock().violations.clone()
    }

    /// Requests that changed what had been said instead of adding to it.
    pub(crate) fn rewrites(&self) -> usize {
        self.conversations.lock().rewrites
    }
}

/// What the server remembers of all conversations.
#[derive(Default)]
pub(crate) struct Conversations(Mutex<State>);

#[derive(Default)]
struct State {
    by_prompt: HashMap<String, Memory>,
    violations: Vec<String>,
    rewrites: usize,
}

/// What the server remembers of a conversation: its last request.
struct Memory {
    body: Vec<u8>,
    head: Value,
    length: usize,
}

/// Bytes that close a body after its last turn.
const CLOSING: usize = 2;

impl Conversations {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a request of `length` messages in the conversation that starts with `prompt`.
    ///
    /// # Errors
    /// When its head, all that is no turn, is not that of the request before: it never changes. What follows it should only grow.
    pub(crate) fn remember(
        &self,
        prompt: &str,
        body: &[u8],
        head: Value,
        length: usize,
    ) -> Result<(), String> {
        let mut state = self.lock();
        let known = state.by_prompt.get(prompt);
        if let Some(known) = known.filter(|known| known.length < length) {
            if known.head != head {
                return Err(format!("the head changed: {} became {head}", known.head));
            }
            let before = &known.body[..known.body.len().saturating_sub(CLOSING)];
            if !body.starts_with(before) {
                state.rewrites += 1;
            }
        }
        let memory = Memory {
            body: body.to_owned(),
            head,
            length,
        };
        state.by_prompt.insert(prompt.to_owned(), memory);
        Ok(())
    }
}
