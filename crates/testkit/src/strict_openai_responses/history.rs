//! Whether what comes back is what was said.

use serde_json::Value;

use super::say::Said;
use super::words;

/// How a refusal of foreign or damaged reasoning starts.
pub(super) const UNVERIFIED: &str = "The encrypted content could not be verified";

/// What comes before the first reply: messages that are not the assistant's, up to the first of the user's; then the rest.
pub(super) fn split(input: &[Value]) -> (&[Value], &[Value]) {
    let user = input.iter().position(|item| item["role"] == "user");
    input.split_at(user.map_or(0, |user| user + 1))
}

/// Whether an item is part of a reply.
fn is_said(item: &Value) -> bool {
    matches!(item["type"].as_str(), Some("reasoning" | "function_call"))
        || item["role"] == "assistant"
}

/// Checks the replies in the turns after the first message, and counts them. A reply ends with outputs or a message of the user's; one of which
/// nothing can come back is seen by that message alone.
///
/// # Errors
/// Says what came back changed.
pub(super) fn check(turns: &[Value], said: &[Said], encrypts: bool) -> Result<usize, String> {
    let mut step = 0;
    let mut rest = turns;
    while let Some(first) = rest.first() {
        let length = rest.iter().take_while(|item| is_said(item)).count();
        if length > 0 {
            let own = said.get(step).ok_or("a reply that was never given")?;
            check_reply(&rest[..length], own, step, encrypts)?;
            step += 1;
        } else if first["role"] == "user" && said.get(step).is_some_and(Said::leaves_nothing) {
            step += 1;
        }
        rest = &rest[length..];
        let outputs = |item: &&Value| item["type"] == "function_call_output";
        let answered = rest.iter().take_while(outputs).count();
        // The message that ends a reply belongs to it.
        let message = answered == 0 && rest.first().is_some_and(|item| !is_said(item));
        rest = &rest[answered + usize::from(message)..];
    }
    Ok(step)
}

/// Every item of a reply must be what we said; reasoning only where the client could keep it.
fn check_reply(back: &[Value], said: &Said, step: usize, encrypts: bool) -> Result<(), String> {
    let own: Vec<Value> = said
        .kept(step)
        .into_iter()
        .filter(|item| encrypts || item["type"] != "reasoning")
        .collect();
    let changed = || format!("reply {step} came back changed: {back:?} instead of {own:?}");
    for item in back.iter().filter(|item| item["type"] == "reasoning") {
        let known = |own: &&Value| own["encrypted_content"] == item["encrypted_content"];
        if !own.iter().any(|own| known(&own)) {
            return Err(format!("{UNVERIFIED}: {item}"));
        }
    }
    if back.len() != own.len() {
        return Err(changed());
    }
    let has_reasoning = own.iter().any(|item| item["type"] == "reasoning");
    for (item, own) in back.iter().zip(&own) {
        let same = match own["type"].as_str() {
            Some("reasoning") => item["id"] == own["id"] && item["summary"] == own["summary"],
            Some("function_call") => ["call_id", "name", "arguments"]
                .iter()
                .all(|field| item[field] == own[field]),
            _ => words(item) == words(own) && item["phase"] == own["phase"],
        };
        if !same {
            return Err(changed());
        }
        if said.has_reasoning() && !has_reasoning && item.get("id").is_some() {
            return Err(format!(
                "Item {} was provided without its required reasoning item",
                item["id"]
            ));
        }
    }
    Ok(())
}
