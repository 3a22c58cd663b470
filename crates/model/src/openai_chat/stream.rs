//! Putting streamed answers together.
//!
//! The message is rebuilt as a whole answer would have held it, so that it can be carried back: text fields are joined,
//! lists are strung together, and of anything else the last word counts.

use serde::Serialize;
use serde_json::value::RawValue;

use schema::{RawJson, Usage};

use super::reply::{self, finish_reason, is_failure, read_usage};
use super::wire::{Call, Document, position};
use crate::http::trouble::{Class, Trouble, excerpt};
use crate::http::{Answer, AnswerCall, Decoder};
use crate::raw::{Fields, present, text};
use crate::wire::write_json;

/// The data of the last event.
const END_MARK: &str = "[DONE]";

/// Fields or calls that a message may have: each piece is looked up among them, so that a server without limits would keep us busy for ever.
const MOST: usize = 256;

/// An answer in the making.
#[derive(Debug, Default)]
pub(crate) struct ChatDecoder {
    fields: Vec<(String, Field)>,
    calls: Vec<Slot>,
    usage: Option<Usage>,
    model: Option<String>,
    finish: Option<String>,
    over: bool,
}

/// A field of the message.
#[derive(Debug)]
enum Field {
    Text(String),
    List(Vec<Box<RawValue>>),
    Other(Box<RawValue>),
}

/// A call in the making.
#[derive(Debug, Default)]
struct Slot {
    index: Option<u64>,
    call: AnswerCall,
}

/// A call as a whole answer would have held it.
#[derive(Serialize)]
struct StreamedCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(rename = "type")]
    kind: &'static str,
    function: StreamedFunction<'a>,
}

#[derive(Serialize)]
struct StreamedFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl<'a> StreamedCall<'a> {
    fn new(slot: &'a Slot) -> Self {
        Self {
            id: slot.call.id.as_deref(),
            kind: "function",
            function: StreamedFunction {
                name: &slot.call.name,
                arguments: &slot.call.arguments,
            },
        }
    }
}

fn not_too_many(count: usize, what: &str) -> Result<(), serde_json::Error> {
    if count > MOST {
        let problem = format!("a message with more than {MOST} {what}");
        return Err(serde::de::Error::custom(problem));
    }
    Ok(())
}

