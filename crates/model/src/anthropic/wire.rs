//! What servers send: whole answers, events of streamed ones, blocks of content.

use std::borrow::Cow;

use schema::{FinishReason, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::raw::{present, text};

/// A block of content. Servers add kinds and fields at any time.
#[derive(Deserialize)]
pub(super) struct Block<'a> {
    #[serde(rename = "type", borrow)]
    name_of_kind: Cow<'a, str>,
    #[serde(default, borrow)]
    pub(super) text: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) thinking: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) signature: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) input: Option<&'a RawValue>,
}

/// Kinds of blocks that mean something to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Visible text.
    Text,
    /// Thoughts with a signature; their text may be empty.
    Thinking,
    /// Sealed thoughts.
    RedactedThinking,
    /// A call of one of our tools.
    ToolUse,
    /// Anything else, such as calls of tools that the server runs itself.
    Other,
}

impl Block<'_> {
    pub(super) fn kind(&self) -> Kind {
        match self.name_of_kind.as_ref() {
            "text" => Kind::Text,
            "thinking" => Kind::Thinking,
            "redacted_thinking" => Kind::RedactedThinking,
            "tool_use" => Kind::ToolUse,
            _ => Kind::Other,
        }
    }
}

/// A whole answer, or an error in the place of one.
#[derive(Deserialize)]
pub(super) struct Document<'a> {
    #[serde(default, borrow)]
    pub(super) content: Option<Vec<&'a RawValue>>,
    #[serde(default, borrow)]
    pub(super) model: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) stop_reason: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) stop_details: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// An event of a streamed answer.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(default)]
    pub(super) index: Option<u64>,
    /// The answer without its content, at the start.
    #[serde(default, borrow)]
    pub(super) message: Option<Document<'a>>,
    #[serde(default, borrow)]
    pub(super) content_block: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(default, borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// What a block, or the answer itself, grows by.
#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(default, borrow)]
    pub(super) text: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) thinking: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) signature: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) partial_json: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) citation: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) stop_reason: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) stop_details: Option<&'a RawValue>,
}

/// Why an answer ended, as the server says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stop {
    reason: String,
    explanation: Option<String>,
}

#[derive(Deserialize)]
struct StopDetails {
    #[serde(default)]
    explanation: Option<String>,
}

impl Stop {
    /// `None` where no reason is given.
    pub(super) fn read(reason: Option<&RawValue>, details: Option<&RawValue>) -> Option<Self> {
        let details = present(details)
            .and_then(|details| serde_json::from_str::<StopDetails>(details.get()).ok());
        Some(Self {
            reason: text(reason)?,
            explanation: details.and_then(|details| details.explanation),
        })
    }

    /// A full window cuts an answer as a limit does; a pause is made between calls of tools that the server runs itself.
    /// Source: <https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons>.
    pub(super) fn finish_reason(&self) -> FinishReason {
        match self.reason.as_str() {
            "end_turn" | "stop_sequence" => FinishReason::Stop,
            "tool_use" => FinishReason::ToolCalls,
            "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
            "refusal" => FinishReason::ContentFilter,
            // `pause_turn` among them.
            _ => FinishReason::Other,
        }
    }

    /// The server's words on a refusal.
    pub(super) fn explanation(self) -> Option<String> {
        self.explanation
    }
}

/// Tokens as the server counts them: `input_tokens` are those that were neither read from the cache nor written to it, so that a prompt has the
/// sum of all three; `output_tokens` hold the thoughts. In a stream later counts are totals that take the place of earlier ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Counts {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
struct OutputDetails {
    #[serde(default)]
    thinking_tokens: Option<u64>,
}

impl Counts {
    /// Takes in what a part of an answer says. What cannot be read is as good as nothing, and never costs the reply.
    pub(super) fn take(&mut self, usage: Option<&RawValue>) {
        let counts =
            present(usage).and_then(|usage| serde_json::from_str::<Self>(usage.get()).ok());
        let Some(new) = counts else {
            return;
        };
        *self = Self {
            input_tokens: new.input_tokens.or(self.input_tokens),
            cache_creation_input_tokens: new
                .cache_creation_input_tokens
                .or(self.cache_creation_input_tokens),
            cache_read_input_tokens: new.cache_read_input_tokens.or(self.cache_read_input_tokens),
            output_tokens: new.output_tokens.or(self.output_tokens),
            output_tokens_details: new.output_tokens_details.or(self.output_tokens_details),
        };
    }

    /// In our terms; `None` where the server did not count.
    pub(super) fn usage(self) -> Option<Usage> {
        let plain = self.input_tokens?;
        let cached = self.cache_read_input_tokens.unwrap_or(0);
        let cache_write = self.cache_creation_input_tokens.unwrap_or(0);
        Some(Usage {
            input: plain.saturating_add(cached).saturating_add(cache_write),
            cached,
            cache_write,
            output: self.output_tokens.unwrap_or(0),
            reasoning: self
                .output_tokens_details
                .and_then(|details| details.thinking_tokens)
                .unwrap_or(0),
            cost: None,
        })
    }
}
