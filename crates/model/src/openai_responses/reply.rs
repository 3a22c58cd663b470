//! Reading answers.

use schema::{FinishReason, RawJson, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::wire::{Item, Kind, Response, parts};
use crate::http::trouble::{Class, Trouble, excerpt};
use crate::http::{Answer, AnswerCall};
use crate::raw::{present, text};

/// What stands between two messages, or two pieces of reasoning, of one answer.
const BETWEEN: &str = "\n\n";

/// Reads a whole answer.
pub(super) fn read(body: &str) -> Result<Answer, Trouble> {
    let unreadable = |what: String| {
        Trouble::new(
            Class::Unavailable,
            format!("answered with {what}: {}", excerpt(body.as_bytes())),
        )
    };
    let response: Response<'_> = serde_json::from_str(body).map_err(|error| {
        unreadable(if serde_json::from_str::<Value>(body).is_ok() {
            format!("JSON that is no response ({error})")
        } else {
            format!("text that is not JSON ({error})")
        })
    })?;
    check(&response)?;
    let Some(output) = &response.output else {
        return Err(unreadable("a response without output".to_owned()));
    };
    answer(&response, output)
        .map_err(|error| unreadable(format!("output that cannot be read ({error})")))
}

/// What is not an answer: errors, and responses that nobody finished.
pub(super) fn check(response: &Response<'_>) -> Result<(), Trouble> {
    if let Some(error) = present(response.error) {
        return Err(Trouble::reported(error));
    }
    match text(response.status).as_deref() {
        None | Some("completed" | "incomplete") => Ok(()),
        Some(status) => Err(Trouble::new(
            Class::Unavailable,
            format!("answered with a response that is {}", status.escape_debug()),
        )),
    }
}

/// Makes an answer of a response that passed [`check`] and of its output.
pub(super) fn answer(
    response: &Response<'_>,
    output: &[&RawValue],
) -> Result<Answer, serde_json::Error> {
    let mut answer = Answer {
        finish: Some(finish_reason(response)),
        usage: response.usage.and_then(|usage| read_usage(usage.get())),
        model: text(response.model),
        raw: Some(together(output)?),
        ..Answer::default()
    };
    let mut refusal = String::new();
    for item in output {
        let item: Item<'_> = serde_json::from_str(item.get())?;
        match item.kind() {
            Kind::Message => add_message(&mut answer, &mut refusal, &item)?,
            Kind::Reasoning => add_reasoning(&mut answer, &item)?,
            Kind::Call => answer.calls.push(AnswerCall {
                id: text(item.call_id),
                name: text(item.name).unwrap_or_default(),
                arguments: text(item.arguments).unwrap_or_default(),
            }),
            Kind::Other => {}
        }
    }
    // A refusal is an answer withheld; its words are the visible text where there is no other.
    if !refusal.is_empty() {
        answer.finish = Some(FinishReason::ContentFilter);
        if answer.text.is_empty() {
            answer.text = refusal;
        }
    }
    Ok(answer)
}

/// The list of the items, each as it came.
fn together(output: &[&RawValue]) -> Result<RawJson, serde_json::Error> {
    let items: Vec<&str> = output.iter().map(|item| item.get()).collect();
    RawJson::parse(format!("[{}]", items.join(",")))
}

fn add_message(
    answer: &mut Answer,
    refusal: &mut String,
    message: &Item<'_>,
) -> Result<(), serde_json::Error> {
    let mut words = String::new();
    for part in parts(message.content)? {
        words.push_str(&text(part.text).unwrap_or_default());
        refusal.push_str(&text(part.refusal).unwrap_or_default());
    }
    add(&mut answer.text, &words);
    Ok(())
}

/// The summary of the thoughts, else the thoughts themselves where the model is open.
fn add_reasoning(answer: &mut Answer, item: &Item<'_>) -> Result<(), serde_json::Error> {
    for list in [item.summary, item.content] {
        let mut words = String::new();
        for part in parts(list)? {
            add(&mut words, &text(part.text).unwrap_or_default());
        }
        if !words.is_empty() {
            add(answer.reasoning.get_or_insert_default(), &words);
            break;
        }
    }
    Ok(())
}

/// Appends a paragraph.
fn add(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push_str(BETWEEN);
    }
    text.push_str(more);
}

fn finish_reason(response: &Response<'_>) -> FinishReason {
    if text(response.status).as_deref() != Some("incomplete") {
        return FinishReason::Stop;
    }
    let details = response.incomplete_details.as_ref();
    match text(details.and_then(|details| details.reason)).as_deref() {
        // The second is what the examples of OpenAI's OpenAPI document say.
        Some("max_output_tokens" | "max_tokens") => FinishReason::Length,
        Some("content_filter") => FinishReason::ContentFilter,
        Some(_) | None => FinishReason::Other,
    }
}

#[derive(Deserialize)]
struct WireUsage {
    input_tokens: u64,
    #[serde(default)]
    input_tokens_details: Option<InputDetails>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    output_tokens_details: Option<OutputDetails>,
    /// US dollars, where the server says so (OpenRouter).
    #[serde(default)]
    cost: Option<f64>,
}

#[derive(Deserialize)]
struct InputDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
    #[serde(default)]
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OutputDetails {
    #[serde(default)]
    reasoning_tokens: Option<u64>,
}

/// Reads usage, which counts as we do: the input with the tokens that were read from the cache and written to it, the output with reasoning; the
/// details say how many of them these are. One that cannot be read is as good as none, and never costs the reply.
fn read_usage(usage: &str) -> Option<Usage> {
    let usage: WireUsage = serde_json::from_str(usage).ok()?;
    let input = usage.input_tokens_details.as_ref();
    let output = usage.output_tokens_details.as_ref();
    Some(Usage {
        input: usage.input_tokens,
        cached: input.and_then(|input| input.cached_tokens).unwrap_or(0),
        cache_write: input
            .and_then(|input| input.cache_write_tokens)
            .unwrap_or(0),
        output: usage.output_tokens.unwrap_or(0),
        reasoning: output
            .and_then(|output| output.reasoning_tokens)
            .unwrap_or(0),
        cost: usage.cost.filter(|cost| *cost >= 0.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_that_makes_no_sense_buys_nothing() {
        let usage = read_usage(r#"{"input_tokens":1,"output_tokens":2,"cost":-5}"#).unwrap();
        assert_eq!((usage.input, usage.output, usage.cost), (1, 2, None));
        for odd in [r#"{"input_tokens":-1}"#, "null", "[]", "7"] {
            assert_eq!(read_usage(odd), None, "{odd}");
        }
    }

    #[test]
    fn parts_without_end_do_not_exhaust_the_stack() {
        let (open, close) = (r#"[{"text":"#, "}]");
        let depth = 100_000;
        let content = [&open.repeat(depth), "\"x\"", &close.repeat(depth)].concat();
        let body = format!(r#"{{"output":[{{"type":"message","content":{content}}}]}}"#);
        let text = read(&body).unwrap().text;
        assert!(
            text.starts_with(open),
            "what is no text is shown as it came"
        );
    }
}
