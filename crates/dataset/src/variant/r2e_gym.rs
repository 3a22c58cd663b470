//! R2E-Gym.

use serde_json::Value;

use crate::error::Error;
use crate::fields::Fields;

/// Field with what each test should do.
pub(super) const EXPECTED: &str = "expected_output_json";

/// R2E-Gym: no id; `commit_hash` is the fix itself, so the work starts from what the image holds. What the tests should do is one object: those
/// that should pass must, and nothing says which of them did before.
pub(super) fn normalise(fields: &mut Fields<'_>) -> Result<(), Error> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    if text("instance_id").is_none()
        && let (Some(repo), Some(commit)) = (text("repo_name"), text("commit_hash"))
    {
        let id = format!("{repo}-{commit}");
        fields.set("instance_id", Value::String(id));
    }
    super::decode_object(fields, EXPECTED)?;
    if let Some(Value::Object(expected)) = fields.get(EXPECTED)
        && fields.get("FAIL_TO_PASS").is_none()
    {
        let passing = expected.iter().filter(|(_, status)| *status == "PASSED");
        let names = passing
            .map(|(name, _)| Value::String(plain_name(name)))
            .collect();
        fields.set("FAIL_TO_PASS", names);
    }
    Ok(())
}

/// A test's name without colours, and without the reason that follows it.
fn plain_name(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut parts = name.split('\u{1b}');
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let colour = part.strip_prefix('[').and_then(|rest| rest.split_once('m'));
        plain.push_str(colour.map_or(part, |(_, after)| after));
    }
    match plain.split_once(" - ") {
        Some((name, _)) => name.to_owned(),
        None => plain,
    }
}
