//! Texts with placeholders for what a row holds.

use serde_json::Value;

use crate::row::Row;

/// Placeholders that every row can fill, besides its own fields.
pub(crate) const PLACEHOLDERS: [&str; 8] = [
    "instance_id",
    "instance_id_lower",
    "instance_id_1776",
    "instance_id_s",
    "owner",
    "name",
    "version",
    "base_commit",
];

/// Fills the placeholders of `template`.
///
/// # Errors
/// The placeholder that the row cannot fill, or the rest of the text when a brace is not closed.
pub(crate) fn fill(template: &str, row: &Row) -> Result<String, String> {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, behind) = after.split_once('}').ok_or_else(|| after.to_owned())?;
        filled.push_str(before);
        filled.push_str(&value(name, row).ok_or_else(|| name.to_owned())?);
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn value(name: &str, row: &Row) -> Option<String> {
    let instance = &row.instance;
    let id = instance.id.as_str();
    let spelled = |separator: &str| id.to_lowercase().replace("__", separator);
    let repository = || instance.repo.split_once('/');
    match name {
        "instance_id" => Some(id.to_owned()),
        "instance_id_lower" => Some(id.to_lowercase()),
        "instance_id_1776" => Some(spelled("_1776_")),
        "instance_id_s" => Some(spelled("_s_")),
        "owner" => Some(repository()?.0.to_owned()),
        "name" => Some(repository()?.1.to_owned()),
        "version" => instance.version.clone(),
        "base_commit" => instance.base_commit.clone(),
        other => match row.answer.extra.get(other)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        },
    }
}
