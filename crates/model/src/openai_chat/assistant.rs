//! Carrying an assistant's message back: as it came, mended only where a server would refuse it.
//!
//! Fields that we do not know (reasoning details, signatures) survive byte for byte. Nulls and empty lists go, since
//! servers send them and refuse them. Calls are rebuilt when one has no usable id, name or arguments.

use std::borrow::Cow;

use schema::{Reply, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::acceptable::{acceptable_arguments, acceptable_name};
use crate::raw::Fields;
use crate::wire::write_json;

/// Appends the message of `reply`.
pub(crate) fn write(out: &mut Vec<u8>, reply: &Reply) {
    let raw: Option<Fields<'_>> = reply
        .raw
        .as_ref()
        .and_then(|raw| serde_json::from_str(raw.get()).ok());
    let fields = raw.map(|fields| fields.0).unwrap_or_default();
    let kept = |name: &str| {
        fields
            .iter()
            .find(|(key, value)| key == name && !is_empty(value))
            .map(|(_, value)| *value)
    };
    out.extend_from_slice(b"{\"role\":\"assistant\",\"content\":");
    match kept("content") {
        Some(content) => out.extend_from_slice(content.get().as_bytes()),
        None if reply.text.is_empty() && !reply.tool_calls.is_empty() => {
            out.extend_from_slice(b"null");
        }
        None => write_json(out, &reply.text),
    }
    for (name, value) in &fields {
        let ours = matches!(
            name.as_ref(),
            "role" | "content" | "tool_calls" | "function_call"
        );
        if !is_empty(value) && !ours {
            out.push(b',');
            write_json(out, name);
            out.push(b':');
            out.extend_from_slice(value.get().as_bytes());
        }
    }
    if !reply.tool_calls.is_empty() {
        out.extend_from_slice(b",\"tool_calls\":");
        match kept("tool_calls").filter(|value| is_faithful(value, &reply.tool_calls)) {
            Some(value) => out.extend_from_slice(value.get().as_bytes()),
            None => write_json(
                out,
                &reply
                    .tool_calls
                    .iter()
                    .map(WireCall::new)
                    .collect::<Vec<_>>(),
            ),
        }
    }
    out.push(b'}');
}

/// Whether the calls as they came can be sent as they are: the same as ours, and nothing that a server refuses.
fn is_faithful(raw: &RawValue, calls: &[ToolCall]) -> bool {
    let Ok(raw) = serde_json::from_str::<Vec<RawCall<'_>>>(raw.get()) else {
        return false;
    };
    raw.len() == calls.len()
        && raw.iter().zip(calls).all(|(raw, call)| {
            let wire = WireCall::new(call);
            raw.id == call.id
                && raw.kind == wire.kind
                && raw.function.name == wire.function.name
                && raw.function.arguments == wire.function.arguments
        })
}

fn is_empty(value: &RawValue) -> bool {
    matches!(value.get(), "null" | "[]")
}

/// A call as it came, in the only form that can be sent back.
#[derive(Deserialize)]
struct RawCall<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    function: RawFunction<'a>,
}

#[derive(Deserialize)]
struct RawFunction<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Cow<'a, str>,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

impl<'a> WireCall<'a> {
    fn new(call: &'a ToolCall) -> Self {
        Self {
            id: &call.id,
            kind: "function",
            function: WireFunction {
                name: acceptable_name(&call.name),
                arguments: acceptable_arguments(&call.arguments),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::{FinishReason, RawJson, Usage};

    fn reply(raw: Option<&str>, text: &str, calls: &[(&str, &str, &str)]) -> Reply {
        Reply {
            text: text.into(),
            reasoning: None,
            tool_calls: calls
                .iter()
                .map(|(id, name, arguments)| ToolCall {
                    id: (*id).into(),
                    name: (*name).into(),
                    arguments: (*arguments).into(),
                })
                .collect(),
            finish_reason: FinishReason::Stop,
            usage: Usage::default(),
            model: None,
            raw: raw.map(|raw| RawJson::parse(raw.into()).unwrap()),
            retries: Vec::new(),
            elapsed_ms: 0,
            waited_ms: 0,
        }
    }

    fn written(reply: &Reply) -> String {
        let mut out = Vec::new();
        write(&mut out, reply);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn unknown_fields_survive_byte_for_byte() {
        let raw = r#"{"role":"assistant","content":"hi","refusal":null,"annotations":[],"reasoning_details":[{"x": 1.50}],
            "tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"bash","arguments":"{\"command\": \"ls\"}"}}]}"#;
        let reply = reply(Some(raw), "hi", &[("a", "bash", "{\"command\": \"ls\"}")]);
        assert_eq!(
            written(&reply),
            r#"{"role":"assistant","content":"hi","reasoning_details":[{"x": 1.50}],"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"bash","arguments":"{\"command\": \"ls\"}"}}]}"#
        );
    }

    #[test]
    fn calls_are_mended_where_a_server_would_refuse_them() {
        let raw = r#"{"content":null,"tool_calls":[{"function":{"name":"functions.bash","arguments":{"command":"ls"}}}]}"#;
        let reply = reply(
            Some(raw),
            "",
            &[("call_0_0", "functions.bash", "{\"command\":\"ls\"}")],
        );
        assert_eq!(
            written(&reply),
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_0_0","type":"function","function":{"name":"functions_bash","arguments":"{\"command\":\"ls\"}"}}]}"#
        );
    }

    #[test]
    fn cut_arguments_become_an_object() {
        let reply = reply(None, "", &[("a", "bash", "{\"comm"), ("b", "", " ")]);
        assert_eq!(
            written(&reply),
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{\"malformed_arguments\":\"{\\\"comm\"}"}},{"id":"b","type":"function","function":{"name":"unnamed","arguments":"{}"}}]}"#
        );
    }

    #[test]
    fn a_message_always_has_content() {
        assert_eq!(
            written(&reply(
                Some(r#"{"role":"assistant","content":null,"tool_calls":[]}"#),
                "",
                &[]
            )),
            r#"{"role":"assistant","content":""}"#
        );
        assert_eq!(
            written(&reply(None, "hello", &[])),
            r#"{"role":"assistant","content":"hello"}"#
        );
        assert_eq!(
            written(&reply(
                Some(r#"{"content":[{"type":"text","text":"x"}]}"#),
                "x",
                &[]
            )),
            r#"{"role":"assistant","content":[{"type":"text","text":"x"}]}"#
        );
    }
}
