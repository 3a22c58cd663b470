//! Requests: what is fixed for a model, the head of a conversation, and its turns.

use agent::ports::{ELIDED_OUTPUT, Fragment, Head, Shape, ToolSpec};
use schema::Turn;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::assistant;
use crate::error::Error;
use crate::settings::Settings;
use crate::wire::{self, write_json};

/// What follows the last turn.
pub(crate) const TAIL: &[u8] = b"]}";

/// Fields that are ours: a user's value would break the conversation or the reading of the reply.
const RESERVED: &[&str] = &["messages", "model", "n", "stream", "tools"];

/// Writes requests. Everything that is not a message stands before the messages, so that a turn only ever appends.
#[derive(Debug, Clone)]
pub(crate) struct Format {
    parameters: Map<String, Value>,
}

impl Format {
    /// Collects the sampling parameters; `limit_field` is what the server calls the output limit.
    pub(crate) fn new(
        model: &str,
        settings: &Settings,
        limit_field: &'static str,
    ) -> Result<Self, Error> {
        let mut parameters = Map::new();
        parameters.insert("model".into(), model.into());
        if settings.stream {
            parameters.insert("stream".into(), true.into());
            parameters.insert("stream_options".into(), json!({ "include_usage": true }));
        }
        if let Some(temperature) = settings.temperature {
            parameters.insert("temperature".into(), temperature.into());
        }
        if let Some(limit) = settings.max_output_tokens {
            parameters.insert(limit_field.into(), limit.into());
        }
        settings.extend(&mut parameters, RESERVED)?;
        Ok(Self { parameters })
    }

    /// A format without parameters, for models that read no requests.
    pub(crate) fn plain(model: &str) -> Self {
        let mut parameters = Map::new();
        parameters.insert("model".into(), model.into());
        Self { parameters }
    }

    /// Everything before the first turn: `{…parameters, "tools": […], "messages": [system, user`.
    pub(crate) fn head(&self, head: &Head) -> Fragment {
        let mut out = Vec::with_capacity(4096 + head.system.len() + head.prompt.len());
        let mut fields = self.parameters.clone();
        if !head.tools.is_empty() {
            fields.insert("tools".into(), head.tools.iter().map(tool).collect());
        }
        write_json(&mut out, &fields);
        out.pop();
        out.extend_from_slice(b",\"messages\":[");
        if !head.system.is_empty() {
            write_json(&mut out, &Message::new("system", &head.system));
            out.push(b',');
        }
        if head.images.is_empty() {
            write_json(&mut out, &Message::new("user", &head.prompt));
        } else {
            write_json(
                &mut out,
                &json!({ "role": "user", "content": parts(&head.prompt, &head.images) }),
            );
        }
        wire::fragment(out)
    }
}

/// One turn: `,{assistant},{tool},…` or `,{user}`.
pub(crate) fn turn(turn: &Turn, shape: Shape) -> Fragment {
    let mut out = Vec::with_capacity(512);
    match turn {
        Turn::Assistant { reply, results } => {
            out.push(b',');
            assistant::write(&mut out, reply);
            for result in results {
                let content = match shape {
                    Shape::Full => &result.content,
                    Shape::Elided => ELIDED_OUTPUT,
                };
                out.push(b',');
                write_json(
                    &mut out,
                    &ToolMessage {
                        role: "tool",
                        tool_call_id: &result.call_id,
                        content,
                    },
                );
            }
        }
        Turn::User { text } => {
            out.push(b',');
            write_json(&mut out, &Message::new("user", text));
        }
    }
    wire::fragment(out)
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

impl<'a> Message<'a> {
    fn new(role: &'static str, content: &'a str) -> Self {
        Self { role, content }
    }
}

#[derive(Serialize)]
struct ToolMessage<'a> {
    role: &'static str,
    tool_call_id: &'a str,
    content: &'a str,
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.parameters,
        },
    })
}

