//! Responses as streams of events, in pieces that no client may count on.

use serde_json::{Value, json};

use crate::answer::Answer;

/// Characters in one piece of a streamed text.
const PIECE: usize = 7;
/// Bytes in the pieces in which the stream is sent, in turn: they cut lines, keys and characters.
const CUTS: [usize; 6] = [1, 2, 61, 3, 127, 17];

/// The events of a response that was `started`, has these items, and is `ended`.
pub(super) fn stream(started: &Value, items: &[Value], ended: &Value) -> Answer {
    let mut events = Events::default();
    for kind in ["response.created", "response.in_progress"] {
        events.push(kind, json!({ "response": started }));
    }
    if ended["status"] != "failed" {
        for (place, item) in items.iter().enumerate() {
            events.item(place, item);
        }
    }
    let status = ended["status"].as_str().unwrap_or_default();
    events.push(&format!("response.{status}"), json!({ "response": ended }));
    let bytes = events.text.into_bytes();
    let mut rest = bytes.as_slice();
    let pieces = CUTS.iter().cycle().map_while(|length| {
        let (piece, more) = rest.split_at((*length).min(rest.len()));
        rest = more;
        (!piece.is_empty()).then_some(piece)
    });
    Answer::pieces("text/event-stream; charset=utf-8", pieces)
}

#[derive(Default)]
struct Events {
    text: String,
    count: usize,
}

impl Events {
    fn push(&mut self, kind: &str, mut event: Value) {
        event["type"] = kind.into();
        event["sequence_number"] = self.count.into();
        self.count += 1;
        self.text
            .extend(["event: ", kind, "\ndata: ", &event.to_string(), "\n\n"]);
    }

    fn item(&mut self, place: usize, item: &Value) {
        let mut begun = item.clone();
        if item["type"] != "reasoning" {
            begun["status"] = "in_progress".into();
        }
        let at = |mut event: Value| {
            event["output_index"] = place.into();
            event["item_id"] = item["id"].clone();
            event
        };
        match item["type"].as_str() {
            Some("reasoning") => begun["summary"] = json!([]),
            Some("message") => begun["content"] = json!([]),
            _ => begun["arguments"] = "".into(),
        }
        if begun.get("encrypted_content").is_some() {
            begun["encrypted_content"] = "gA".into();
        }
        self.push(
            "response.output_item.added",
            json!({ "output_index": place, "item": begun }),
        );
        match item["type"].as_str() {
            Some("reasoning") => self.summary(&at, &item["summary"]),
            Some("message") => self.content(&at, &item["content"][0]),
            _ => self.arguments(&at, item),
        }
        self.push(
            "response.output_item.done",
            json!({ "output_index": place, "item": item }),
        );
    }

    fn summary(&mut self, at: &dyn Fn(Value) -> Value, summary: &Value) {
        let parts = summary.as_array().map_or(&[][..], Vec::as_slice);
        for (place, part) in parts.iter().enumerate() {
            let at = |mut event: Value| {
                event["summary_index"] = place.into();
                at(event)
            };
            let begun = json!({ "type": "summary_text", "text": "" });
            self.push(
                "response.reasoning_summary_part.added",
                at(json!({ "part": begun })),
            );
            for piece in pieces(&part["text"]) {
                self.push(
                    "response.reasoning_summary_text.delta",
                    at(json!({ "delta": piece })),
                );
            }
            self.push(
                "response.reasoning_summary_text.done",
                at(json!({ "text": part["text"] })),
            );
            self.push(
                "response.reasoning_summary_part.done",
                at(json!({ "part": part })),
            );
        }
    }

    fn content(&mut self, at: &dyn Fn(Value) -> Value, part: &Value) {
        let at = |mut event: Value| {
            event["content_index"] = 0.into();
            at(event)
        };
        let (name, kind, more) = match part["type"].as_str() {
            Some("refusal") => ("refusal", "response.refusal", json!({})),
            _ => ("text", "response.output_text", json!({ "logprobs": [] })),
        };
        let with = |field: &str, value: &Value| {
            let mut event = more.clone();
            event[field] = value.clone();
            at(event)
        };
        let mut begun = part.clone();
        begun[name] = "".into();
        self.push("response.content_part.added", at(json!({ "part": begun })));
        for piece in pieces(&part[name]) {
            let mut delta = with("delta", &piece.into());
            delta["obfuscation"] = "x9".into();
            self.push(&format!("{kind}.delta"), delta);
        }
        self.push(&format!("{kind}.done"), with(name, &part[name]));
        self.push("response.content_part.done", at(json!({ "part": part })));
    }

    fn arguments(&mut self, at: &dyn Fn(Value) -> Value, item: &Value) {
        for piece in pieces(&item["arguments"]) {
            self.push(
                "response.function_call_arguments.delta",
                at(json!({ "delta": piece })),
            );
        }
        self.push(
            "response.function_call_arguments.done",
            at(json!({ "arguments": item["arguments"] })),
        );
    }
}

fn pieces(text: &Value) -> Vec<String> {
    let characters: Vec<char> = text.as_str().unwrap_or_default().chars().collect();
    characters
        .chunks(PIECE)
        .map(|piece| piece.iter().collect())
        .collect()
}
