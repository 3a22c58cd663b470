//! Models on the real wire: loopback servers that behave, and servers that do not.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail")]

mod anthropic;
mod canned;
mod chat;
mod conversation;
mod faults;
mod flow;
mod foreign;
mod openai_responses;
mod stream;
mod support;
