//! Requests: what is fixed for a model, the head of a conversation, and its turns.

use agent::ports::{ELIDED_OUTPUT, Fragment, Head, Shape, ToolSpec};
use schema::Turn;
use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::carry;
use crate::error::Error;
use crate::settings::Settings;
use crate::wire::{self, write_json};

/// What follows the last turn.
pub(super) const TAIL: &[u8] = b"]}";

/// Fields that are ours: a user's value would break the conversation or the reading of the reply.
const RESERVED: &[&str] = &[
    "background",
    "conversation",
    "input",
    "instructions",
    "model",
    "previous_response_id",
    "store",
    "stream",
    "tools",
];

/// Names conversations for the server's cache: requests with the same key and the same start go where that start is cached.
const CACHE_KEY: &str = "prompt_cache_key";

/// Writes requests. Everything that is not input stands before the input, so that a turn only ever appends.
#[derive(Debug, Clone)]
pub(super) struct Format {
    parameters: Map<String, Value>,
    /// Whether the user left [`CACHE_KEY`] to us.
    own_cache_key: bool,
}

impl Format {
    /// Collects the parameters.
    pub(super) fn new(model: &str, settings: &Settings) -> Result<Self, Error> {
        let mut parameters = Map::new();
        let mut set = |name: &str, value: Value| parameters.insert(name.to_owned(), value);
        set("model", model.into());
        set("store", false.into());
        set("include", json!(["reasoning.encrypted_content"]));
        if settings.stream {
            set("stream", true.into());
        }
        if let Some(temperature) = settings.temperature {
            set("temperature", temperature.into());
        }
        if let Some(limit) = settings.max_output_tokens {
            set("max_output_tokens", limit.into());
        }
        settings.extend(&mut parameters, RESERVED)?;
        Ok(Self {
            parameters,
            own_cache_key: !settings.extra_body.contains_key(CACHE_KEY),
        })
    }

    /// Everything before the first turn: `{…parameters, "tools": […], "instructions": …, "input": [user`.
    pub(super) fn head(&self, head: &Head) -> Fragment {
        let mut out = Vec::with_capacity(4096 + head.system.len() + head.prompt.len());
        let mut fields = self.parameters.clone();
        if self.own_cache_key {
            fields.insert(CACHE_KEY.into(), cache_key(head).into());
        }
        if !head.tools.is_empty() {
            fields.insert("tools".into(), head.tools.iter().map(tool).collect());
        }
        if !head.system.is_empty() {
            fields.insert("instructions".into(), head.system.as_str().into());
        }
        write_json(&mut out, &fields);
        out.pop();
        out.extend_from_slice(b",\"input\":[");
        if head.images.is_empty() {
            write_json(&mut out, &Message::new(&head.prompt));
        } else {
            write_json(
                &mut out,
                &json!({ "role": "user", "content": parts(&head.prompt, &head.images) }),
            );
        }
        wire::fragment(out)
    }
}

/// One turn: `,{item}…,{output}…` or `,{user}`.
pub(super) fn turn(turn: &Turn, shape: Shape) -> Fragment {
    let mut out = Vec::with_capacity(512);
    match turn {
        Turn::Assistant { reply, results } => {
            carry::write(&mut out, reply);
            for result in results {
                let output = match shape {
                    Shape::Full => &result.content,
                    Shape::Elided => ELIDED_OUTPUT,
                };
                out.push(b',');
                write_json(
                    &mut out,
                    &CallOutput {
                        kind: "function_call_output",
                        call_id: &result.call_id,
                        output,
                    },
                );
            }
        }
        Turn::User { text } => {
            out.push(b',');
            write_json(&mut out, &Message::new(text));
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
    fn new(content: &'a str) -> Self {
        Self {
            role: "user",
            content,
        }
    }
}

#[derive(Serialize)]
struct CallOutput<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    call_id: &'a str,
    output: &'a str,
}

/// A conversation's own key, the same whenever it is held.
fn cache_key(head: &Head) -> String {
    let digest = Sha256::new()
        .chain_update(&head.system)
        .chain_update([0])
        .chain_update(&head.prompt)
        .finalize();
    schema::hex(&digest[..16])
}

/// Without `strict: false` the service reads the schema as one whose every parameter is required.
fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
        "strict": false,
    })
}

