//! What is known of models by name. Source: <https://platform.claude.com/docs/en/about-claude/models/overview>.

use serde_json::{Map, Value};

/// Output limit where neither the user nor the table says one: what the vendor's client asks for at most without streaming, ten minutes at
/// 128,000 tokens an hour. All models since Claude 3.7 take it.
const OUTPUT: u64 = 21_333;

/// Output limits of models that take less, by how their names begin; the first that fits counts.
const SMALL_OUTPUTS: [(&str, u64); 2] = [("claude-3-5-", 8192), ("claude-3-", 4096)];

/// The one model of the third generation that takes more.
const LARGE_EXCEPTION: &str = "claude-3-7-";

/// Windows of models, by how their names begin; the first that fits counts.
const WINDOWS: [(&str, u64); 17] = [
    ("claude-3-", 200_000),
    ("claude-haiku-4-", 200_000),
    ("claude-opus-4-0", 200_000),
    ("claude-opus-4-1", 200_000),
    ("claude-opus-4-2", 200_000),
    ("claude-opus-4-5", 200_000),
    ("claude-opus-4-6", 1_000_000),
    ("claude-opus-4-7", 1_000_000),
    ("claude-opus-4-8", 1_000_000),
    ("claude-sonnet-4-0", 200_000),
    ("claude-sonnet-4-2", 200_000),
    ("claude-sonnet-4-5", 200_000),
    ("claude-sonnet-4-6", 1_000_000),
    ("claude-fable-5", 1_000_000),
    ("claude-mythos-5", 1_000_000),
    ("claude-opus-5", 1_000_000),
    ("claude-sonnet-5", 1_000_000),
];

/// Tokens of the model's window.
pub(super) fn window(model: &str) -> Option<u64> {
    by_beginning(&WINDOWS, model)
}

/// Tokens that one reply may have, thoughts included: the default above, beyond what is set apart for thoughts.
pub(super) fn output(model: &str, thinking: u64) -> u64 {
    let small =
        by_beginning(&SMALL_OUTPUTS, model).filter(|_| !bare(model).starts_with(LARGE_EXCEPTION));
    small.unwrap_or(OUTPUT).saturating_add(thinking)
}

/// Tokens that the user sets apart for thoughts: the output limit must be above them.
pub(super) fn thinking(extra_body: &Map<String, Value>) -> u64 {
    let budget = extra_body
        .get("thinking")
        .and_then(|thinking| thinking.get("budget_tokens"));
    budget.and_then(Value::as_u64).unwrap_or(0)
}

fn by_beginning(table: &[(&str, u64)], model: &str) -> Option<u64> {
    let model = bare(model);
    let entry = table
        .iter()
        .find(|(beginning, _)| model.starts_with(beginning));
    entry.map(|(_, tokens)| *tokens)
}

/// A name without the vendor that gateways write before it.
fn bare(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn models_are_known_by_how_their_names_begin() {
        for (model, wanted_window, wanted_output) in [
            ("claude-opus-5", Some(1_000_000), OUTPUT),
            ("claude-opus-4-20250514", Some(200_000), OUTPUT),
            ("claude-opus-4-6", Some(1_000_000), OUTPUT),
            ("anthropic/claude-haiku-4-5-20251001", Some(200_000), OUTPUT),
            ("claude-3-7-sonnet-20250219", Some(200_000), OUTPUT),
            ("claude-3-5-haiku-20241022", Some(200_000), 8192),
            ("claude-3-haiku-20240307", Some(200_000), 4096),
            ("some-other-model", None, OUTPUT),
        ] {
            assert_eq!(window(model), wanted_window, "{model}");
            assert_eq!(output(model, 0), wanted_output, "{model}");
        }
    }

    #[test]
    fn the_default_leaves_room_beyond_thoughts() {
        let extra = json!({ "thinking": { "type": "enabled", "budget_tokens": 30_000 } });
        let thinking = thinking(extra.as_object().unwrap());
        assert_eq!(output("claude-opus-4-5", thinking), OUTPUT + 30_000);
    }
}
