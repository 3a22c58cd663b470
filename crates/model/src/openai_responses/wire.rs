//! What servers send. Values that servers write in several ways, and all that is carried back, are left as text.

use serde::Deserialize;
use serde_json::value::RawValue;

/// A response: the whole of an answer, or part of the event that ends a streamed one.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Response<'a> {
    #[serde(default, borrow)]
    pub(super) status: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) incomplete_details: Option<IncompleteDetails<'a>>,
    /// The items, each as it came.
    #[serde(default, borrow)]
    pub(super) output: Option<Vec<&'a RawValue>>,
    #[serde(default, borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) model: Option<&'a RawValue>,
}

/// Why a response ended before its end.
#[derive(Debug, Deserialize)]
pub(super) struct IncompleteDetails<'a> {
    #[serde(default, borrow)]
    pub(super) reason: Option<&'a RawValue>,
}

/// An event of a streamed answer, as far as it says something that the last one does not.
#[derive(Debug, Deserialize)]
pub(super) struct Event<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) output_index: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) response: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// A piece of output: a message, a call of a function, a piece of reasoning, or something that we do not know.
#[derive(Debug, Deserialize)]
pub(super) struct Item<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) call_id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    /// Of a message; of reasoning where the model is open.
    #[serde(default, borrow)]
    pub(super) content: Option<&'a RawValue>,
    /// Of a message: whether more follows it.
    #[serde(default, borrow)]
    pub(super) phase: Option<&'a RawValue>,
    /// Of reasoning.
    #[serde(default, borrow)]
    pub(super) summary: Option<&'a RawValue>,
    /// Of reasoning: the thoughts themselves, for the server alone.
    #[serde(default, borrow)]
    pub(super) encrypted_content: Option<&'a RawValue>,
}

/// A part of an item's content.
#[derive(Debug, Deserialize)]
pub(super) struct Part<'a> {
    #[serde(default, borrow)]
    pub(super) text: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) refusal: Option<&'a RawValue>,
}

/// What an item is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    Call,
    Reasoning,
    /// A tool of the server's, or what came after this was written.
    Other,
}

impl Item<'_> {
    pub(super) fn kind(&self) -> Kind {
        match self.kind.map(RawValue::get) {
            Some("\"message\"") => Kind::Message,
            Some("\"function_call\"") => Kind::Call,
            Some("\"reasoning\"") => Kind::Reasoning,
            Some(_) | None => Kind::Other,
        }
    }
}

/// The parts of a content or a summary; text alone, as some servers send it, is none.
pub(super) fn parts(list: Option<&RawValue>) -> Result<Vec<Part<'_>>, serde_json::Error> {
    match list {
        Some(list) if list.get().starts_with('[') => serde_json::from_str(list.get()),
        Some(_) | None => Ok(Vec::new()),
    }
}
