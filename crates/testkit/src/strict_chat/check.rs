//! What the real service refuses in a request's body.

use serde_json::Value;

/// Fields of a request that we know of; the service refuses others.
const FIELDS: &[&str] = &[
    "frequency_penalty",
    "logit_bias",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "parallel_tool_calls",
    "presence_penalty",
    "reasoning_effort",
    "response_format",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_p",
    "user",
    "verbosity",
];

/// Longest name of a function.
const MAX_NAME: usize = 64;

/// Checks a request's body.
///
/// # Errors
/// Says what is wrong with it.
pub fn check(body: &Value) -> Result<(), String> {
    let fields = body.as_object().ok_or("the body is not an object")?;
    if let Some(unknown) = fields.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        return Err(format!("unrecognised field `{unknown}`"));
    }
    body["model"]
        .as_str()
        .filter(|name| !name.is_empty())
        .ok_or("`model` is missing")?;
    check_parameters(body)?;
    check_tools(body)?;
    let messages = body["messages"]
        .as_array()
        .filter(|messages| !messages.is_empty())
        .ok_or("`messages` is missing or empty")?;
    check_messages(messages)
}

fn check_parameters(body: &Value) -> Result<(), String> {
    if let Some(temperature) = body.get("temperature") {
        let fits = temperature
            .as_f64()
            .is_some_and(|temperature| (0.0..=2.0).contains(&temperature));
        if !fits {
            return Err(format!("`temperature` is {temperature}"));
        }
    }
    for limit in ["max_tokens", "max_completion_tokens"] {
        let value = body.get(limit);
        if value.is_some_and(|value| value.as_u64().is_none_or(|limit| limit == 0)) {
            return Err(format!("`{limit}` is not a positive number"));
        }
    }
    if body.get("stream_options").is_some() && body["stream"] != true {
        return Err("`stream_options` is only allowed when `stream` is true".to_owned());
    }
    Ok(())
}

fn check_tools(body: &Value) -> Result<(), String> {
    let Some(tools) = body.get("tools") else {
        return Ok(());
    };
    let tools = tools
        .as_array()
        .filter(|tools| !tools.is_empty())
        .ok_or("`tools` is empty")?;
    for tool in tools {
        let function = &tool["function"];
        if tool["type"] != "function" || !is_name(&function["name"]) {
            return Err(format!("not a tool: {tool}"));
        }
        if function["parameters"]["type"] != "object" {
            return Err(format!(
                "the parameters of {} are not the schema of an object",
                function["name"]
            ));
        }
    }
    Ok(())
}

fn is_name(value: &Value) -> bool {
    value.as_str().is_some_and(|name| {
        (1..=MAX_NAME).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    })
}

/// Checks the messages: known roles and fields, and every call answered at once, exactly once, in order.
fn check_messages(messages: &[Value]) -> Result<(), String> {
    let mut open: Vec<String> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let at = |what: &str| Err(format!("messages[{place}]: {what}"));
        let role = message["role"].as_str().unwrap_or_default();
        let allowed: &[&str] = match role {
            "system" | "developer" | "user" => &["role", "content", "name"],
            "assistant" => &[
                "role",
                "content",
                "name",
                "refusal",
                "tool_calls",
                "reasoning_content",
                "reasoning",
            ],
            "tool" => &["role", "content", "tool_call_id"],
            _ => return at(&format!("unknown role {}", message["role"])),
        };
        let unknown = message
            .as_object()
            .and_then(|fields| fields.keys().find(|key| !allowed.contains(&key.as_str())));
        if let Some(unknown) = unknown {
            return at(&format!("unrecognised field `{unknown}`"));
        }
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if open.first().map(String::as_str) != Some(id) {
                return at(&format!("answers call `{id}`, open calls are {open:?}"));
            }
            open.remove(0);
        } else if !open.is_empty() {
            return at(&format!("calls {open:?} have no answer"));
        }
        let content = &message["content"];
        let is_content = content.is_string() || content.as_array().is_some_and(|p| !p.is_empty());
        if role == "assistant" {
            open = check_calls(message).or_else(|problem| at(&problem).map(|()| Vec::new()))?;
            if !is_content && (open.is_empty() || !content.is_null()) {
                return at("an assistant message needs content or calls");
            }
        } else if !is_content {
            return at(&format!("content is {content}"));
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(format!("calls {open:?} have no answer"))
    }
}

