//! What the real service refuses in single blocks of content.

use serde_json::Value;

use super::say::{is_blank, signature};

/// Checks that an object has no field but these.
pub(super) fn only(value: &Value, at: &str, allowed: &[&str]) -> Result<(), String> {
    let fields = value
        .as_object()
        .ok_or_else(|| format!("{at} is not an object"))?;
    match fields.keys().find(|key| !allowed.contains(&key.as_str())) {
        Some(unknown) => Err(format!("{at}{unknown}: Extra inputs are not permitted")),
        None => Ok(()),
    }
}

/// Whether a text can be an id or a name: letters, digits, `_` and `-`.
pub(super) fn is_id(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !text.is_empty() && text.bytes().all(fits)
}

/// Checks the mark of a block, if it has one.
pub(super) fn check_mark(at: &str, block: &Value) -> Result<(), String> {
    let mark = &block["cache_control"];
    if mark.is_null() {
        return Ok(());
    }
    let at = format!("{at}cache_control.");
    only(mark, &at, &["type", "ttl"])?;
    let ttl_fits = matches!(mark["ttl"].as_str(), None | Some("5m" | "1h"));
    if mark["type"] != "ephemeral" || !ttl_fits {
        return Err(format!("{at}type: {mark}"));
    }
    Ok(())
}

/// Checks content that may be text only.
pub(super) fn check_text_blocks(at: &str, content: &Value) -> Result<(), String> {
    let blocks = content
        .as_array()
        .ok_or_else(|| format!("{at}: Input should be a valid list"))?;
    for (place, block) in blocks.iter().enumerate() {
        let at = format!("{at}.{place}.");
        if block["type"] != "text" {
            return Err(format!("{at}type: {} is not `text`", block["type"]));
        }
        check_block(&at, block)?;
    }
    Ok(())
}

/// Checks a block wherever it stands.
pub(super) fn check_block(at: &str, block: &Value) -> Result<(), String> {
    let required = |name: &str| {
        let text = block[name].as_str();
        text.ok_or_else(|| format!("{at}{name}: Field required"))
    };
    let kind = required("type")?;
    match kind {
        "text" => {
            only(block, at, &["type", "text", "cache_control", "citations"])?;
            required("text")?;
            if is_blank(&block["text"]) {
                return Err(format!(
                    "{at}text: text content blocks must contain non-whitespace text"
                ));
            }
        }
        "image" => {
            only(
                block,
                at,
                &["type", "source", "cache_control", "transformations"],
            )?;
            check_source(at, &block["source"])?;
        }
        "thinking" => {
            only(block, at, &["type", "thinking", "signature"])?;
            let thought = required("thinking")?;
            if required("signature")? != signature(thought) {
                return Err(format!(
                    "{at}signature: Invalid `signature` in `thinking` block"
                ));
            }
        }
        "redacted_thinking" => {
            only(block, at, &["type", "data"])?;
            required("data")?;
        }
        "tool_use" => {
            only(
                block,
                at,
                &[
                    "type",
                    "id",
                    "name",
                    "input",
                    "cache_control",
                    "caller",
                    "toolset_name",
                ],
            )?;
            if !is_id(required("id")?) {
                return Err(format!(
                    "{at}id: String should match pattern '^[a-zA-Z0-9_-]+$'"
                ));
            }
            if !is_id(required("name")?) {
                return Err(format!(
                    "{at}name: String should match pattern '^[a-zA-Z0-9_-]+$'"
                ));
            }
            if !block["input"].is_object() {
                return Err(format!("{at}input: Input should be a valid dictionary"));
            }
        }
        "tool_result" => {
            only(
                block,
                at,
                &[
                    "type",
                    "tool_use_id",
                    "content",
                    "is_error",
                    "cache_control",
                    "toolset_name",
                ],
            )?;
            required("tool_use_id")?;
            check_result(at, block)?;
        }
        other => return Err(format!("{at}type: {other} is no kind of block")),
    }
    check_mark(at, block)
}

fn check_source(at: &str, source: &Value) -> Result<(), String> {
    let at = format!("{at}source.");
    match source["type"].as_str() {
        Some("url") => {
            only(source, &at, &["type", "url"])?;
            let url = source["url"].as_str().unwrap_or_default();
            let known = ["http://", "https://"]
                .iter()
                .any(|scheme| url.starts_with(scheme));
            known
                .then_some(())
                .ok_or_else(|| format!("{at}url: {url} is not an address"))
        }
        Some("base64") => {
            only(source, &at, &["type", "media_type", "data"])?;
            let kinds = ["image/jpeg", "image/png", "image/gif", "image/webp"];
            let kind = source["media_type"].as_str().unwrap_or_default();
            let has_data = source["data"].as_str().is_some_and(|data| !data.is_empty());
            (kinds.contains(&kind) && has_data)
                .then_some(())
                .ok_or_else(|| format!("{at}media_type: {kind}"))
        }
        _ => Err(format!("{at}type: {}", source["type"])),
    }
}

fn check_result(at: &str, block: &Value) -> Result<(), String> {
    let is_error = match &block["is_error"] {
        Value::Null => false,
        Value::Bool(is_error) => *is_error,
        other => return Err(format!("{at}is_error: {other} is not a boolean")),
    };
    match &block["content"] {
        Value::String(text) if text.is_empty() => {}
        Value::String(text) if text.trim().is_empty() => {
            return Err(format!(
                "{at}content: text content blocks must contain non-whitespace text"
            ));
        }
        Value::String(_) => return Ok(()),
        Value::Array(blocks) if !blocks.is_empty() => {
            for (place, block) in blocks.iter().enumerate() {
                check_block(&format!("{at}content.{place}."), block)?;
            }
            return Ok(());
        }
        Value::Null | Value::Array(_) => {}
        other => return Err(format!("{at}content: {other} is neither text nor a list")),
    }
    if is_error {
        return Err(format!(
            "{at}tool_result: content cannot be empty if `is_error` is true"
        ));
    }
    Ok(())
}
