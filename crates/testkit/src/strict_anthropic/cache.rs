//! The cache of prompts, as the service keeps it: by what stands before a mark, found from a mark at most so many blocks back.
//! Source: <https://platform.claude.com/docs/en/build-with-claude/prompt-caching>.

use std::collections::HashSet;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::say::InputCounts;

/// Blocks before a mark that are looked up.
const LOOKBACK: usize = 20;

/// What was kept, by its digest.
#[derive(Default)]
pub(super) struct Cache(HashSet<[u8; 32]>);

/// A prompt up to a block.
struct Prefix {
    digest: [u8; 32],
    bytes: usize,
    marked: bool,
}

impl Cache {
    /// Counts a request's tokens, and keeps what it marks.
    pub(super) fn usage(&mut self, body: &Value) -> InputCounts {
        let prefixes = prefixes(body);
        let marks: Vec<usize> = (0..prefixes.len())
            .filter(|place| prefixes[*place].marked)
            .collect();
        let looked_up = marks
            .iter()
            .flat_map(|mark| mark.saturating_sub(LOOKBACK)..=*mark);
        let found = looked_up
            .filter(|place| self.0.contains(&prefixes[*place].digest))
            .max();
        let tokens = |place: Option<usize>| place.map_or(0, |place| prefixes[place].bytes / 4);
        let (cached, kept) = (tokens(found), tokens(marks.last().copied()));
        let all = tokens(prefixes.len().checked_sub(1));
        self.0
            .extend(marks.iter().map(|mark| prefixes[*mark].digest));
        InputCounts {
            plain: all - kept.max(cached),
            cached,
            written: kept.saturating_sub(cached),
        }
    }
}

/// All blocks in the order in which the service reads them, each with what stands before it.
fn prefixes(body: &Value) -> Vec<Prefix> {
    let list = |value: &Value| match value {
        Value::Array(items) => items.clone(),
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        _ => Vec::new(),
    };
    let mut blocks: Vec<(String, Value)> = Vec::new();
    for place in ["tools", "system"] {
        blocks.extend(
            list(&body[place])
                .into_iter()
                .map(|block| (place.to_owned(), block)),
        );
    }
    for message in list(&body["messages"]) {
        let content = list(&message["content"]).into_iter();
        blocks.extend(content.map(|block| (message["role"].to_string(), block)));
    }
    let mut digest = Sha256::new();
    let mut bytes = 0;
    let prefixes = blocks.into_iter().map(|(place, mut block)| {
        let mark = block
            .as_object_mut()
            .and_then(|block| block.remove("cache_control"));
        let text = format!("{place}{block}");
        digest.update(&text);
        bytes += text.len();
        Prefix {
            digest: digest.clone().finalize().into(),
            bytes,
            marked: mark.is_some_and(|mark| !mark.is_null()),
        }
    });
    prefixes.collect()
}