/// The ids of a message's calls.
fn check_calls(message: &Value) -> Result<Vec<String>, String> {
    let Some(calls) = message.get("tool_calls") else {
        return Ok(Vec::new());
    };
    let calls = calls
        .as_array()
        .filter(|calls| !calls.is_empty())
        .ok_or("`tool_calls` is empty or not a list")?;
    let mut ids: Vec<String> = Vec::new();
    for call in calls {
        let id = call["id"].as_str().unwrap_or_default();
        if id.is_empty() || ids.iter().any(|known| known == id) {
            return Err(format!("call id `{id}` is empty or used twice"));
        }
        let arguments = call["function"]["arguments"].as_str();
        if call["type"] != "function" || !is_name(&call["function"]["name"]) {
            return Err(format!("not a call: {call}"));
        }
        let object = arguments.and_then(|text| serde_json::from_str::<Value>(text).ok());
        if !object.is_some_and(|value| value.is_object()) {
            return Err(format!(
                "the arguments of {id} are not an object as text: {}",
                call["function"]["arguments"]
            ));
        }
        ids.push(id.to_owned());
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(messages: &Value) -> Result<(), String> {
        check(&json!({ "model": "m", "messages": messages }))
    }

    fn call(id: &str) -> Value {
        json!({ "id": id, "type": "function", "function": { "name": "bash", "arguments": "{}" } })
    }

    #[test]
    fn a_paired_conversation_passes() {
        let good = json!([
            { "role": "system", "content": "s" },
            { "role": "user", "content": [{ "type": "text", "text": "x" }] },
            { "role": "assistant", "content": null, "tool_calls": [call("a"), call("b")] },
            { "role": "tool", "tool_call_id": "a", "content": "" },
            { "role": "tool", "tool_call_id": "b", "content": "x" },
            { "role": "assistant", "content": "done" },
            { "role": "user", "content": "go on" },
        ]);
        assert_eq!(messages(&good), Ok(()));
    }

    #[test]
    fn what_the_service_refuses_is_refused() {
        let user = json!({ "role": "user", "content": "x" });
        for (bad, why) in [
            (
                json!([user, { "role": "assistant", "tool_calls": [call("a")], "content": null }]),
                "no answer",
            ),
            (
                json!([user, { "role": "assistant", "tool_calls": [call("a"), call("b")], "content": null },
                    { "role": "tool", "tool_call_id": "b", "content": "" }]),
                "answers call `b`",
            ),
            (
                json!([user, { "role": "tool", "tool_call_id": "a", "content": "" }]),
                "answers call `a`",
            ),
            (
                json!([user, { "role": "assistant", "content": null }]),
                "needs content",
            ),
            (
                json!([user, { "role": "assistant", "content": "x", "tool_calls": [] }]),
                "empty",
            ),
            (
                json!([user, { "role": "assistant", "content": "x", "tool_calls": [call("a"), call("a")] }]),
                "used twice",
            ),
            (
                json!([user, { "role": "assistant", "content": "x", "annotations": [] }]),
                "annotations",
            ),
            (
                json!([{ "role": "function", "content": "x" }]),
                "unknown role",
            ),
            (json!([]), "empty"),
        ] {
            let error = messages(&bad).unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
        }
        let error = check(&json!({ "model": "m", "messages": [user], "top_k": 3 })).unwrap_err();
        assert!(error.contains("top_k"), "{error}");
    }
}
