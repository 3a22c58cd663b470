//! Names and arguments of calls, mended where a server would refuse them when they come back.

use std::borrow::Cow;

use serde::de::IgnoredAny;

/// Longest name of a function that servers take.
const MAX_NAME: usize = 64;

/// Servers take letters, digits, `_` and `-` only, though models write other names.
pub(crate) fn acceptable_name(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() {
        "unnamed".into()
    } else if name.len() <= MAX_NAME && name.chars().all(fits) {
        name.into()
    } else {
        name.chars()
            .map(|c| if fits(c) { c } else { '_' })
            .take(MAX_NAME)
            .collect()
    }
}

/// Chat templates parse the arguments of old calls and fail on anything but an object, for ever after.
pub(crate) fn acceptable_arguments(arguments: &str) -> Cow<'_, str> {
    let trimmed = arguments.trim();
    if trimmed.is_empty() {
        "{}".into()
    } else if trimmed.starts_with('{') && serde_json::from_str::<IgnoredAny>(trimmed).is_ok() {
        arguments.into()
    } else {
        serde_json::json!({ "malformed_arguments": arguments })
            .to_string()
            .into()
    }
}
