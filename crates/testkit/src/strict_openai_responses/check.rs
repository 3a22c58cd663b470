//! What the real service refuses in a request's body: fields, values and pairs. The words are ours, where not quoted from its errors.

use std::collections::HashSet;

use serde_json::{Value, json};

/// Fields of a request that we know of; the service refuses others.
const FIELDS: &[&str] = &[
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "parallel_tool_calls",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

/// What may be asked for beyond the answer.
const INCLUDABLE: &[&str] = &[
    "message.output_text.logprobs",
    "message.input_image.image_url",
    REASONING,
];

/// Asks for reasoning that the client can keep.
const REASONING: &str = "reasoning.encrypted_content";

/// Longest name of a function.
const MAX_NAME: usize = 64;

/// Smallest limit of the output, in tokens.
const LEAST_OUTPUT: u64 = 16;

type Check = Result<(), String>;

/// Checks a request's body.
///
/// # Errors
/// Says what is wrong with it.
pub fn check(body: &Value) -> Check {
    known_fields(body, FIELDS, "the body")?;
    body["model"]
        .as_str()
        .filter(|name| !name.is_empty())
        .ok_or("`model` is missing")?;
    check_parameters(body)?;
    check_tools(body)?;
    let items = items(body);
    if items.is_empty() {
        return Err("`input` is missing or empty".to_owned());
    }
    for (place, item) in items.iter().enumerate() {
        check_item(item).map_err(|problem| format!("input[{place}]: {problem}"))?;
    }
    check_ids(&items)?;
    check_pairs(&items)?;
    check_reasoning(&items)
}

/// The items of the input, of which a text is one message.
pub(super) fn items(body: &Value) -> Vec<Value> {
    match &body["input"] {
        Value::String(text) => vec![json!({ "role": "user", "content": text })],
        Value::Array(items) => items.clone(),
        _ => Vec::new(),
    }
}

/// Whether reasoning is to come encrypted.
pub(super) fn asks_for_reasoning(body: &Value) -> bool {
    let include = body["include"].as_array();
    include.is_some_and(|include| include.iter().any(|name| name == REASONING))
}

fn known_fields(value: &Value, known: &[&str], what: &str) -> Check {
    let fields = value
        .as_object()
        .ok_or_else(|| format!("{what} is not an object"))?;
    match fields.keys().find(|key| !known.contains(&key.as_str())) {
        Some(unknown) => Err(format!("Unknown parameter: `{unknown}` in {what}")),
        None => Ok(()),
    }
}

fn ensure(fits: bool, what: impl FnOnce() -> String) -> Check {
    if fits { Ok(()) } else { Err(what()) }
}

fn check_parameters(body: &Value) -> Check {
    let absent_or = |name: &str, fits: &dyn Fn(&Value) -> bool| {
        let value = body.get(name);
        ensure(value.is_none_or(fits), || {
            format!("Invalid value of `{name}`: {}", body[name])
        })
    };
    let is_bool = |value: &Value| value.is_boolean();
    for name in ["store", "stream", "parallel_tool_calls"] {
        absent_or(name, &is_bool)?;
    }
    for name in ["instructions", "prompt_cache_key"] {
        absent_or(name, &|value| value.is_string())?;
    }
    absent_or("temperature", &|value| {
        value.as_f64().is_some_and(|t| (0.0..=2.0).contains(&t))
    })?;
    absent_or("max_output_tokens", &|value| {
        value.as_u64().is_some_and(|limit| limit >= LEAST_OUTPUT)
    })?;
    absent_or("include", &|value| {
        let known = |name: &Value| name.as_str().is_some_and(|n| INCLUDABLE.contains(&n));
        value
            .as_array()
            .is_some_and(|names| names.iter().all(known))
    })?;
    if let Some(reasoning) = body.get("reasoning") {
        known_fields(reasoning, &["effort", "summary"], "reasoning")?;
        let effort = &reasoning["effort"];
        let efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
        let known = |effort: &str| efforts.contains(&effort);
        ensure(
            effort.is_null() || effort.as_str().is_some_and(known),
            || format!("Invalid value of `reasoning.effort`: {effort}"),
        )?;
    }
    ensure(
        body.get("stream_options").is_none() || body["stream"] == true,
        || "`stream_options` is only allowed when `stream` is true".to_owned(),
    )
}

fn check_tools(body: &Value) -> Check {
    let Some(tools) = body.get("tools") else {
        return Ok(());
    };
    let tools = tools.as_array().ok_or("`tools` is not a list")?;
    for tool in tools {
        let fields = ["type", "name", "description", "parameters", "strict"];
        known_fields(tool, &fields, "a tool")?;
        ensure(tool["type"] == "function" && is_name(&tool["name"]), || {
            format!("not a tool: {tool}")
        })?;
        let schema = &tool["parameters"];
        ensure(schema["type"] == "object", || {
            format!(
                "the parameters of {} are not the schema of an object",
                tool["name"]
            )
        })?;
        let strict = tool.get("strict").is_none_or(|strict| *strict != false);
        ensure(!strict || is_strict(schema), || {
            format!(
                "Invalid schema for function {}: in strict mode all is required and nothing may be added",
                tool["name"]
            )
        })?;
    }
    let choice = &body["tool_choice"];
    let named = |tool: &Value| choice["name"].is_null() || tool["name"] == choice["name"];
    ensure(!choice.is_object() || tools.iter().any(named), || {
        format!("Tool choice {choice} not found in `tools`")
    })
}

/// Whether a schema needs no guessing: every property is required, and there are no others.
fn is_strict(schema: &Value) -> bool {
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let properties = schema["properties"].as_object();
    schema["additionalProperties"] == false
        && properties.is_none_or(|properties| {
            properties
                .keys()
                .all(|name| required.iter().any(|known| known == name))
        })
}

fn is_name(value: &Value) -> bool {
    value.as_str().is_some_and(|name| {
        (1..=MAX_NAME).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    })
}

fn check_item(item: &Value) -> Check {
    for field in ["id", "status"] {
        let given = item.get(field);
        ensure(given.is_none_or(Value::is_string), || {
            format!("`{field}` is {}", item[field])
        })?;
    }
    let kind = item.get("type").map_or(Some("message"), Value::as_str);
    match kind {
        Some("message") => check_message(item),
        Some("function_call") => {
            let fields = ["type", "id", "call_id", "name", "arguments", "status"];
            known_fields(item, &fields, "a call")?;
            ensure(is_id(&item["call_id"]) && is_name(&item["name"]), || {
                format!("not a call: {item}")
            })?;
            let arguments = item["arguments"].as_str();
            let object = arguments.and_then(|text| serde_json::from_str::<Value>(text).ok());
            ensure(object.is_some_and(|value| value.is_object()), || {
                format!("the arguments are not an object as text: {item}")
            })?;
            starts_with(item, "fc")
        }
        Some("function_call_output") => {
            let fields = ["type", "id", "call_id", "output", "status"];
            known_fields(item, &fields, "an output")?;
            ensure(
                is_id(&item["call_id"]) && item["output"].is_string(),
                || format!("not an output: {item}"),
            )
        }
        Some("reasoning") => {
            let fields = [
                "type",
                "id",
                "summary",
                "content",
                "encrypted_content",
                "status",
            ];
            known_fields(item, &fields, "reasoning")?;
            ensure(item["summary"].is_array(), || {
                format!("Missing required parameter: `summary` in {item}")
            })?;
            ensure(item["encrypted_content"].is_string(), || {
                format!(
                    "Item with id {} not found. Items are not persisted when `store` is set to false",
                    item["id"]
                )
            })?;
            starts_with(item, "rs")
        }
        Some(_) | None => Err(format!("Invalid value of `type`: {}", item["type"])),
    }
}

fn check_message(item: &Value) -> Check {
    let fields = ["type", "id", "role", "content", "status", "phase"];
    known_fields(item, &fields, "a message")?;
    let role = item["role"].as_str().unwrap_or_default();
    let allowed: &[&str] = match role {
        "user" | "system" | "developer" => &["input_text", "input_image"],
        "assistant" => &["output_text", "refusal"],
        _ => return Err(format!("Invalid value of `role`: {}", item["role"])),
    };
    match &item["content"] {
        Value::String(_) => {}
        Value::Array(parts) => {
            for part in parts {
                check_part(part, allowed)?;
            }
        }
        other => return Err(format!("content is {other}")),
    }
    starts_with(item, "msg")
}

fn check_part(part: &Value, allowed: &[&str]) -> Check {
    let kind = part["type"].as_str().unwrap_or_default();
    ensure(allowed.contains(&kind), || {
        format!("Invalid value: '{kind}'. Supported values are {allowed:?}")
    })?;
    let (fields, text): (&[&str], &str) = match kind {
        "input_image" => (&["type", "image_url", "detail", "file_id"], "image_url"),
        "refusal" => (&["type", "refusal"], "refusal"),
        _ => (&["type", "text", "annotations", "logprobs"], "text"),
    };
    known_fields(part, fields, "a part")?;
    ensure(part[text].is_string(), || {
        format!("`{text}` is missing in {part}")
    })
}

/// The service's own ids say what they are of.
fn starts_with(item: &Value, prefix: &str) -> Check {
    let id = item.get("id").and_then(Value::as_str);
    ensure(id.is_none_or(|id| id.starts_with(prefix)), || {
        format!(
            "Invalid `id`: {}. Expected an ID that begins with '{prefix}'",
            item["id"]
        )
    })
}

fn is_id(value: &Value) -> bool {
    value.as_str().is_some_and(|id| !id.is_empty())
}

fn check_ids(items: &[Value]) -> Check {
    let mut seen = HashSet::new();
    let mut ids = items.iter().filter_map(|item| item["id"].as_str());
    match ids.find(|id| !seen.insert(*id)) {
        Some(id) => Err(format!("Duplicate item found with id {id}")),
        None => Ok(()),
    }
}

/// Every call is answered exactly once, before anybody says anything else.
fn check_pairs(items: &[Value]) -> Check {
    let mut open: Vec<&str> = Vec::new();
    let mut answering = false;
    for item in items {
        let id = item["call_id"].as_str().unwrap_or_default();
        let kind = item["type"].as_str().unwrap_or("message");
        if kind == "function_call_output" {
            let call = open.iter().position(|open| *open == id);
            let call = call.ok_or_else(|| {
                format!("No tool call found for function call output with call_id {id}")
            })?;
            open.remove(call);
            answering = true;
            continue;
        }
        let others_turn = answering || matches!(item["role"].as_str(), Some("user" | "developer"));
        if let (true, Some(id)) = (others_turn, open.first()) {
            return Err(format!("No tool output found for function call {id}"));
        }
        answering = false;
        if kind == "function_call" {
            ensure(!open.contains(&id), || format!("Duplicate call id {id}"))?;
            open.push(id);
        }
    }
    match open.first() {
        Some(id) => Err(format!("No tool output found for function call {id}")),
        None => Ok(()),
    }
}

/// Reasoning goes before what came of it.
fn check_reasoning(items: &[Value]) -> Check {
    let follows = |item: &Value| {
        item["type"] == "reasoning"
            || item["type"] == "function_call"
            || item["role"] == "assistant"
    };
    for (place, item) in items.iter().enumerate() {
        if item["type"] == "reasoning" && !items.get(place + 1).is_some_and(follows) {
            return Err(format!(
                "Item {} of type 'reasoning' was provided without its required following item",
                item["id"]
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(items: &Value) -> Check {
        check(&json!({ "model": "m", "store": false, "input": items }))
    }

    fn thought() -> Value {
        json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x" })
    }

    fn call(id: &str) -> Value {
        json!({ "type": "function_call", "call_id": id, "name": "bash", "arguments": "{}" })
    }

    fn output(id: &str) -> Value {
        json!({ "type": "function_call_output", "call_id": id, "output": "" })
    }

    #[test]
    fn a_paired_conversation_passes() {
        let good = json!([
            { "role": "user", "content": [{ "type": "input_text", "text": "x" }] },
            thought(),
            call("a"),
            call("b"),
            output("b"),
            output("a"),
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "x", "annotations": [] }] },
            { "role": "user", "content": "go on" },
        ]);
        assert_eq!(input(&good), Ok(()));
        assert_eq!(input(&json!("text alone")), Ok(()));
    }

    #[test]
    fn what_the_service_refuses_is_refused() {
        let user = json!({ "role": "user", "content": "x" });
        let with = |mut item: Value, field: &str, value: Value| {
            item[field] = value;
            item
        };
        for (bad, why) in [
            (json!([]), "missing or empty"),
            (json!([user, call("a")]), "No tool output"),
            (
                json!([user, call("a"), user, output("a")]),
                "No tool output",
            ),
            (json!([user, output("a")]), "No tool call"),
            (
                json!([user, call("a"), output("a"), output("a")]),
                "No tool call",
            ),
            (json!([user, call("a"), call("a")]), "Duplicate call id"),
            (json!([user, thought(), user]), "required following item"),
            (
                json!([user, thought(), thought(), call("a"), output("a")]),
                "Duplicate item",
            ),
            (
                json!([user, { "type": "reasoning", "id": "rs_1", "summary": [] }]),
                "not persisted",
            ),
            (
                json!([user, { "type": "reasoning", "encrypted_content": "x" }]),
                "`summary`",
            ),
            (
                json!([user, with(thought(), "status", Value::Null)]),
                "`status` is null",
            ),
            (
                json!([user, with(call("a"), "id", json!("call_1"))]),
                "begins with 'fc'",
            ),
            (
                json!([user, with(call("a"), "arguments", json!("{\"x"))]),
                "object as text",
            ),
            (
                json!([user, with(call("a"), "name", json!("a.b"))]),
                "not a call",
            ),
            (json!([{ "role": "tool", "content": "x" }]), "`role`"),
            (json!([{ "type": "tool_result" }]), "`type`"),
            (
                json!([{ "role": "assistant", "content": [{ "type": "input_text", "text": "x" }] }]),
                "Supported values",
            ),
            (
                json!([{ "role": "user", "content": null }]),
                "content is null",
            ),
        ] {
            let error = input(&bad).unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }

    #[test]
    fn parameters_are_checked() {
        let tool = |strict: Value| {
            json!([{ "type": "function", "name": "bash", "strict": strict,
                "parameters": { "type": "object", "properties": { "x": {} } } }])
        };
        for (field, value, why) in [
            ("messages", json!([]), "`messages`"),
            ("max_tokens", json!(100), "`max_tokens`"),
            ("max_output_tokens", json!(3), "`max_output_tokens`"),
            ("temperature", json!(3), "`temperature`"),
            ("include", json!(["reasoning"]), "`include`"),
            ("reasoning", json!({ "effort": "huge" }), "effort"),
            ("stream_options", json!({}), "`stream_options`"),
            ("tools", tool(json!(true)), "strict mode"),
            (
                "tools",
                json!([{ "type": "function", "function": {} }]),
                "`function`",
            ),
            (
                "previous_response_id",
                json!("resp_1"),
                "previous_response_id",
            ),
        ] {
            let mut body = json!({ "model": "m", "input": "x" });
            body[field] = value;
            let error = check(&body).unwrap_err();
            assert!(error.contains(why), "{body}: {error}");
        }
        let body = json!({ "model": "m", "input": "x", "tools": tool(json!(false)) });
        assert_eq!(check(&body), Ok(()));
    }
}
