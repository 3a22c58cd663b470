//! Carrying a reply back: its items as they came, mended only where the service would refuse them.
//!
//! It refuses reasoning that nothing follows ("provided without its required following item"), reasoning that it neither kept nor can decrypt
//! ("Items are not persisted when `store` is set to false"), items whose ids belong to reasoning that is missing ("provided without its required
//! reasoning item"), and some of the nulls that servers send.

use std::borrow::Cow;

use schema::{Reply, ToolCall};
use serde::Serialize;
use serde_json::value::RawValue;

use super::wire::{Item, Kind, parts};
use crate::acceptable::{acceptable_arguments, acceptable_name};
use crate::raw::{Fields, present, text};
use crate::wire::write_json;

/// Appends the items of `reply`, each after a comma.
pub(super) fn write(out: &mut Vec<u8>, reply: &Reply) {
    let came = reply.raw.as_ref().and_then(|raw| read(raw.get()));
    match came.filter(|items| calls_in(items) == reply.tool_calls.len()) {
        Some(items) if items.iter().all(Came::is_known) => {
            write_items(out, &items, &reply.tool_calls);
        }
        Some(items) => write_without_reasoning(out, &items, &reply.tool_calls),
        None => write_anew(out, reply),
    }
}

/// An item as it came, and what it says.
struct Came<'a> {
    raw: &'a RawValue,
    item: Item<'a>,
}

impl Came<'_> {
    /// Whether the server can know it again: not so reasoning that came neither encrypted nor open.
    fn is_known(&self) -> bool {
        self.item.kind() != Kind::Reasoning
            || present(self.item.encrypted_content).is_some()
            || parts(self.item.content).is_ok_and(|parts| !parts.is_empty())
    }
}

/// Reads the items up to the last that is no reasoning: nothing follows the rest.
fn read(raw: &str) -> Option<Vec<Came<'_>>> {
    let list: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
    let mut items = list
        .into_iter()
        .map(|raw| {
            let item = serde_json::from_str(raw.get()).ok()?;
            Some(Came { raw, item })
        })
        .collect::<Option<Vec<_>>>()?;
    let last = items
        .iter()
        .rposition(|came| came.item.kind() != Kind::Reasoning);
    items.truncate(last.map_or(0, |last| last + 1));
    Some(items)
}

