//! Chat completions: OpenAI's protocol, and all servers that speak it.

mod assistant;
mod request;

pub(crate) use request::{Format, turn};
