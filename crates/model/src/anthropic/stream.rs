//! Putting streamed answers together.
//!
//! Blocks are rebuilt as a whole answer would have held them, so that they can be carried back. The events are those of
//! <https://platform.claude.com/docs/en/build-with-claude/streaming>; unknown ones are passed over, as is said there.

use serde::Serialize;
use serde_json::value::RawValue;

use super::reply;
use super::wire::{Counts, Delta, Document, Event, Stop};
use crate::http::trouble::{Class, Trouble, excerpt};
use crate::http::{Answer, Decoder};
use crate::raw::{Fields, present, text};
use crate::wire::write_json;

/// Blocks that a message may have: each piece is looked up among them, so that a server without limits would keep us busy for ever.
const MOST: usize = 1024;

/// An answer in the making.
#[derive(Debug, Default)]
pub(crate) struct MessageDecoder {
    blocks: Vec<OpenBlock>,
    counts: Counts,
    model: Option<String>,
    stop: Option<Stop>,
    over: bool,
}

/// A block in the making.
#[derive(Debug)]
struct OpenBlock {
    index: Option<u64>,
    fields: Vec<(String, Field)>,
}

/// A field of a block.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Field {
    AsItCame(Box<RawValue>),
    Text(String),
    List(Vec<Box<RawValue>>),
}

/// The field of a call that holds its arguments, which come as pieces of JSON.
const INPUT: &str = "input";