fn calls_in(items: &[Came<'_>]) -> usize {
    let is_call = |came: &&Came<'_>| came.item.kind() == Kind::Call;
    items.iter().filter(is_call).count()
}

fn write_items(out: &mut Vec<u8>, items: &[Came<'_>], calls: &[ToolCall]) {
    let mut calls = calls.iter();
    for came in items {
        out.push(b',');
        match came.item.kind() {
            Kind::Message | Kind::Reasoning | Kind::Other => write_without_nulls(out, came.raw),
            Kind::Call => match calls.next().map(WireCall::new) {
                Some(call) if !call.is(&came.item) => write_json(out, &call),
                Some(_) | None => write_without_nulls(out, came.raw),
            },
        }
    }
}

/// Writes messages and calls without their ids, which belong to the reasoning that stays behind.
fn write_without_reasoning(out: &mut Vec<u8>, items: &[Came<'_>], calls: &[ToolCall]) {
    let mut calls = calls.iter();
    for came in items {
        match came.item.kind() {
            Kind::Message => {
                let words: String = parts(came.item.content)
                    .unwrap_or_default()
                    .into_iter()
                    .filter_map(|part| text(part.text).or_else(|| text(part.refusal)))
                    .collect();
                out.push(b',');
                write_json(out, &WireMessage::new(&words, present(came.item.phase)));
            }
            Kind::Call => {
                if let Some(call) = calls.next() {
                    out.push(b',');
                    write_json(out, &WireCall::new(call));
                }
            }
            Kind::Reasoning | Kind::Other => {}
        }
    }
}

/// Writes what the reply says as items without ids.
fn write_anew(out: &mut Vec<u8>, reply: &Reply) {
    if !reply.text.is_empty() {
        out.push(b',');
        write_json(out, &WireMessage::new(&reply.text, None));
    }
    for call in &reply.tool_calls {
        out.push(b',');
        write_json(out, &WireCall::new(call));
    }
}

/// Writes an object byte for byte but for fields that are null, which mean the same when they are left out.
fn write_without_nulls(out: &mut Vec<u8>, raw: &RawValue) {
    let fields = serde_json::from_str::<Fields<'_>>(raw.get()).map_or_else(|_| Vec::new(), |f| f.0);
    if fields.iter().all(|(_, value)| value.get() != "null") {
        out.extend_from_slice(raw.get().as_bytes());
        return;
    }
    let mut before = b'{';
    for (name, value) in fields.iter().filter(|(_, value)| value.get() != "null") {
        out.push(before);
        before = b',';
        write_json(out, name);
        out.push(b':');
        out.extend_from_slice(value.get().as_bytes());
    }
    out.push(b'}');
}

#[derive(Serialize)]
struct WireMessage<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    role: &'static str,
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<&'a RawValue>,
}

impl<'a> WireMessage<'a> {
    fn new(content: &'a str, phase: Option<&'a RawValue>) -> Self {
        Self {
            kind: "message",
            role: "assistant",
            content,
            phase,
        }
    }
}

#[derive(Serialize)]
struct WireCall<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    call_id: &'a str,
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

impl<'a> WireCall<'a> {
    fn new(call: &'a ToolCall) -> Self {
        Self {
            kind: "function_call",
            call_id: &call.id,
            name: acceptable_name(&call.name),
            arguments: acceptable_arguments(&call.arguments),
        }
    }

    /// Whether an item as it came is this call.
    fn is(&self, item: &Item<'_>) -> bool {
        let same = |value: Option<&RawValue>, ours: &str| {
            value.is_some_and(|value| value.get().starts_with('"'))
                && text(value).as_deref() == Some(ours)
        };
        same(item.call_id, self.call_id)
            && same(item.name, &self.name)
            && same(item.arguments, &self.arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::{FinishReason, RawJson, Usage};

    fn written(raw: Option<&str>, text: &str, calls: &[(&str, &str, &str)]) -> String {
        let reply = Reply {
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
        };
        let mut out = Vec::new();
        write(&mut out, &reply);
        String::from_utf8(out).unwrap()
    }

    const THOUGHT: &str =
        r#"{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gA = "}"#;
    const CALL: &str = r#"{"id":"fc_1", "type":"function_call","status":"completed","arguments":"{\"a\": 1.50}","call_id":"c","name":"bash"}"#;
    const CALLS: &[(&str, &str, &str)] = &[("c", "bash", "{\"a\": 1.50}")];

    #[test]
    fn items_survive_byte_for_byte() {
        let message = r#"{"id":"msg_1","type":"message","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","annotations":[],"text":"hi"}]}"#;
        let search = r#"{"type":"web_search_call","id":"ws_1","status":"completed"}"#;
        let raw = format!("[{THOUGHT},{message},{search},{CALL}]");
        assert_eq!(
            written(Some(&raw), "hi", CALLS),
            format!(",{THOUGHT},{message},{search},{CALL}")
        );
    }

    #[test]
    fn nulls_are_left_out() {
        let thought = r#"{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"so"}],"encrypted_content":null,"status":null}"#;
        assert_eq!(
            written(Some(&format!("[{thought},{CALL}]")), "", CALLS),
            format!(
                r#",{{"id":"rs_1","type":"reasoning","summary":[],"content":[{{"type":"reasoning_text","text":"so"}}]}},{CALL}"#
            )
        );
    }

    #[test]
    fn reasoning_that_nothing_follows_stays_behind() {
        assert_eq!(written(Some(&format!("[{THOUGHT}]")), "", &[]), "");
        assert_eq!(
            written(Some(&format!("[{THOUGHT},{CALL},{THOUGHT}]")), "", CALLS),
            format!(",{THOUGHT},{CALL}")
        );
    }

    #[test]
    fn reasoning_that_nobody_can_read_takes_its_ids_along() {
        let thought =
            r#"{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"x"}]}"#;
        let message = r#"{"id":"msg_1","type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"look"}]}"#;
        assert_eq!(
            written(
                Some(&format!("[{thought},{message},{CALL}]")),
                "look",
                CALLS
            ),
            r#",{"type":"message","role":"assistant","content":"look","phase":"commentary"},{"type":"function_call","call_id":"c","name":"bash","arguments":"{\"a\": 1.50}"}"#
        );
    }

    #[test]
    fn calls_are_mended_where_a_server_would_refuse_them() {
        let raw = format!(
            r#"[{THOUGHT},{{"type":"function_call","name":"functions.bash","arguments":{{"a":1}}}},{{"type":"function_call","call_id":"d","name":"bash","arguments":"{{\"comm"}}]"#
        );
        let calls = [
            ("call_0_0", "functions.bash", "{\"a\":1}"),
            ("d", "bash", "{\"comm"),
        ];
        assert_eq!(
            written(Some(&raw), "", &calls),
            format!(
                r#",{THOUGHT},{{"type":"function_call","call_id":"call_0_0","name":"functions_bash","arguments":"{{\"a\":1}}"}},{{"type":"function_call","call_id":"d","name":"bash","arguments":"{{\"malformed_arguments\":\"{{\\\"comm\"}}"}}"#
            )
        );
    }

    #[test]
    fn what_is_not_ours_is_written_anew() {
        for raw in [
            None,
            Some(r#"{"role":"assistant","content":"hi"}"#),
            Some("[]"),
            Some("[1]"),
        ] {
            assert_eq!(
                written(raw, "hi", CALLS),
                r#",{"type":"message","role":"assistant","content":"hi"},{"type":"function_call","call_id":"c","name":"bash","arguments":"{\"a\": 1.50}"}"#
            );
        }
        assert_eq!(written(None, "", &[]), "");
    }
}
