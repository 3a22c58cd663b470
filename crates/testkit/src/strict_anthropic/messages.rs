//! What the real service refuses in the order of messages: who speaks when, and which results answer which calls.

use std::collections::HashSet;

use serde_json::Value;

use super::blocks::{check_block, only};
use super::say::{is_blank, is_thought};

/// Checks the messages of a request.
pub(super) fn check_messages(messages: &[Value], body: &Value) -> Result<(), String> {
    let mut ids: HashSet<&str> = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let at = format!("messages.{place}.");
        only(message, &at, &["role", "content"])?;
        let blocks = content(&at, message)?;
        match message["role"].as_str() {
            Some("user") => {
                answer(&at, &mut open, blocks)?;
            }
            Some("assistant") if place == 0 => {
                return Err("messages: first message must use the \"user\" role".to_owned());
            }
            Some("assistant") => {
                unanswered(&at, &open)?;
                open = calls(&at, blocks)?;
                if let Some(twice) = open.iter().find(|id| !ids.insert(id)) {
                    return Err(format!(
                        "{at}content: `tool_use` ids must be unique: {twice}"
                    ));
                }
            }
            _ => return Err(format!("{at}role: {} is no role", message["role"])),
        }
    }
    unanswered("messages: ", &open)?;
    if messages
        .last()
        .is_some_and(|last| last["role"] == "assistant")
    {
        return Err("This model does not support assistant message prefill. The conversation must end with a user message.".to_owned());
    }
    if !ids.is_empty() && body["tools"].as_array().is_none_or(Vec::is_empty) {
        return Err(
            "Requests which include `tool_use` or `tool_result` blocks must define tools"
                .to_owned(),
        );
    }
    if body["thinking"]["type"] == "enabled" {
        check_first_thought(messages)?;
    }
    Ok(())
}

/// Marks in the content of messages.
pub(super) fn marks_in(messages: &[Value]) -> usize {
    let contents = messages
        .iter()
        .filter_map(|message| message["content"].as_array());
    contents
        .flatten()
        .filter(|block| !block["cache_control"].is_null())
        .count()
}

/// The blocks of a message, none where its content is text.
fn content<'a>(at: &str, message: &'a Value) -> Result<&'a [Value], String> {
    let blocks = match &message["content"] {
        Value::String(_) if is_blank(&message["content"]) => {
            return Err(format!(
                "{at}content: text must contain non-whitespace text"
            ));
        }
        Value::String(_) => return Ok(&[]),
        Value::Array(blocks) if !blocks.is_empty() => blocks,
        Value::Array(_) => {
            return Err(format!(
                "{at}content: all messages must have non-empty content"
            ));
        }
        other => return Err(format!("{at}content: {other} is neither text nor a list")),
    };
    for (place, block) in blocks.iter().enumerate() {
        check_block(&format!("{at}content.{place}."), block)?;
    }
    Ok(blocks)
}

fn unanswered(at: &str, open: &[&str]) -> Result<(), String> {
    if open.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{at}`tool_use` ids were found without `tool_result` blocks immediately after: {}",
        open.join(", ")
    ))
}

/// The user's message after calls begins with a result for each.
fn answer<'a>(at: &str, open: &mut Vec<&'a str>, blocks: &'a [Value]) -> Result<(), String> {
    let results = blocks
        .iter()
        .take_while(|block| block["type"] == "tool_result");
    let mut count = 0;
    for block in results {
        let id = block["tool_use_id"].as_str().unwrap_or_default();
        let Some(place) = open.iter().position(|known| *known == id) else {
            return Err(format!(
                "{at}content: unexpected `tool_use_id` found in `tool_result` blocks: {id}"
            ));
        };
        open.remove(place);
        count += 1;
    }
    unanswered(at, open)?;
    for block in blocks.iter().skip(count) {
        if !matches!(block["type"].as_str(), Some("text" | "image")) {
            return Err(format!(
                "{at}content: a user cannot say {} here",
                block["type"]
            ));
        }
    }
    Ok(())
}

/// The ids of the calls of an assistant's message.
fn calls<'a>(at: &str, blocks: &'a [Value]) -> Result<Vec<&'a str>, String> {
    if blocks.last().is_some_and(is_thought) {
        return Err(format!(
            "{at}The final block in an assistant message cannot be `thinking`."
        ));
    }
    let mut ids = Vec::new();
    for block in blocks {
        match block["type"].as_str() {
            Some("tool_use") => ids.extend(block["id"].as_str()),
            Some("text" | "thinking" | "redacted_thinking") => {}
            _ => {
                return Err(format!(
                    "{at}content: an assistant cannot say {}",
                    block["type"]
                ));
            }
        }
    }
    Ok(ids)
}

/// While tools are at work, the message that called them begins with a thought.
fn check_first_thought(messages: &[Value]) -> Result<(), String> {
    let at_work = messages
        .iter()
        .rev()
        .take_while(|message| message["role"] == "user")
        .any(|message| message["content"][0]["type"] == "tool_result");
    let last = messages
        .iter()
        .rfind(|message| message["role"] == "assistant");
    match last.map(|message| &message["content"][0]) {
        Some(first) if at_work && !is_thought(first) => Err(format!(
            "Expected `thinking` or `redacted_thinking`, but found {}. When `thinking` is enabled, a final `assistant` message must start with a thinking block.",
            first["type"]
        )),
        Some(_) | None => Ok(()),
    }
}