impl Decoder for MessageDecoder {
    fn take(&mut self, data: &str) -> Result<(), Trouble> {
        let unreadable = |problem: String| {
            Trouble::new(
                Class::Unavailable,
                format!(
                    "sent an event that cannot be read ({problem}): {}",
                    excerpt(data.as_bytes())
                ),
            )
        };
        let event: Event<'_> =
            serde_json::from_str(data).map_err(|error| unreadable(error.to_string()))?;
        if let Some(error) = present(event.error) {
            return Err(Trouble::reported(error));
        }
        match event.kind.as_ref() {
            "message_start" => self.start(event.message),
            "content_block_start" => self
                .open(event.index, event.content_block)
                .map_err(unreadable)?,
            "content_block_delta" => self.grow(event.index, event.delta).map_err(unreadable)?,
            "message_delta" => {
                self.counts.take(event.usage);
                let stop = event
                    .delta
                    .and_then(|delta| Stop::read(delta.stop_reason, delta.stop_details));
                self.stop = stop.or(self.stop.take());
            }
            "message_stop" => self.over = true,
            _ => {}
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.stop.is_some() || self.over
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn finish(self) -> Result<Answer, Trouble> {
        let failed = |what: String| Trouble::new(Class::Unavailable, what);
        if !self.is_whole() {
            return Err(failed("ended its stream without a stop reason".to_owned()));
        }
        if self.stop.is_none() && self.blocks.is_empty() {
            return Err(failed("sent a stream without a reply".to_owned()));
        }
        let unfit = |error| failed(format!("sent a stream that makes no message ({error})"));
        let content: Vec<Box<RawValue>> = self
            .blocks
            .iter()
            .map(OpenBlock::whole)
            .collect::<Result<_, _>>()
            .map_err(unfit)?;
        let content: Vec<&RawValue> = content.iter().map(AsRef::as_ref).collect();
        let mut answer = reply::read_content(&content, self.stop).map_err(unfit)?;
        let pieces = self.blocks.iter().filter(|block| block.is_call());
        for (call, block) in answer.calls.iter_mut().zip(pieces) {
            if let Some(arguments) = block.pieces_of_input() {
                arguments.clone_into(&mut call.arguments);
            }
        }
        answer.usage = self.counts.usage();
        answer.model = self.model;
        Ok(answer)
    }
}

impl MessageDecoder {
    fn start(&mut self, message: Option<Document<'_>>) {
        if let Some(message) = message {
            self.counts.take(message.usage);
            self.model = text(message.model);
        }
    }

    fn open(&mut self, index: Option<u64>, block: Option<&RawValue>) -> Result<(), String> {
        let block = present(block).ok_or("the start of nothing")?;
        let fields: Fields<'_> =
            serde_json::from_str(block.get()).map_err(|error| error.to_string())?;
        let fields = fields.0.into_iter();
        self.blocks.push(OpenBlock {
            index,
            fields: fields
                .map(|(name, value)| (name.into_owned(), Field::AsItCame(value.to_owned())))
                .collect(),
        });
        if self.blocks.len() > MOST {
            return Err(format!("a message with more than {MOST} blocks"));
        }
        Ok(())
    }

    fn grow(&mut self, index: Option<u64>, delta: Option<Delta<'_>>) -> Result<(), String> {
        let delta = delta.ok_or("a piece of nothing")?;
        let mut blocks = self.blocks.iter_mut();
        let block = blocks
            .rfind(|block| block.index == index)
            .ok_or("a piece of a block that did not start")?;
        match delta.kind.as_ref() {
            "text_delta" => block.append("text", delta.text),
            "thinking_delta" => block.append("thinking", delta.thinking),
            "input_json_delta" => block.append(INPUT, delta.partial_json),
            // It comes whole.
            "signature_delta" => block.set("signature", delta.signature),
            "citations_delta" => block.push("citations", delta.citation),
            _ => {}
        }
        Ok(())
    }
}

impl OpenBlock {
    fn is_call(&self) -> bool {
        let kind = self.fields.iter().find(|(name, _)| name == "type");
        matches!(kind, Some((_, Field::AsItCame(kind))) if kind.get() == "\"tool_use\"")
    }

    /// The arguments as the model wrote them, where they came in pieces.
    fn pieces_of_input(&self) -> Option<&str> {
        self.fields.iter().find_map(|(name, field)| match field {
            Field::Text(text) if name == INPUT && !text.is_empty() => Some(text.as_str()),
            Field::Text(_) | Field::AsItCame(_) | Field::List(_) => None,
        })
    }

    fn field(&mut self, name: &str) -> &mut Field {
        let known = self.fields.iter().position(|(known, _)| known == name);
        let place = known.unwrap_or_else(|| {
            let empty = Field::AsItCame(RawValue::NULL.to_owned());
            self.fields.push((name.to_owned(), empty));
            self.fields.len() - 1
        });
        &mut self.fields[place].1
    }

    fn append(&mut self, name: &str, piece: Option<&RawValue>) {
        let piece = text(piece).unwrap_or_default();
        let field = self.field(name);
        match field {
            Field::Text(text) => text.push_str(&piece),
            // A call starts with an empty object, which its pieces replace.
            Field::AsItCame(_) if name == INPUT => *field = Field::Text(piece),
            Field::AsItCame(start) => {
                *field = Field::Text(text(Some(start)).unwrap_or_default() + &piece);
            }
            Field::List(_) => {}
        }
    }

    fn set(&mut self, name: &str, value: Option<&RawValue>) {
        if let Some(value) = present(value) {
            *self.field(name) = Field::AsItCame(value.to_owned());
        }
    }

    fn push(&mut self, name: &str, item: Option<&RawValue>) {
        let item = present(item).map(ToOwned::to_owned);
        let field = self.field(name);
        match field {
            Field::List(items) => items.extend(item),
            Field::AsItCame(_) | Field::Text(_) => *field = Field::List(item.into_iter().collect()),
        }
    }

    /// The block as a whole answer would have held it. Arguments that were cut are not JSON: an empty object stands for them.
    fn whole(&self) -> Result<Box<RawValue>, serde_json::Error> {
        let mut out = vec![b'{'];
        for (place, (name, field)) in self.fields.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            write_json(&mut out, name);
            out.push(b':');
            match field {
                Field::Text(pieces) if name == INPUT => {
                    let input =
                        serde_json::from_str::<&RawValue>(pieces).map_or("{}", RawValue::get);
                    out.extend_from_slice(input.as_bytes());
                }
                other => write_json(&mut out, other),
            }
        }
        out.push(b'}');
        RawValue::from_string(String::from_utf8_lossy(&out).into_owned())
    }
}
