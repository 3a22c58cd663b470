//! Reading whole answers.

use std::borrow::Cow;

use schema::{FinishReason, RawJson, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::wire::{Call, Document, Function};
use crate::http::trouble::{Class, Trouble, excerpt};
use crate::http::{Answer, AnswerCall};
use crate::raw::{present, text};

/// The parts of a message that mean something to us; servers add others, and write these in several forms.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(default, borrow)]
    refusal: Option<&'a RawValue>,
    #[serde(default, borrow)]
    tool_calls: Option<Vec<Call<'a>>>,
    /// What servers of the first days send in the place of a list of calls.
    #[serde(default, borrow)]
    function_call: Option<Function<'a>>,
}

/// Reads a whole answer.
pub(super) fn read(body: &str) -> Result<Answer, Trouble> {
    let unreadable = |what: String| {
        Trouble::new(
            Class::Unavailable,
            format!("answered with {what}: {}", excerpt(body.as_bytes())),
        )
    };
    let completion: Document<'_> = serde_json::from_str(body).map_err(|error| {
        unreadable(if serde_json::from_str::<Value>(body).is_ok() {
            format!("JSON that is no chat completion ({error})")
        } else {
            format!("text that is not JSON ({error})")
        })
    })?;
    if let Some(error) = present(completion.error) {
        return Err(Trouble::reported(error));
    }
    let choice = completion.choices.unwrap_or_default().into_iter().next();
    let Some(choice) = choice else {
        return Err(unreadable("no choices".to_owned()));
    };
    let finish = text(choice.finish_reason);
    if finish.as_deref().is_some_and(is_failure) {
        return Err(unreadable("a reply that the server broke off".to_owned()));
    }
    let Some(message) = present(choice.message) else {
        return Err(unreadable("a choice without a message".to_owned()));
    };
    let mut answer = read_message(message.get())
        .map_err(|error| unreadable(format!("a message that cannot be read ({error})")))?;
    if answer.finish.is_none() {
        answer.finish = finish.as_deref().map(finish_reason);
    }
    answer.usage = completion.usage.and_then(|usage| read_usage(usage.get()));
    answer.model = text(completion.model);
    answer.raw = RawJson::parse(message.get().to_owned()).ok();
    Ok(answer)
}

/// Reads an assistant's message, all but its raw form. A refusal sets the finish reason.
pub(super) fn read_message(message: &str) -> Result<Answer, serde_json::Error> {
    let message: Message<'_> = serde_json::from_str(message)?;
    let mut answer = Answer::default();
    let mut refusal = text(message.refusal);
    if let Some(content) = present(message.content) {
        read_content(content, &mut answer, &mut refusal)?;
    }
    for reasoning in [message.reasoning_content, message.reasoning] {
        if answer.reasoning.is_none() {
            answer.reasoning = text(reasoning);
        }
    }
    answer.calls = message
        .tool_calls
        .unwrap_or_default()
        .into_iter()
        .map(|call| AnswerCall {
            id: text(call.id),
            name: text(call.function.as_ref().and_then(|function| function.name))
                .unwrap_or_default(),
            arguments: text(call.function.and_then(|function| function.arguments))
                .unwrap_or_default(),
        })
        .collect();
    if answer.calls.is_empty()
        && let Some(function) = message.function_call
    {
        answer.calls.push(AnswerCall {
            id: None,
            name: text(function.name).unwrap_or_default(),
            arguments: text(function.arguments).unwrap_or_default(),
        });
    }
    note_refusal(&mut answer, refusal);
    Ok(answer)
}

/// A refusal is an answer withheld; its words are the visible text where there is no other.
fn note_refusal(answer: &mut Answer, refusal: Option<String>) {
    if let Some(refusal) = refusal.filter(|refusal| !refusal.is_empty()) {
        answer.finish = Some(FinishReason::ContentFilter);
        if answer.text.is_empty() {
            answer.text = refusal;
        }
    }
}

/// A part of a content list: text, a refusal, or thoughts in one of two forms.
#[derive(Deserialize)]
struct Part<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    text: Option<&'a RawValue>,
    #[serde(default, borrow)]
    refusal: Option<&'a RawValue>,
    #[serde(default, borrow)]
    thinking: Option<&'a RawValue>,
}

/// Reads content that is text or a list of parts.
fn read_content(
    content: &RawValue,
    answer: &mut Answer,
    refusal: &mut Option<String>,
) -> Result<(), serde_json::Error> {
    if !content.get().starts_with('[') {
        answer
            .text
            .push_str(&text(Some(content)).unwrap_or_default());
        return Ok(());
    }
    for part in serde_json::from_str::<Vec<Part<'_>>>(content.get())? {
        if let Some(refused) = text(part.refusal) {
            refusal.get_or_insert_default().push_str(&refused);
        }
        if let Some(thinking) = present(part.thinking) {
            let words = thoughts(thinking)?;
            answer.reasoning.get_or_insert_default().push_str(&words);
        }
        let Some(words) = text(part.text) else {
            continue;
        };
        if matches!(part.kind.as_ref(), "reasoning" | "thinking") {
            answer.reasoning.get_or_insert_default().push_str(&words);
        } else {
            answer.text.push_str(&words);
        }
    }
    Ok(())
}

