//! Texts with placeholders for what a row holds.

use serde_json::Value;

use crate::row::Row;

/// Placeholders that every row can fill, besides its own fields.
pub(crate) const PLACEHOLDERS: [&str; 9] = [
    "instance_id",
    "instance_id_lower",
    "instance_id_1776",
    "instance_id_s",
    "pro_tag",
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
        "pro_tag" => pro_tag(row),
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

/// Longest tag that a registry takes.
const MAX_TAG: usize = 128;

/// Tag of a row's image in SWE-bench Pro: repository and id, of an id `instance_<owner>__<name>-<commit>-v<commit>`. Those of one repository were
/// published under another name, but for the image of one row.
fn pro_tag(row: &Row) -> Option<String> {
    const ODD: &str =
        "instance_element-hq__element-web-ec0f940ef0e8e3b61078f145f34dc40d1938e6c5-vnan";
    let id = row.instance.id.as_str();
    let rest = id.strip_prefix("instance_")?;
    let repository = row.instance.repo.to_lowercase();
    let (owner, name) = repository.split_once('/')?;
    let (name, rest) = match (id, name) {
        (ODD, _) => (name, rest),
        (_, "element-web") => ("element", rest.trim_end_matches("-vnan")),
        _ => (name, rest.trim_end_matches("-vnan")),
    };
    let tag = format!("{owner}.{name}-{rest}");
    Some(tag.chars().take(MAX_TAG).collect())
}
