//! What a scripted server says, whole or streamed, and how it fails.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::error_body;
use crate::answer::Answer;

/// Characters in one piece of a streamed text.
const PIECE: usize = 7;
/// Bytes in one chunk of a stream: it cuts characters and lines.
const CHUNK: usize = 13;

/// Tokens of a request, as the service counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct InputCounts {
    pub(super) plain: usize,
    pub(super) cached: usize,
    pub(super) written: usize,
}

/// A failure before a reply comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A status with an error of a type.
    Status(u16, &'static str),
    /// An error of a type inside a stream; without a stream it comes with status 500.
    InStream(&'static str),
    /// The connection closes in the middle.
    Cut,
}

/// One scripted reply.
#[derive(Debug, Clone, Default)]
pub struct Said {
    blocks: Vec<Block>,
    stop: Option<(&'static str, Value)>,
    faults: Vec<Fault>,
}

#[derive(Debug, Clone)]
enum Block {
    Text(String),
    Thought(String),
    Sealed(String),
    Call(String, Value),
}

impl Said {
    /// A reply with text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().and(Block::Text(text.into()))
    }

    /// A reply that calls a tool.
    pub fn call(name: impl Into<String>, arguments: &Value) -> Self {
        Self::default().and_call(name, arguments)
    }

    /// A reply that begins with a thought.
    pub fn thought(text: impl Into<String>) -> Self {
        Self::default().and(Block::Thought(text.into()))
    }

    /// And with a thought that nobody may read.
    #[must_use]
    pub fn and_sealed(self, data: impl Into<String>) -> Self {
        self.and(Block::Sealed(data.into()))
    }

    /// And says something.
    #[must_use]
    pub fn and_text(self, text: impl Into<String>) -> Self {
        self.and(Block::Text(text.into()))
    }

    /// And calls a tool, another one where it calls one.
    #[must_use]
    pub fn and_call(self, name: impl Into<String>, arguments: &Value) -> Self {
        self.and(Block::Call(name.into(), arguments.clone()))
    }

    /// Ends for this reason, with these details.
    #[must_use]
    pub fn stopping(mut self, reason: &'static str, details: Value) -> Self {
        self.stop = Some((reason, details));
        self
    }

    /// Comes only after these failures, one for each try.
    #[must_use]
    pub fn after(mut self, faults: impl IntoIterator<Item = Fault>) -> Self {
        self.faults.extend(faults);
        self
    }

    fn and(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// The failure of a try, counted from 0.
    pub(super) fn fault(&self, tries: usize) -> Option<Fault> {
        self.faults.get(tries).copied()
    }

    fn stop_reason(&self) -> (&'static str, Value) {
        let calls = self
            .blocks
            .iter()
            .any(|block| matches!(block, Block::Call(..)));
        let usual = if calls { "tool_use" } else { "end_turn" };
        self.stop.clone().unwrap_or((usual, Value::Null))
    }

    /// The content, as the service writes it.
    fn content(&self, step: usize) -> Vec<Value> {
        let blocks = self.blocks.iter().enumerate();
        blocks
            .map(|(place, block)| block.whole(step, place))
            .collect()
    }

    /// Checks that a message that comes back is this one, but for what cannot be sent back.
    pub(super) fn check_returned(&self, step: usize, message: &Value) -> Result<(), String> {
        let mut own = self.content(step);
        own.retain(|block| block["type"] != "text" || !is_blank(&block["text"]));
        let mut back = message["content"].as_array().cloned().unwrap_or_default();
        for block in &mut back {
            block
                .as_object_mut()
                .map(|block| block.remove("cache_control"));
        }
        // A message that is empty or ends with a thought needs another end.
        let unfit = own.last().is_none_or(is_thought);
        if unfit && back.len() == own.len() + 1 {
            back.pop();
        }
        if own == back {
            Ok(())
        } else {
            let (own, back) = (Value::from(own), Value::from(back));
            Err(format!(
                "reply {step} came back changed: {back} instead of {own}"
            ))
        }
    }

    /// The answer to a request, streamed if it asks for that.
    pub(super) fn answer(&self, request: &Value, step: usize, input: InputCounts) -> Answer {
        let (reason, details) = self.stop_reason();
        let mut message = json!({
            "id": format!("msg_{step}"), "type": "message", "role": "assistant", "model": request["model"],
            "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": {
                "input_tokens": input.plain,
                "cache_creation_input_tokens": input.written,
                "cache_read_input_tokens": input.cached,
                "output_tokens": 1,
                "service_tier": "standard",
            },
        });
        let output = json!({
            "output_tokens": self.output_tokens(),
            "output_tokens_details": { "thinking_tokens": self.thinking_tokens() },
        });
        if request["stream"] == true {
            let delta =
                json!({ "stop_reason": reason, "stop_sequence": null, "stop_details": details });
            let mut events = vec![
                json!({ "type": "message_start", "message": message }),
                json!({ "type": "ping" }),
            ];
            for (place, block) in self.blocks.iter().enumerate() {
                events.extend(block.events(step, place));
            }
            events.push(json!({ "type": "message_delta", "delta": delta, "usage": output }));
            events.push(json!({ "type": "message_stop" }));
            let stream = event_stream(&events);
            return Answer::pieces(EVENTS, stream.as_bytes().chunks(CHUNK));
        }
        message["content"] = self.content(step).into();
        message["stop_reason"] = reason.into();
        message["stop_details"] = details;
        for (name, count) in output.as_object().into_iter().flatten() {
            message["usage"][name] = count.clone();
        }
        Answer::json(&message)
    }

    /// A failure in the place of the answer.
    pub(super) fn fail(&self, fault: Fault, request: &Value, step: usize) -> Answer {
        let streamed = request["stream"] == true;
        let first = self.blocks.first().map(|block| block.events(step, 0));
        let mut events = vec![json!({ "type": "message_start", "message": {
            "id": "msg_x", "type": "message", "role": "assistant", "model": request["model"], "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 },
        }})];
        events.extend(first.into_iter().flatten().take(2));
        match fault {
            Fault::Status(status, kind) => error(status, kind, "scripted"),
            Fault::InStream(kind) if streamed => {
                events.push(error_body(kind, "scripted"));
                Answer::pieces(EVENTS, event_stream(&events).as_bytes().chunks(CHUNK))
            }
            Fault::InStream(kind) => error(500, kind, "scripted"),
            Fault::Cut => Answer::chunked(EVENTS)
                .chunk(event_stream(&events).as_bytes())
                .close(),
        }
    }

    fn output_tokens(&self) -> usize {
        1 + self.thinking_tokens()
            + self
                .content(0)
                .iter()
                .map(|block| block.to_string().len() / 4)
                .sum::<usize>()
    }

    fn thinking_tokens(&self) -> usize {
        let thoughts = self.blocks.iter().filter_map(|block| match block {
            Block::Thought(text) => Some(1 + text.len() / 4),
            Block::Sealed(data) => Some(1 + data.len() / 4),
            Block::Text(_) | Block::Call(..) => None,
        });
        thoughts.sum()
    }
}

const EVENTS: &str = "text/event-stream; charset=utf-8";

impl Block {
    fn whole(&self, step: usize, place: usize) -> Value {
        match self {
            Self::Text(text) => json!({ "type": "text", "text": text }),
            Self::Thought(text) => {
                json!({ "type": "thinking", "thinking": text, "signature": signature(text) })
            }
            Self::Sealed(data) => json!({ "type": "redacted_thinking", "data": data }),
            Self::Call(name, arguments) => json!({
                "type": "tool_use", "id": format!("toolu_{step}_{place}"), "name": name, "input": arguments,
                "caller": { "type": "direct" },
            }),
        }
    }

    fn events(&self, step: usize, place: usize) -> Vec<Value> {
        let mut start = self.whole(step, place);
        let deltas: Vec<Value> = match self {
            Self::Text(text) => {
                start["text"] = "".into();
                let pieces = pieces(text).into_iter();
                pieces
                    .map(|piece| json!({ "type": "text_delta", "text": piece }))
                    .collect()
            }
            Self::Thought(text) => {
                start["thinking"] = "".into();
                start["signature"] = "".into();
                let pieces = pieces(text).into_iter();
                let pieces =
                    pieces.map(|piece| json!({ "type": "thinking_delta", "thinking": piece }));
                pieces
                    .chain([json!({ "type": "signature_delta", "signature": signature(text) })])
                    .collect()
            }
            Self::Sealed(_) => Vec::new(),
            Self::Call(_, arguments) => {
                start["input"] = json!({});
                // The service begins with a piece of nothing, and says nothing at all of an empty object.
                let text = match arguments.as_object() {
                    Some(fields) if fields.is_empty() => String::new(),
                    Some(_) | None => arguments.to_string(),
                };
                let pieces = std::iter::once(String::new()).chain(pieces(&text));
                pieces
                    .map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }))
                    .collect()
            }
        };
        let mut events =
            vec![json!({ "type": "content_block_start", "index": place, "content_block": start })];
        events.extend(
            deltas.into_iter().map(
                |delta| json!({ "type": "content_block_delta", "index": place, "delta": delta }),
            ),
        );
        events.push(json!({ "type": "content_block_stop", "index": place }));
        events
    }
}

/// An error as an answer.
pub(super) fn error(status: u16, kind: &str, words: &str) -> Answer {
    Answer::json_with(status, &error_body(kind, words))
}

/// What proves that a thought is the server's own.
pub(super) fn signature(thought: &str) -> String {
    let digest = Sha256::digest([b"signed: ".as_slice(), thought.as_bytes()].concat());
    let half = digest.first_chunk().copied().unwrap_or_default();
    format!("{:032x}==", u128::from_be_bytes(half))
}

pub(super) fn is_thought(block: &Value) -> bool {
    matches!(
        block["type"].as_str(),
        Some("thinking" | "redacted_thinking")
    )
}

pub(super) fn is_blank(text: &Value) -> bool {
    text.as_str().is_none_or(|text| text.trim().is_empty())
}

fn event_stream(events: &[Value]) -> String {
    let lines = events.iter().map(|event| {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    });
    lines.collect()
}

fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let pieces = characters.chunks(PIECE);
    pieces.map(|piece| piece.iter().collect()).collect()
}