/// The words of a thought, which is text or a list of parts. Parts inside parts inside it are not looked at: a server could nest them until the
/// stack is used up.
fn thoughts(thinking: &RawValue) -> Result<String, serde_json::Error> {
    if !thinking.get().starts_with('[') {
        return Ok(text(Some(thinking)).unwrap_or_default());
    }
    let parts: Vec<Part<'_>> = serde_json::from_str(thinking.get())?;
    Ok(parts
        .into_iter()
        .filter_map(|part| text(part.text))
        .collect())
}

/// Reasons that mean that the server, not the model, ended the reply: OpenRouter; DeepSeek; Zhipu.
pub(super) fn is_failure(reason: &str) -> bool {
    matches!(
        reason,
        "error" | "insufficient_system_resource" | "network_error"
    )
}

/// The reasons of OpenAI and of those that imitate it.
pub(super) fn finish_reason(reason: &str) -> FinishReason {
    match reason {
        "stop" | "eos" | "eos_token" | "end_turn" | "stop_sequence" => FinishReason::Stop,
        "tool_calls" | "function_call" | "tool_use" => FinishReason::ToolCalls,
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "content_filter" | "safety" | "refusal" | "sensitive" => FinishReason::ContentFilter,
        _ => FinishReason::Other,
    }
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(default)]
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek's name for cached tokens.
    #[serde(default)]
    prompt_cache_hit_tokens: Option<u64>,
    /// US dollars, where the server says so (OpenRouter).
    #[serde(default)]
    cost: Option<f64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
    #[serde(default)]
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    #[serde(default)]
    reasoning_tokens: Option<u64>,
}

/// Reads usage; one that cannot be read is as good as none, and never costs the reply.
pub(super) fn read_usage(usage: &str) -> Option<Usage> {
    let usage: Option<WireUsage> = serde_json::from_str(usage).ok()?;
    let usage = usage?;
    let prompt = usage.prompt_tokens_details.as_ref();
    let completion = usage.completion_tokens_details.as_ref();
    Some(Usage {
        input: usage.prompt_tokens?,
        cached: prompt
            .and_then(|details| details.cached_tokens)
            .or(usage.prompt_cache_hit_tokens)
            .unwrap_or(0),
        cache_write: prompt
            .and_then(|details| details.cache_write_tokens)
            .unwrap_or(0),
        output: usage.completion_tokens.unwrap_or(0),
        reasoning: completion
            .and_then(|details| details.reasoning_tokens)
            .unwrap_or(0),
        cost: usage.cost.filter(|cost| *cost >= 0.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_in_parts_are_reasoning() {
        let message = r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"type":"text","text":"c"}]}"#;
        let answer = read_message(message).unwrap();
        assert_eq!(answer.reasoning.as_deref(), Some("ab"));
        assert_eq!(answer.text, "c");
    }

    #[test]
    fn a_call_of_the_first_days_is_a_call() {
        let function = r#"{"name":"bash","arguments":"{\"command\":\"ls\"}"}"#;
        let whole = read_message(&format!(r#"{{"content":null,"function_call":{function}}}"#));
        let mut decoder = crate::openai_chat::stream::ChatDecoder::default();
        for delta in [
            r#"{"function_call":{"name":"bash","arguments":"{\"comm"}}"#,
            r#"{"function_call":{"arguments":"and\":\"ls\"}"}}"#,
        ] {
            let chunk = format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#);
            crate::http::Decoder::take(&mut decoder, &chunk).unwrap();
        }
        let last = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"function_call"}]}"#;
        crate::http::Decoder::take(&mut decoder, last).unwrap();
        let streamed = crate::http::Decoder::finish(decoder).unwrap();
        for answer in [whole.unwrap(), streamed] {
            let calls: Vec<_> = answer
                .calls
                .iter()
                .map(|call| (call.name.as_str(), call.arguments.as_str()))
                .collect();
            assert_eq!(calls, [("bash", r#"{"command":"ls"}"#)]);
        }
        let none = read_message(r#"{"content":"x","function_call":null}"#).unwrap();
        assert!(none.calls.is_empty());
    }

    #[test]
    fn thoughts_without_end_do_not_exhaust_the_stack() {
        let (open, close) = (r#"[{"type":"thinking","thinking":"#, "}]");
        let depth = 100_000;
        let content = [&open.repeat(depth), "\"x\"", &close.repeat(depth)].concat();
        let answer = read_message(&format!(r#"{{"content":{content}}}"#));
        assert!(answer.is_err() || answer.unwrap().text.is_empty());
    }

    #[test]
    fn usage_that_makes_no_sense_buys_nothing() {
        let usage = read_usage(r#"{"prompt_tokens":1,"completion_tokens":2,"cost":-5}"#).unwrap();
        assert_eq!((usage.input, usage.output, usage.cost), (1, 2, None));
        assert_eq!(read_usage(r#"{"prompt_tokens":-1}"#), None);
    }
}
