//! `script:PATH`: canned replies, one JSON object a line.

use std::path::Path;

use schema::event::ModelFailure;
use schema::{FinishReason, ModelFailureKind, Reply, ToolCall, Usage};
use serde::Deserialize;
use serde_json::Value;

use crate::canned::{Answers, Kind};
use crate::error::Error;

/// Files of scripts; a script costs what it says, or nothing.
pub(crate) const KIND: Kind = Kind {
    name: "script",
    endings: &[".jsonl"],
    read,
};

/// One line of a script: a reply, or a failure.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    text: String,
    #[serde(default)]
    reasoning: Option<String>,
    #[serde(default)]
    tool_calls: Vec<Call>,
    finish_reason: Option<FinishReason>,
    usage: Option<Usage>,
    /// Instead of a reply: the request fails with this kind.
    failure: Option<Failure>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    /// An object, or text as a model would write it.
    #[serde(default)]
    arguments: Value,
    id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    /// Absent: the prompt no longer fits the window.
    kind: Option<ModelFailureKind>,
    message: String,
}

impl Line {
    fn answer(self, position: usize) -> Result<Reply, ModelFailure> {
        if let Some(failure) = self.failure {
            return Err(ModelFailure {
                kind: failure.kind,
                message: failure.message,
                retries: Vec::new(),
                waited_ms: 0,
            });
        }
        let tool_calls: Vec<ToolCall> = self
            .tool_calls
            .into_iter()
            .enumerate()
            .map(|(place, call)| ToolCall {
                id: call
                    .id
                    .unwrap_or_else(|| format!("call_{position}_{place}")),
                name: call.name,
                arguments: match call.arguments {
                    Value::String(text) => text,
                    Value::Null => "{}".to_owned(),
                    other => other.to_string(),
                },
            })
            .collect();
        let finish_reason = self.finish_reason.unwrap_or(if tool_calls.is_empty() {
            FinishReason::Stop
        } else {
            FinishReason::ToolCalls
        });
        let mut usage = self.usage.unwrap_or_default();
        usage.cost = usage.cost.or(Some(0.0));
        Ok(Reply {
            text: self.text,
            reasoning: self.reasoning,
            tool_calls,
            finish_reason,
            usage,
            model: None,
            raw: None,
            retries: Vec::new(),
            elapsed_ms: 0,
            waited_ms: 0,
        })
    }
}

/// Reads a script; blank lines are skipped.
fn read(path: &Path, text: &str) -> Result<Answers, Error> {
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .enumerate()
        .map(|(position, (number, line))| {
            let line: Line = serde_json::from_str(line).map_err(|source| Error::Malformed {
                path: path.to_owned(),
                line: number + 1,
                expected: "a scripted reply",
                source,
            })?;
            Ok(line.answer(position))
        })
        .collect()
}
