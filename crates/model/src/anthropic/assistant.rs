//! Carrying an assistant's message back: block by block as it came, mended only where the server would refuse it.
//!
//! Thoughts, open or sealed, and all that we do not know go back byte for byte: a thought that was changed is refused. These are not accepted
//! and therefore left out or mended: blank text, thoughts that were cut before their signature, calls without a usable id, name or input,
//! messages that are empty or end with a thought.

use std::borrow::Cow;

use schema::{Reply, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::wire::{Block, Kind};
use crate::acceptable::{acceptable_arguments, acceptable_name};
use crate::raw::text;
use crate::wire::write_json;

/// What stands for a message with nothing that could be sent back.
const NOTHING: &str = "(no answer)";

/// A message as it came.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Vec<&'a RawValue>,
}

/// Appends the message of `reply`. Its role stands last, so that it ends in another way than messages of the user, whose last block can be
/// marked.
pub(super) fn write(out: &mut Vec<u8>, reply: &Reply) {
    let raw: Option<Message<'_>> = reply
        .raw
        .as_ref()
        .and_then(|raw| serde_json::from_str(raw.get()).ok());
    let content = raw.and_then(|message| carried(&message.content, &reply.tool_calls));
    let content = content.unwrap_or_else(|| made(reply));
    out.extend_from_slice(b"{\"content\":");
    write_json(out, &content);
    out.extend_from_slice(b",\"role\":\"assistant\"}");
}

/// A block to send.
#[derive(Serialize)]
#[serde(untagged)]
enum Sent<'a> {
    AsItCame(&'a RawValue),
    Made(Made<'a>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Made<'a> {
    Text {
        text: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Option<Box<RawValue>>,
    },
}

impl<'a> Sent<'a> {
    fn text(text: &'a str) -> Self {
        Self::Made(Made::Text { text })
    }

    fn call(call: &'a ToolCall) -> Self {
        let arguments = acceptable_arguments(&call.arguments).into_owned();
        Self::Made(Made::ToolUse {
            id: acceptable_id(&call.id),
            name: acceptable_name(&call.name),
            input: RawValue::from_string(arguments).ok(),
        })
    }
}

/// The blocks as they came; `None` where they are not of this protocol, or their calls are not those of the reply.
fn carried<'a>(raw: &[&'a RawValue], calls: &'a [ToolCall]) -> Option<Vec<Sent<'a>>> {
    let mut calls = calls.iter();
    let mut ends_with_thought = true;
    let mut sent = Vec::with_capacity(raw.len());
    for raw in raw {
        let block: Block<'a> = serde_json::from_str(raw.get()).ok()?;
        let kind = block.kind();
        let kept = match kind {
            Kind::Text => !is_blank(block.text),
            Kind::Thinking => !is_blank(block.signature),
            Kind::RedactedThinking | Kind::ToolUse | Kind::Other => true,
        };
        if !kept {
            continue;
        }
        ends_with_thought = matches!(kind, Kind::Thinking | Kind::RedactedThinking);
        sent.push(match kind {
            Kind::ToolUse => {
                let call = calls.next()?;
                if is_faithful(&block, call) {
                    Sent::AsItCame(raw)
                } else {
                    Sent::call(call)
                }
            }
            Kind::Text | Kind::Thinking | Kind::RedactedThinking | Kind::Other => {
                Sent::AsItCame(raw)
            }
        });
    }
    if calls.next().is_some() {
        return None;
    }
    if ends_with_thought {
        sent.push(Sent::text(NOTHING));
    }
    Some(sent)
}

/// Blocks made of what the reply says, where it was another's or a script's.
fn made(reply: &Reply) -> Vec<Sent<'_>> {
    let text = match reply.text.as_str() {
        text if !text.trim().is_empty() => Some(text),
        _ if reply.tool_calls.is_empty() => Some(NOTHING),
        _ => None,
    };
    let calls = reply.tool_calls.iter().map(Sent::call);
    text.map(Sent::text).into_iter().chain(calls).collect()
}

fn is_blank(value: Option<&RawValue>) -> bool {
    text(value).is_none_or(|text| text.trim().is_empty())
}

/// Whether a call as it came can be sent as it is: the same as ours, and nothing that the server refuses.
fn is_faithful(block: &Block<'_>, call: &ToolCall) -> bool {
    let input = block.input.map_or("", RawValue::get);
    text(block.id).is_some_and(|id| id == acceptable_id(&call.id) && id == call.id)
        && text(block.name).is_some_and(|name| name == acceptable_name(&call.name))
        && input == acceptable_arguments(&call.arguments)
}

