//! What the real service refuses in a request's body.

use serde_json::Value;

use super::blocks::{check_mark, check_text_blocks, is_id, only};
use super::messages::{check_messages, marks_in};

/// Fields of a request; the service refuses others.
const FIELDS: &[&str] = &[
    "cache_control",
    "container",
    "diagnostics",
    "inference_geo",
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "speed",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];

/// Marks that a request may have.
const MOST_MARKS: usize = 4;
/// Longest name of a tool.
const MAX_NAME: usize = 128;
/// The smallest budget for thoughts.
const MIN_BUDGET: u64 = 1024;

/// Checks a request's body.
///
/// # Errors
/// Says what is wrong with it.
pub fn check(body: &Value) -> Result<(), String> {
    if !body.is_object() {
        return Err("the body is not an object".to_owned());
    }
    only(body, "", FIELDS)?;
    body["model"]
        .as_str()
        .filter(|name| !name.is_empty())
        .ok_or("model: Field required")?;
    let limit = body["max_tokens"]
        .as_u64()
        .filter(|limit| *limit > 0)
        .ok_or("max_tokens: Field required")?;
    check_parameters(body)?;
    check_thinking(body, limit)?;
    check_tools(body)?;
    let system = &body["system"];
    if !system.is_null() && !system.is_string() {
        check_text_blocks("system", system)?;
    }
    let messages = body["messages"]
        .as_array()
        .filter(|messages| !messages.is_empty())
        .ok_or("messages: at least one message is required")?;
    check_messages(messages, body)?;
    check_marks(body, messages)
}

fn check_parameters(body: &Value) -> Result<(), String> {
    if let Some(temperature) = body.get("temperature") {
        let fits = temperature
            .as_f64()
            .is_some_and(|temperature| (0.0..=1.0).contains(&temperature));
        if !fits {
            return Err(format!("temperature: {temperature} is not from 0 to 1"));
        }
    }
    if body
        .get("stream")
        .is_some_and(|stream| !stream.is_boolean())
    {
        return Err("stream: Input should be a valid boolean".to_owned());
    }
    if let Some(config) = body.get("output_config") {
        only(config, "output_config.", &["effort", "format"])?;
        let known = ["low", "medium", "high", "xhigh", "max"];
        let effort = config["effort"].as_str();
        if config.get("effort").is_some() && !effort.is_some_and(|effort| known.contains(&effort)) {
            return Err(format!("output_config.effort: {}", config["effort"]));
        }
    }
    Ok(())
}

fn check_thinking(body: &Value, limit: u64) -> Result<(), String> {
    let Some(thinking) = body.get("thinking") else {
        return Ok(());
    };
    let fields: &[&str] = match thinking["type"].as_str() {
        Some("enabled") => &["type", "budget_tokens", "display"],
        Some("adaptive") => &["type", "display"],
        Some("disabled" | "between_tools") => &["type"],
        _ => return Err(format!("thinking.type: {}", thinking["type"])),
    };
    only(thinking, "thinking.", fields)?;
    if thinking["type"] == "enabled" {
        let budget = thinking["budget_tokens"].as_u64().unwrap_or(0);
        if budget < MIN_BUDGET || budget >= limit {
            return Err(format!(
                "thinking.budget_tokens: {budget} is below {MIN_BUDGET} or not below `max_tokens` ({limit})"
            ));
        }
        if body
            .get("temperature")
            .is_some_and(|temperature| temperature.as_f64() != Some(1.0))
        {
            return Err("`temperature` may only be set to 1 when thinking is enabled".to_owned());
        }
    }
    Ok(())
}

fn check_tools(body: &Value) -> Result<(), String> {
    let none = Vec::new();
    let tools = match body.get("tools") {
        None => &none,
        Some(Value::Array(tools)) => tools,
        Some(other) => return Err(format!("tools: {other} is not a list")),
    };
    let mut names: Vec<&str> = Vec::new();
    for (place, tool) in tools.iter().enumerate() {
        let at = format!("tools.{place}.");
        only(
            tool,
            &at,
            &[
                "type",
                "name",
                "description",
                "input_schema",
                "cache_control",
                "strict",
                "eager_input_streaming",
                "input_examples",
            ],
        )?;
        let name = tool["name"].as_str().unwrap_or_default();
        if !is_id(name) || name.len() > MAX_NAME {
            return Err(format!(
                "{at}name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            ));
        }
        if names.contains(&name) {
            return Err("tools: Tool names must be unique.".to_owned());
        }
        names.push(name);
        if tool["input_schema"]["type"] != "object" {
            return Err(format!("{at}input_schema.type: Field required"));
        }
        check_mark(&at, tool)?;
    }
    match &body["tool_choice"] {
        Value::Null => Ok(()),
        choice if tools.is_empty() => Err(format!("tool_choice: {choice} without tools")),
        choice => match choice["type"].as_str() {
            Some("auto" | "any" | "none") => Ok(()),
            Some("tool") if names.iter().any(|name| choice["name"] == *name) => Ok(()),
            _ => Err(format!("tool_choice: {choice} is not among the tools")),
        },
    }
}

fn check_marks(body: &Value, messages: &[Value]) -> Result<(), String> {
    check_mark("", body)?;
    let lists =
        ["tools", "system"].map(|list| body[list].as_array().map_or(&[][..], Vec::as_slice));
    let heads = lists.into_iter().flatten().chain([body]);
    let marks = heads
        .filter(|block| !block["cache_control"].is_null())
        .count()
        + marks_in(messages);
    if marks > MOST_MARKS {
        return Err(format!(
            "A maximum of {MOST_MARKS} blocks with cache_control may be provided. Found {marks}."
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
