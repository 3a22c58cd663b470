//! Requests: what is fixed for a model, the head of a conversation, and its turns.
//!
//! A prompt is kept in the server's cache up to a mark, and looked up from a mark at most 20 blocks back
//! (<https://platform.claude.com/docs/en/build-with-claude/prompt-caching>). One of the four marks that a request may have stands in the
//! head, after what all instances of a run share; the others are filled into the last fragments when they are sent. So the place where the last
//! request ended has a mark in this one, however many blocks came since.

use std::borrow::Cow;

use agent::ports::{ELIDED_OUTPUT, Fragment, Head, Shape, ToolSpec};
use schema::{ToolResult, Turn};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::assistant::{self, acceptable_id};
use crate::error::Error;
use crate::settings::Settings;
use crate::wire::{self, Mark, write_json};

/// What follows the last turn.
pub(super) const TAIL: &[u8] = b"]}";

/// The end of a user's message: an object in a list in an object. Messages of the assistant end in another way, since not every block of
/// theirs can be marked.
const ENDING: &[u8] = b"}]}";

/// The marks that are filled in. A step adds a turn and at times a note, so the last request ended among the last three fragments.
const MARK: Mark = Mark {
    text: br#","cache_control":{"type":"ephemeral"}"#,
    ending: ENDING,
    fragments: 3,
};

/// A field of the request by which the server sets the marks itself. A user who names it, if only to remove it, has none of ours.
const CACHE_CONTROL: &str = "cache_control";

/// Fields that are ours: a user's value would break the conversation or the reading of the reply.
const RESERVED: &[&str] = &["messages", "model", "stream", "system", "tools"];

/// What stands for an output that failed without a word: an error must say something.
const FAILED: &str = "failed without output";

/// Writes requests. Everything that is not a message stands before the messages, so that a turn only ever appends.
#[derive(Debug, Clone)]
pub(super) struct Format {
    parameters: Map<String, Value>,
    marked: bool,
}

impl Format {
    /// Collects the parameters; `limit` is the output limit, which this protocol insists on.
    pub(super) fn new(model: &str, settings: &Settings, limit: u64) -> Result<Self, Error> {
        let mut parameters = Map::new();
        parameters.insert("model".into(), model.into());
        parameters.insert("max_tokens".into(), limit.into());
        if settings.stream {
            parameters.insert("stream".into(), true.into());
        }
        if let Some(temperature) = settings.temperature {
            parameters.insert("temperature".into(), temperature.into());
        }
        settings.extend(&mut parameters, RESERVED)?;
        Ok(Self {
            parameters,
            marked: !settings.extra_body.contains_key(CACHE_CONTROL),
        })
    }

    /// What the last fragments have filled in.
    pub(super) fn mark(&self) -> Option<Mark> {
        self.marked.then_some(MARK)
    }

    /// Everything before the first turn: `{…parameters, "tools": […], "system": […], "messages": [user`.
    pub(super) fn head(&self, head: &Head) -> Fragment {
        let mut out = Vec::with_capacity(4096 + head.system.len() + head.prompt.len());
        let mut fields = self.parameters.clone();
        let mut tools: Vec<Value> = head.tools.iter().map(tool).collect();
        let mut system: Vec<Value> = Vec::new();
        if !head.system.is_empty() {
            system.push(json!({ "type": "text", "text": head.system }));
        }
        if self.marked
            && let Some(last) = system.last_mut().or(tools.last_mut())
        {
            last[CACHE_CONTROL] = json!({ "type": "ephemeral" });
        }
        for (name, list) in [("tools", tools), ("system", system)] {
            if !list.is_empty() {
                fields.insert(name.into(), list.into());
            }
        }
        write_json(&mut out, &fields);
        out.pop();
        out.extend_from_slice(b",\"messages\":[");
        write_json(
            &mut out,
            &json!({ "role": "user", "content": prompt(&head.prompt, &head.images) }),
        );
        wire::fragment(out)
    }
}

/// One turn: `,{assistant},{user with all results}` or `,{user}`. The server joins messages of the user that follow each other.
pub(super) fn turn(turn: &Turn, shape: Shape) -> Fragment {
    let mut out = Vec::with_capacity(512);
    match turn {
        Turn::Assistant { reply, results } => {
            out.push(b',');
            assistant::write(&mut out, reply);
            if !results.is_empty() {
                let content = results.iter().map(|result| Block::result(result, shape));
                write_user(&mut out, &content.collect::<Vec<_>>());
            }
        }
        Turn::User { text } => write_user(&mut out, &[Block::Text { text }]),
    }
    wire::fragment(out)
}

fn write_user(out: &mut Vec<u8>, content: &[Block<'_>]) {
    out.push(b',');
    write_json(
        out,
        &UserMessage {
            role: "user",
            content,
        },
    );
}

#[derive(Serialize)]
struct UserMessage<'a> {
    role: &'static str,
    content: &'a [Block<'a>],
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

impl<'a> Block<'a> {
    /// A blank output is left out, since text must hold more than spaces.
    fn result(result: &'a ToolResult, shape: Shape) -> Self {
        let content = match shape {
            Shape::Full => &result.content,
            Shape::Elided => ELIDED_OUTPUT,
        };
        Self::ToolResult {
            tool_use_id: acceptable_id(&result.call_id),
            content: Some(content)
                .filter(|content| !content.trim().is_empty())
                .or(result.is_error.then_some(FAILED)),
            is_error: result.is_error,
        }
    }
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "name": spec.name,
        "description": spec.description,
        "input_schema": spec.parameters,
    })
}

/// A prompt after its images, which models see best in that order (<https://platform.claude.com/docs/en/build-with-claude/vision>).
fn prompt(text: &str, images: &[String]) -> Vec<Value> {
    let text = json!({ "type": "text", "text": text });
    images.iter().map(|url| image(url)).chain([text]).collect()
}

/// An image by its address, or its own bytes where the address holds them (`data:image/png;base64,…`).
fn image(url: &str) -> Value {
    let inline = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    let source = match inline {
        Some((kind, data)) => json!({ "type": "base64", "media_type": kind, "data": data }),
        None => json!({ "type": "url", "url": url }),
    };
    json!({ "type": "image", "source": source })
}

#[cfg(test)]
mod tests;
