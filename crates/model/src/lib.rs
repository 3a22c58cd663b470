//! Models: providers over HTTP, recorded and scripted replies.
//!
//! A [`Choice`] names a model, [`open`] makes it ready as a [`Provider`], and [`Provider::model`] gives it to one attempt as the port
//! that the agent knows. Transport retries, the limiter and prices live here; what a reply means is the agent's affair.

mod acceptable;
mod address;
mod anthropic;
mod canned;
mod choice;
mod error;
mod http;
mod limiter;
mod openai_chat;
mod openai_responses;
pub mod price;
mod provider;
mod raw;
mod recorded;
mod retry;
mod script;
mod service;
mod settings;
mod wire;

pub use address::shown;
pub use choice::Choice;
pub use error::Error;
pub use provider::{Provider, client, open};
pub use service::Service;
pub use settings::{Deadlines, RetryPolicy, Settings};
