//! The conversation with a model.

use serde::{Deserialize, Serialize};

use crate::raw::RawJson;

/// A model's request to run a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Identifier that the result must carry; made up by the provider adapter when the server sent none.
    pub id: String,
    /// Name of the tool as the model wrote it, possibly unknown or empty.
    pub name: String,
    /// Arguments as the model wrote them: JSON text, possibly malformed.
    pub arguments: String,
}

/// The single answer to a [`ToolCall`], as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call that this answers.
    pub call_id: String,
    /// Text for the model.
    pub content: String,
    /// Whether the tool failed or was never run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// Why the model stopped writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// It asked for tools.
    ToolCalls,
    /// It hit its output limit: its calls may be cut and are never run.
    Length,
    /// The provider withheld the answer.
    ContentFilter,
    /// The server gave another reason or none.
    Other,
}

/// Tokens and money of one request or of many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Prompt tokens, cached ones included.
    pub input: u64,
    /// Prompt tokens read from the provider's cache.
    pub cached: u64,
    /// Prompt tokens written to the provider's cache.
    pub cache_write: u64,
    /// Completion tokens, reasoning included.
    pub output: u64,
    /// Completion tokens spent on reasoning.
    pub reasoning: u64,
    /// US dollars; `None` when the model's price is unknown.
    pub cost: Option<f64>,
}

impl Usage {
    /// Adds `other`; an unknown cost makes the sum unknown, so that it is never understated. The default is the usage of nothing at all: it
    /// adds nothing. Counts come from servers, which may send any number: a sum stops at the largest.
    pub fn add(&mut self, other: &Self) {
        let nothing = Self::default();
        if *other == nothing {
            return;
        }
        let cost = match (self.cost, other.cost) {
            (Some(a), Some(b)) => Some(a + b),
            (None, cost) if *self == nothing => cost,
            (Some(_) | None, _) => None,
        };
        *self = Self {
            input: self.input.saturating_add(other.input),
            cached: self.cached.saturating_add(other.cached),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            output: self.output.saturating_add(other.output),
            reasoning: self.reasoning.saturating_add(other.reasoning),
            cost,
        };
    }
}

/// One failed try at a request, before the try that ended it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// What went wrong, for people; never holds a secret.
    pub error: String,
    /// HTTP status, where one came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Milliseconds waited before the next try.
    pub waited_ms: u64,
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Visible text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Reasoning that the provider shows; never executed, never sent as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Tool calls in the order that the model gave.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// What it cost.
    #[serde(default)]
    pub usage: Usage,
    /// Name of the model as the server gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The assistant message as it came, sent back verbatim by providers that need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawJson>,
    /// Failed tries before this reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retries: Vec<Retry>,
    /// Milliseconds between sending the request and the end of the reply, retries and waits left out.
    #[serde(default)]
    pub elapsed_ms: u64,
    /// Milliseconds spent waiting for a free place at the endpoint and between tries; measured by the driver.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_ms: u64,
}

impl Reply {
    /// Milliseconds that do not count towards the wall-time limit.
    pub fn waited_ms(&self) -> u64 {
        waited_ms(self.waited_ms, &self.retries)
    }
}

/// The measured wait, or what the tries say where nothing was measured.
pub(crate) fn waited_ms(measured: u64, retries: &[Retry]) -> u64 {
    let between_tries = retries
        .iter()
        .fold(0_u64, |sum, retry| sum.saturating_add(retry.waited_ms));
    measured.max(between_tries)
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The unit of a conversation after its head: what one side said.
///
/// An assistant turn and all its results belong together: providers that merge results must see them at once.
#[derive(Debug, Clone, PartialEq)]
pub enum Turn {
    /// A reply and the results of its calls, one for each, in call order.
    Assistant {
        /// What the model said.
        reply: Box<Reply>,
        /// One result for each call, in call order.
        results: Vec<ToolResult>,
    },
    /// A message of ours: a nudge or a note.
    User {
        /// Text for the model.
        text: String,
    },
}

/// Why a conversation is not well formed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("turn {turn}: calls {calls:?} are answered by {results:?}")]
pub struct UnpairedCalls {
    /// Position of the turn, from 0.
    pub turn: usize,
    /// Identifiers of its calls.
    pub calls: Vec<String>,
    /// Identifiers that its results carry.
    pub results: Vec<String>,
}

/// Checks that every call has exactly one result, in call order.
///
/// # Errors
/// Names the first turn where that does not hold.
pub fn check_pairing<'a>(turns: impl IntoIterator<Item = &'a Turn>) -> Result<(), UnpairedCalls> {
    for (turn, content) in turns.into_iter().enumerate() {
        let Turn::Assistant { reply, results } = content else {
            continue;
        };
        let calls = || reply.tool_calls.iter().map(|call| &call.id);
        let answered = || results.iter().map(|result| &result.call_id);
        if !calls().eq(answered()) {
            return Err(UnpairedCalls {
                turn,
                calls: calls().cloned().collect(),
                results: answered().cloned().collect(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(cost: Option<f64>) -> Usage {
        Usage {
            input: 1,
            cost,
            ..Usage::default()
        }
    }

    fn sum(parts: &[Usage]) -> Usage {
        let mut sum = Usage::default();
        for part in parts {
            sum.add(part);
        }
        sum
    }

    #[test]
    fn one_unknown_cost_makes_the_sum_unknown() {
        let known = cost(Some(1.5));
        assert_eq!(sum(&[known, known]).cost, Some(3.0));
        assert_eq!(sum(&[known, cost(None)]).cost, None);
        assert_eq!(sum(&[cost(None), known]).cost, None);
    }

    #[test]
    fn what_used_nothing_hides_no_cost() {
        let (known, nothing) = (cost(Some(1.5)), Usage::default());
        assert_eq!(sum(&[nothing, known, nothing]), known);
        assert_eq!(sum(&[nothing, cost(None), nothing]), cost(None));
    }

    #[test]
    fn sums_stop_at_the_largest_number() {
        let huge = Usage {
            input: u64::MAX,
            output: u64::MAX,
            ..Usage::default()
        };
        assert_eq!(sum(&[huge, huge]), huge);
    }
}
