//! What a server answered, whatever its protocol, and the reply made of it.

use std::collections::HashSet;

use schema::{FinishReason, RawJson, Reply, ToolCall, Usage};

use crate::price::Price;

/// An answer as a protocol read it.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) reasoning: Option<String>,
    pub(crate) calls: Vec<AnswerCall>,
    /// `None`: the server gave no reason.
    pub(crate) finish: Option<FinishReason>,
    /// `None`: the server did not say.
    pub(crate) usage: Option<Usage>,
    pub(crate) model: Option<String>,
    pub(crate) raw: Option<RawJson>,
}

/// A call as it came.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct AnswerCall {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

impl Answer {
    /// Makes the reply to request `index`. Calls without an id, or with that of another call, get one that depends on nothing but
    /// their place.
    pub(crate) fn reply(self, index: u32, price: Option<Price>) -> Reply {
        let tool_calls = identify(self.calls, index);
        let usage = match (self.usage, price) {
            (Some(usage), Some(price)) => Usage {
                cost: Some(price.cost(&usage)),
                ..usage
            },
            // The server may have named its own price.
            (Some(usage), None) => usage,
            (None, _) => Usage::default(),
        };
        Reply {
            text: self.text,
            reasoning: self.reasoning.filter(|text| !text.is_empty()),
            finish_reason: finish_reason(self.finish, !tool_calls.is_empty()),
            tool_calls,
            usage,
            model: self.model,
            raw: self.raw,
            retries: Vec::new(),
            elapsed_ms: 0,
            waited_ms: 0,
        }
    }
}

/// Servers end a reply with calls by `stop` as well, or by nothing at all.
fn finish_reason(finish: Option<FinishReason>, has_calls: bool) -> FinishReason {
    match finish {
        Some(FinishReason::Stop) | None if has_calls => FinishReason::ToolCalls,
        Some(reason) => reason,
        None => FinishReason::Other,
    }
}

fn identify(calls: Vec<AnswerCall>, index: u32) -> Vec<ToolCall> {
    let mut used: HashSet<String> = HashSet::new();
    calls
        .into_iter()
        .enumerate()
        .map(|(place, call)| {
            let given = call.id.filter(|id| !id.is_empty() && !used.contains(id));
            let id = given.unwrap_or_else(|| {
                let mut made = format!("call_{index}_{place}");
                while used.contains(&made) {
                    made.push('x');
                }
                made
            });
            used.insert(id.clone());
            ToolCall {
                id,
                name: call.name,
                arguments: call.arguments,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(given: &[Option<&str>]) -> Vec<String> {
        let calls = given
            .iter()
            .map(|id| AnswerCall {
                id: id.map(str::to_owned),
                ..AnswerCall::default()
            })
            .collect();
        identify(calls, 3).into_iter().map(|call| call.id).collect()
    }

    #[test]
    fn ids_are_unique_in_a_reply() {
        assert_eq!(ids(&[Some("a"), Some("b")]), ["a", "b"]);
        assert_eq!(ids(&[Some("a"), Some("a")]), ["a", "call_3_1"]);
        assert_eq!(ids(&[None, Some("")]), ["call_3_0", "call_3_1"]);
        assert_eq!(ids(&[Some("call_3_1"), None]), ["call_3_1", "call_3_1x"]);
    }

    #[test]
    fn calls_explain_a_missing_reason() {
        assert_eq!(finish_reason(None, true), FinishReason::ToolCalls);
        assert_eq!(
            finish_reason(Some(FinishReason::Stop), true),
            FinishReason::ToolCalls
        );
        assert_eq!(
            finish_reason(Some(FinishReason::Length), true),
            FinishReason::Length
        );
        assert_eq!(
            finish_reason(Some(FinishReason::Other), true),
            FinishReason::Other
        );
        assert_eq!(finish_reason(None, false), FinishReason::Other);
    }

    #[test]
    fn cost_needs_usage_and_a_price() {
        let price = Some(Price {
            input: 1.0,
            cached: None,
            cache_write: None,
            output: 2.0,
        });
        let usage = Usage {
            input: 1_000_000,
            output: 1_000_000,
            ..Usage::default()
        };
        let cost = |usage: Option<Usage>, price| {
            let answer = Answer {
                usage,
                ..Answer::default()
            };
            answer.reply(0, price).usage.cost
        };
        assert_eq!(cost(Some(usage), price), Some(3.0));
        assert_eq!(cost(Some(usage), None), None);
        assert_eq!(cost(None, price), None);
    }
}
