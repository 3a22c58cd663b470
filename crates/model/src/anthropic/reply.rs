//! Reading whole answers.

use schema::RawJson;
use serde_json::Value;
use serde_json::value::RawValue;

use super::wire::{Block, Counts, Document, Kind, Stop};
use crate::http::trouble::{Class, Trouble, excerpt};
use crate::http::{Answer, AnswerCall};
use crate::raw::{present, text};
use crate::wire::write_json;

/// Reads a whole answer.
pub(super) fn read(body: &str) -> Result<Answer, Trouble> {
    let unreadable = |what: String| {
        Trouble::new(
            Class::Unavailable,
            format!("answered with {what}: {}", excerpt(body.as_bytes())),
        )
    };
    let document: Document<'_> = serde_json::from_str(body).map_err(|error| {
        unreadable(if serde_json::from_str::<Value>(body).is_ok() {
            format!("JSON that is no message ({error})")
        } else {
            format!("text that is not JSON ({error})")
        })
    })?;
    if let Some(error) = present(document.error) {
        return Err(Trouble::reported(error));
    }
    let Some(content) = document.content else {
        return Err(unreadable("no content".to_owned()));
    };
    let stop = Stop::read(document.stop_reason, document.stop_details);
    let mut answer = read_content(&content, stop)
        .map_err(|error| unreadable(format!("content that cannot be read ({error})")))?;
    let mut counts = Counts::default();
    counts.take(document.usage);
    answer.usage = counts.usage();
    answer.model = text(document.model);
    Ok(answer)
}

/// Reads blocks of content, and keeps them as the message that goes back.
pub(super) fn read_content(
    content: &[&RawValue],
    stop: Option<Stop>,
) -> Result<Answer, serde_json::Error> {
    let mut answer = Answer::default();
    for block in content {
        add(&mut answer, &serde_json::from_str(block.get())?);
    }
    answer.finish = stop.as_ref().map(Stop::finish_reason);
    if answer.text.is_empty() {
        answer.text = stop.and_then(Stop::explanation).unwrap_or_default();
    }
    let mut message = b"{\"role\":\"assistant\",\"content\":".to_vec();
    write_json(&mut message, &content);
    message.push(b'}');
    let message = String::from_utf8(message).ok();
    answer.raw = message.and_then(|message| RawJson::parse(message).ok());
    Ok(answer)
}

fn add(answer: &mut Answer, block: &Block<'_>) {
    match block.kind() {
        Kind::Text => answer.text.push_str(&text(block.text).unwrap_or_default()),
        Kind::Thinking => {
            let reasoning = answer.reasoning.get_or_insert_default();
            reasoning.push_str(&text(block.thinking).unwrap_or_default());
        }
        Kind::ToolUse => answer.calls.push(AnswerCall {
            id: text(block.id),
            name: text(block.name).unwrap_or_default(),
            arguments: text(block.input).unwrap_or_default(),
        }),
        Kind::RedactedThinking | Kind::Other => {}
    }
}
