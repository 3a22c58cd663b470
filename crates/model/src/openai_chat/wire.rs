//! What servers send: whole answers and pieces of streamed ones have the same form. Values that servers write in several ways are left as text.

use serde::Deserialize;
use serde_json::value::RawValue;

/// A whole answer, or an event of a streamed one.
#[derive(Deserialize)]
pub(super) struct Document<'a> {
    #[serde(default, borrow)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    #[serde(default, borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) model: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) error: Option<&'a RawValue>,
    /// `error` where the document itself is one.
    #[serde(default, borrow)]
    pub(super) object: Option<&'a RawValue>,
}

/// One of several answers to the same request.
#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default, borrow)]
    pub(super) index: Option<&'a RawValue>,
    /// The message, where it is whole: it is carried back as it came.
    #[serde(default, borrow)]
    pub(super) message: Option<&'a RawValue>,
    /// What a streamed message grows by.
    #[serde(default, borrow)]
    pub(super) delta: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) finish_reason: Option<&'a RawValue>,
}

/// A call of a tool, or what a streamed one grows by.
#[derive(Deserialize)]
pub(super) struct Call<'a> {
    #[serde(default, borrow)]
    pub(super) index: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) function: Option<Function<'a>>,
}

/// What is called.
#[derive(Deserialize)]
pub(super) struct Function<'a> {
    #[serde(default, borrow)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// A position in a list, where one is given.
pub(super) fn position(index: Option<&RawValue>) -> Option<u64> {
    index?.get().parse().ok()
}
