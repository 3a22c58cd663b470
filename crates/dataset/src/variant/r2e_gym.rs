//! R2E-Gym.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

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
        let names = passing(expected).map(Value::String).collect();
        fields.set("FAIL_TO_PASS", names);
    }
    Ok(())
}

/// The names of those that should pass. Several may become the same: the last in order says what is expected.
fn passing(expected: &Map<String, Value>) -> impl Iterator<Item = String> {
    let mut sorted: Vec<(String, bool)> = expected
        .iter()
        .map(|(name, status)| (without_colours(name), status == "PASSED"))
        .collect();
    sorted.sort_by(|(one, _), (other, _)| one.cmp(other));
    let cut = sorted
        .into_iter()
        .map(|(name, passes)| (before_reason(name), passes));
    let last: BTreeMap<String, bool> = cut.collect();
    let names = expected
        .keys()
        .map(|name| before_reason(without_colours(name)));
    let mut told = HashSet::new();
    names.filter(move |name| last.get(name) == Some(&true) && told.insert(name.clone()))
}

/// A test's name without colours of one number.
fn without_colours(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut parts = name.split('\u{1b}');
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let number = part.strip_prefix('[').and_then(|rest| rest.split_once('m'));
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if let Some((_, after)) = number.filter(|(number, _)| is_number(number)) {
            plain.push_str(after);
        } else {
            plain.push('\u{1b}');
            plain.push_str(part);
        }
    }
    plain
}

/// A test's name without the reason that follows it.
fn before_reason(mut name: String) -> String {
    let end = name.find(" - ").unwrap_or(name.len());
    name.truncate(end);
    name
}