/// A prompt with images as content parts.
fn parts(prompt: &str, images: &[String]) -> Vec<Value> {
    let text = std::iter::once(json!({ "type": "input_text", "text": prompt }));
    let images = images
        .iter()
        .map(|url| json!({ "type": "input_image", "image_url": url, "detail": "auto" }));
    text.chain(images).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::ToolResult;

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

    fn settings(extra_body: &Value) -> Settings {
        Settings {
            extra_body: extra_body.as_object().unwrap().clone(),
            ..Settings::default()
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
    fn parameters_stand_before_the_input() {
        let settings = Settings {
            temperature: Some(0.0),
            max_output_tokens: Some(100),
            stream: true,
            ..settings(&json!({ "reasoning": { "effort": "low" }, "prompt_cache_key": null }))
        };
        let head = Format::new("m", &settings).unwrap().head(&head());
        assert_eq!(
            std::str::from_utf8(&head.bytes).unwrap(),
            "{\"model\":\"m\",\"store\":false,\"include\":[\"reasoning.encrypted_content\"],\"stream\":true,\"temperature\":0.0,\
             \"max_output_tokens\":100,\"reasoning\":{\"effort\":\"low\"},\"tools\":[{\"type\":\"function\",\"name\":\"bash\",\
             \"description\":\"runs\",\"parameters\":{\"type\":\"object\"},\"strict\":false}],\"instructions\":\"be brief\",\"input\":[\
             {\"role\":\"user\",\"content\":\"fix \\\"it\\\"\\n\"}"
        );
    }

    #[test]
    fn our_fields_cannot_be_set() {
        for name in RESERVED {
            let error = Format::new("m", &settings(&json!({ *name: 1 }))).unwrap_err();
            assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
        }
    }

    #[test]
    fn a_conversation_has_a_key_of_its_own() {
        let key = |extra: &Value, prompt: &str| {
            let head = Head {
                prompt: prompt.into(),
                ..head()
            };
            let format = Format::new("m", &settings(extra)).unwrap();
            body(&format, &head, &[])[CACHE_KEY].clone()
        };
        assert_eq!(key(&json!({}), "a"), key(&json!({}), "a"));
        assert_ne!(key(&json!({}), "a"), key(&json!({}), "b"));
        assert_eq!(key(&json!({ "prompt_cache_key": "mine" }), "a"), "mine");
    }

    #[test]
    fn images_become_parts() {
        let head = Head {
            images: vec!["https://x/y.png".into()],
            ..head()
        };
        let format = Format::new("m", &Settings::default()).unwrap();
        assert_eq!(
            body(&format, &head, &[])["input"][0]["content"],
            json!([
                { "type": "input_text", "text": "fix \"it\"\n" },
                { "type": "input_image", "image_url": "https://x/y.png", "detail": "auto" },
            ])
        );
    }

    #[test]
    fn results_follow_their_reply() {
        let reply = serde_json::from_value(json!({
            "text": "look", "finish_reason": "tool_calls",
            "tool_calls": [{ "id": "c1", "name": "bash", "arguments": "{\"command\":\"ls\"}" }],
        }))
        .unwrap();
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
        let format = Format::new("m", &Settings::default()).unwrap();
        let input = &body(&format, &head(), &turns)["input"];
        assert_eq!(
            input[3],
            json!({ "type": "function_call_output", "call_id": "c1", "output": "a\nb" })
        );
        assert_eq!(input[4], json!({ "role": "user", "content": "go on" }));
        assert_eq!(input[7]["output"], ELIDED_OUTPUT);
    }
}