/// The server takes letters, digits, `_` and `-` in ids only, though other servers give others.
pub(super) fn acceptable_id(id: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if id.chars().all(fits) {
        id.into()
    } else {
        id.chars().map(|c| if fits(c) { c } else { '_' }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::{FinishReason, RawJson, Usage};

    fn reply(content: Option<&str>, text: &str, calls: &[(&str, &str, &str)]) -> Reply {
        let raw = content.map(|content| format!(r#"{{"role":"assistant","content":{content}}}"#));
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
            raw: raw.map(|raw| RawJson::parse(raw).unwrap()),
            retries: Vec::new(),
            elapsed_ms: 0,
            waited_ms: 0,
        }
    }

    /// The content of the written message.
    fn written(reply: &Reply) -> String {
        let mut out = Vec::new();
        write(&mut out, reply);
        let text = String::from_utf8(out).unwrap();
        let content = text.strip_prefix("{\"content\":").unwrap();
        let content = content.strip_suffix(",\"role\":\"assistant\"}").unwrap();
        content.to_owned()
    }

    #[test]
    fn blocks_go_back_byte_for_byte() {
        let content = r#"[{"type":"thinking","thinking":"","signature":"Eq=="},{"type":"redacted_thinking","data": "x"},{"type":"text","text":"hi \u00fc","citations":null},{"type":"new_thing","value": 1.50},{"type":"tool_use","id":"toolu_1","name":"bash","input":{"command": "ls"},"caller":{"type":"direct"}}]"#;
        let reply = reply(
            Some(content),
            "hi ü",
            &[("toolu_1", "bash", r#"{"command": "ls"}"#)],
        );
        assert_eq!(written(&reply), content);
    }

    #[test]
    fn what_the_server_would_refuse_is_left_out() {
        for (content, wanted) in [
            (
                r#"[{"type":"text","text":" \n"},{"type":"text","text":"x"}]"#,
                r#"[{"type":"text","text":"x"}]"#,
            ),
            (
                r#"[{"type":"thinking","thinking":"cut"},{"type":"text","text":"x"}]"#,
                r#"[{"type":"text","text":"x"}]"#,
            ),
            (
                r#"[{"type":"thinking","thinking":"cut","signature":""}]"#,
                r#"[{"type":"text","text":"(no answer)"}]"#,
            ),
            (
                r#"[{"type":"thinking","thinking":"t","signature":"s"}]"#,
                r#"[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"(no answer)"}]"#,
            ),
            ("[]", r#"[{"type":"text","text":"(no answer)"}]"#),
        ] {
            assert_eq!(written(&reply(Some(content), "", &[])), wanted);
        }
    }

    #[test]
    fn calls_are_mended_where_the_server_would_refuse_them() {
        let thought = r#"{"type":"thinking","thinking":"t","signature":"s"}"#;
        let content = format!(
            r#"[{thought},{{"type":"tool_use","id":"a","name":"functions.bash","input":{{}}}},{{"type":"tool_use","id":"a","name":"bash","input":{{}}}}]"#
        );
        let reply = reply(
            Some(&content),
            "",
            &[
                ("a", "functions.bash", "{}"),
                ("call_0_1", "bash", "{\"comm"),
            ],
        );
        assert_eq!(
            written(&reply),
            format!(
                r#"[{thought},{{"type":"tool_use","id":"a","name":"functions_bash","input":{{}}}},{{"type":"tool_use","id":"call_0_1","name":"bash","input":{{"malformed_arguments":"{{\"comm"}}}}]"#
            )
        );
    }

    #[test]
    fn replies_of_others_are_written_anew() {
        let call = ("functions.bash:0", "bash", "{\"command\":\"ls\"}");
        let wanted = r#"[{"type":"text","text":"look"},{"type":"tool_use","id":"functions_bash_0","name":"bash","input":{"command":"ls"}}]"#;
        for content in [
            None,
            Some(r#""look""#),
            Some(r#"[{"type":"text","text":"look"}]"#),
        ] {
            assert_eq!(written(&reply(content, "look", &[call])), wanted);
        }
        assert_eq!(
            written(&reply(None, "", &[])),
            r#"[{"type":"text","text":"(no answer)"}]"#
        );
    }
}