/// A prompt with images as content parts.
fn parts(prompt: &str, images: &[String]) -> Vec<Value> {
    let text = std::iter::once(json!({ "type": "text", "text": prompt }));
    let images = images
        .iter()
        .map(|url| json!({ "type": "image_url", "image_url": { "url": url } }));
    text.chain(images).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::{FinishReason, Reply, ToolCall, ToolResult, Usage};

    fn head() -> Head {
        Head {
            system: "be brief".into(),
            prompt: "fix \"it\"\n".into(),
            images: Vec::new(),
            tools: vec![ToolSpec {
                name: "bash",
                description: "runs".into(),
                parameters: json!({ "type": "object" }),
            }],
        }
    }

    fn body(format: &Format, head: &Head, turns: &[Fragment]) -> Value {
        let mut bytes = format.head(head).bytes.to_vec();
        for turn in turns {
            bytes.extend_from_slice(&turn.bytes);
        }
        bytes.extend_from_slice(TAIL);
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn parameters_stand_before_the_messages() {
        let settings = Settings {
            temperature: Some(0.0),
            max_output_tokens: Some(100),
            stream: true,
            extra_body: json!({ "top_p": 0.5, "stream_options": null })
                .as_object()
                .unwrap()
                .clone(),
            ..Settings::default()
        };
        let format = Format::new("m", &settings, "max_tokens").unwrap();
        let head = format.head(&head());
        let text = std::str::from_utf8(&head.bytes).unwrap();
        assert_eq!(
            text,
            "{\"model\":\"m\",\"stream\":true,\"temperature\":0.0,\"max_tokens\":100,\"top_p\":0.5,\"tools\":[{\"type\":\"function\",\
             \"function\":{\"name\":\"bash\",\"description\":\"runs\",\"parameters\":{\"type\":\"object\"}}}],\"messages\":[\
             {\"role\":\"system\",\"content\":\"be brief\"},{\"role\":\"user\",\"content\":\"fix \\\"it\\\"\\n\"}"
        );
    }

    #[test]
    fn our_fields_cannot_be_set() {
        let settings = Settings {
            extra_body: json!({ "messages": [] }).as_object().unwrap().clone(),
            ..Settings::default()
        };
        let error = Format::new("m", &settings, "max_tokens").unwrap_err();
        assert!(error.to_string().contains("`messages`"), "{error}");
    }

    #[test]
    fn images_become_parts() {
        let head = Head {
            images: vec!["https://x/y.png".into()],
            ..head()
        };
        let body = body(&Format::plain("m"), &head, &[]);
        assert_eq!(
            body["messages"][1]["content"],
            json!([
                { "type": "text", "text": "fix \"it\"\n" },
                { "type": "image_url", "image_url": { "url": "https://x/y.png" } },
            ])
        );
    }

    #[test]
    fn a_turn_is_the_reply_and_its_results() {
        let reply = Reply {
            text: "look".into(),
            reasoning: None,
            tool_calls: vec![ToolCall {
                id: "c1".into(),
                name: "bash".into(),
                arguments: "{\"command\":\"ls\"}".into(),
            }],
            finish_reason: FinishReason::ToolCalls,
            usage: Usage::default(),
            model: None,
            raw: None,
            retries: Vec::new(),
            elapsed_ms: 0,
            waited_ms: 0,
        };
        let assistant = Turn::Assistant {
            reply: Box::new(reply),
            results: vec![ToolResult {
                call_id: "c1".into(),
                content: "a\nb".into(),
                is_error: false,
            }],
        };
        let user = Turn::User {
            text: "go on".into(),
        };
        let turns = [
            turn(&assistant, Shape::Full),
            turn(&user, Shape::Full),
            turn(&assistant, Shape::Elided),
        ];
        let body = body(&Format::plain("m"), &head(), &turns);
        assert_eq!(
            body["messages"][2],
            json!({ "role": "assistant", "content": "look", "tool_calls": [
                { "id": "c1", "type": "function", "function": { "name": "bash", "arguments": "{\"command\":\"ls\"}" } }
            ]})
        );
        assert_eq!(
            body["messages"][3],
            json!({ "role": "tool", "tool_call_id": "c1", "content": "a\nb" })
        );
        assert_eq!(
            body["messages"][4],
            json!({ "role": "user", "content": "go on" })
        );
        assert_eq!(body["messages"][6]["content"], ELIDED_OUTPUT);
    }
}