impl Decoder for ChatDecoder {
    fn take(&mut self, data: &str) -> Result<(), Trouble> {
        if data.trim() == END_MARK {
            self.over = true;
            return Ok(());
        }
        let unreadable = |error: serde_json::Error| {
            Trouble::new(
                Class::Unavailable,
                format!(
                    "sent an event that cannot be read ({error}): {}",
                    excerpt(data.as_bytes())
                ),
            )
        };
        let chunk: Document<'_> = serde_json::from_str(data).map_err(unreadable)?;
        if let Some(error) = present(chunk.error) {
            return Err(Trouble::reported(error));
        }
        if text(chunk.object).as_deref() == Some("error") {
            let whole: &RawValue = serde_json::from_str(data).map_err(unreadable)?;
            return Err(Trouble::reported(whole));
        }
        if let Some(usage) = chunk.usage.and_then(|usage| read_usage(usage.get())) {
            self.usage = Some(usage);
        }
        if self.model.is_none() {
            self.model = text(chunk.model);
        }
        for choice in chunk.choices.unwrap_or_default() {
            if position(choice.index).unwrap_or(0) != 0 {
                continue;
            }
            if let Some(delta) = present(choice.delta) {
                self.add(delta.get()).map_err(unreadable)?;
            }
            if let Some(reason) = text(choice.finish_reason).filter(|reason| !reason.is_empty()) {
                if is_failure(&reason) {
                    return Err(Trouble::new(
                        Class::Unavailable,
                        format!("broke off its reply: {}", excerpt(data.as_bytes())),
                    ));
                }
                self.finish = Some(reason);
            }
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.finish.is_some() || self.over
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn finish(self) -> Result<Answer, Trouble> {
        let failed = |what: String| Trouble::new(Class::Unavailable, what);
        if !self.is_whole() {
            return Err(failed(
                "ended its stream without a finish reason".to_owned(),
            ));
        }
        if self.finish.is_none() && self.fields.is_empty() && self.calls.is_empty() {
            return Err(failed("sent a stream without a reply".to_owned()));
        }
        let message = self.message();
        let mut answer = reply::read_message(&message)
            .map_err(|error| failed(format!("sent a stream that makes no message ({error})")))?;
        if answer.finish.is_none() {
            answer.finish = self.finish.as_deref().map(finish_reason);
        }
        answer.usage = self.usage;
        answer.model = self.model;
        answer.raw = RawJson::parse(message).ok();
        Ok(answer)
    }
}

impl ChatDecoder {
    fn add(&mut self, delta: &str) -> Result<(), serde_json::Error> {
        let delta: Fields<'_> = serde_json::from_str(delta)?;
        for (name, value) in delta.0 {
            match name.as_ref() {
                "role" => {}
                "tool_calls" => {
                    if let Some(calls) = present(Some(value)) {
                        for call in serde_json::from_str::<Vec<Call<'_>>>(calls.get())? {
                            self.add_call(&call);
                            not_too_many(self.calls.len(), "calls")?;
                        }
                    }
                }
                "function_call" => {
                    if let Some(function) = present(Some(value)) {
                        self.add_call(&Call {
                            index: None,
                            id: None,
                            function: Some(serde_json::from_str(function.get())?),
                        });
                    }
                }
                _ => self.add_field(&name, value)?,
            }
        }
        Ok(())
    }

    fn add_field(&mut self, name: &str, value: &RawValue) -> Result<(), serde_json::Error> {
        let raw = value.get();
        if raw == "null" {
            return Ok(());
        }
        let new = match raw.as_bytes().first() {
            Some(b'"') => Field::Text(serde_json::from_str(raw)?),
            Some(b'[') => Field::List(serde_json::from_str(raw)?),
            _ => Field::Other(value.to_owned()),
        };
        let Some((_, old)) = self.fields.iter_mut().find(|(known, _)| known == name) else {
            self.fields.push((name.to_owned(), new));
            return not_too_many(self.fields.len(), "fields");
        };
        match (old, new) {
            (Field::Text(old), Field::Text(new)) => old.push_str(&new),
            (Field::List(old), Field::List(new)) => old.extend(new),
            (old, new) => *old = new,
        }
        Ok(())
    }

    /// Adds a piece of a call to the call that it belongs to: by index, else by id, else the last one.
    fn add_call(&mut self, delta: &Call<'_>) {
        let id = text(delta.id).filter(|id| !id.is_empty());
        let function = delta.function.as_ref();
        let name = text(function.and_then(|function| function.name)).unwrap_or_default();
        let place = self.place(position(delta.index), id.as_deref(), !name.is_empty());
        let Some(slot) = self.calls.get_mut(place) else {
            return;
        };
        let call = &mut slot.call;
        if call.id.is_none() {
            call.id = id;
        }
        // Most send the name once, some with every piece, some in pieces.
        if call.name != name {
            call.name.push_str(&name);
        }
        if let Some(arguments) = text(function.and_then(|function| function.arguments)) {
            call.arguments.push_str(&arguments);
        }
    }

    fn place(&mut self, index: Option<u64>, id: Option<&str>, named: bool) -> usize {
        let known = match (index, id) {
            (Some(_), _) => self.calls.iter().rposition(|slot| slot.index == index),
            (None, Some(id)) => self
                .calls
                .iter()
                .rposition(|slot| slot.call.id.as_deref() == Some(id)),
            (None, None) => self.calls.len().checked_sub(1),
        };
        // Some give every call of a reply index 0: a new id with a name is a new call.
        let same = known.filter(|place| {
            let own = self.calls[*place].call.id.as_deref();
            !(named && id.is_some() && own.is_some() && own != id)
        });
        same.unwrap_or_else(|| {
            self.calls.push(Slot {
                index,
                call: AnswerCall::default(),
            });
            self.calls.len() - 1
        })
    }

    /// The message as a whole answer would have held it.
    fn message(&self) -> String {
        let mut out = b"{\"role\":\"assistant\"".to_vec();
        if !self.fields.iter().any(|(name, _)| name == "content") {
            out.extend_from_slice(b",\"content\":null");
        }
        for (name, field) in &self.fields {
            out.push(b',');
            write_json(&mut out, name);
            out.push(b':');
            match field {
                Field::Text(text) => write_json(&mut out, text),
                Field::List(items) => write_json(&mut out, items),
                Field::Other(value) => write_json(&mut out, value),
            }
        }
        if !self.calls.is_empty() {
            let calls: Vec<_> = self.calls.iter().map(StreamedCall::new).collect();
            out.extend_from_slice(b",\"tool_calls\":");
            write_json(&mut out, &calls);
        }
        out.push(b'}');
        String::from_utf8(out).unwrap_or_default()
    }
}
