//! One prediction, in the spellings of the benchmarks.

use schema::InstanceId;
use serde_json::{Map, Value};

use super::MAX_PATCH;

/// What one prediction says.
pub(super) struct Item {
    pub(super) id: InstanceId,
    pub(super) model: Option<String>,
    pub(super) patch: Option<String>,
}

/// Names of the field that holds the patch, the first one that is there counts.
const PATCH: [&str; 3] = ["model_patch", "fix_patch", "patch"];

/// Names of the field that says who made it.
const MODEL: [&str; 2] = ["model_name_or_path", "prefix"];

/// Whether an object is one prediction, rather than predictions by id.
pub(super) fn is_prediction(members: &[(String, Value)]) -> bool {
    let fields = ["instance_id", "model_patch", "fix_patch", "org"];
    members
        .iter()
        .any(|(name, value)| fields.contains(&&**name) && !value.is_object())
}

/// What an object is that holds no predictions at all, where that shows.
pub(super) fn other_file(members: &[(String, Value)]) -> Option<&'static str> {
    let is_summary = |(name, value): &(String, Value)| match &**name {
        "total_instances" => value.is_number(),
        "resolved_ids" => value.is_array(),
        _ => false,
    };
    if members.iter().any(is_summary) {
        return Some("a summary of a run");
    }
    let is_report = |value: &Value| {
        let has = |name| value.get(name).is_some();
        has("resolved") && (has("patch_exists") || has("tests_status"))
    };
    members
        .first()
        .is_some_and(|(_, value)| is_report(value))
        .then_some("a report of one instance")
}

/// Reads one prediction, which stands under `key` where it stands under one. Fields that other tools add are left alone.
pub(super) fn read(item: Value, key: Option<&str>) -> Result<Item, String> {
    let mut map = match (item, key) {
        (Value::Object(map), _) => map,
        // An object by id may hold the patches alone.
        (patch @ (Value::String(_) | Value::Null), Some(_)) => {
            Map::from_iter([("model_patch".to_owned(), patch)])
        }
        (other, _) => return Err(format!("it is {}, not an object", kind(&other))),
    };
    if map.contains_key("problem_statement") || map.contains_key("base_commit") {
        return Err("it is a row of a dataset, not a prediction".to_owned());
    }
    let id = id(&map, key)?;
    let field = PATCH
        .into_iter()
        .find(|name| map.contains_key(*name))
        .ok_or_else(|| "it has no `model_patch`".to_owned())?;
    let patch = match map.remove(field) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) if text.len() > MAX_PATCH => {
            return Err(format!(
                "its patch has {} bytes, more than {MAX_PATCH}",
                text.len()
            ));
        }
        Some(Value::String(text)) => Some(text),
        Some(other) => return Err(format!("`{field}` is {}, not text", kind(&other))),
    };
    let mut model = None;
    for name in MODEL {
        if model.is_none() {
            model = text(&map, name)?.filter(|name| !name.is_empty());
        }
    }
    Ok(Item { id, model, patch })
}

fn id(map: &Map<String, Value>, key: Option<&str>) -> Result<InstanceId, String> {
    let own = text(map, "instance_id")?;
    match (own, multi_swe_bench(map), key) {
        (Some(own), _, Some(key)) if own != key => Err(format!("its `instance_id` is {own:?}")),
        (Some(id), _, _) | (None, Some(id), _) => Ok(InstanceId::new(id)),
        (None, None, Some(key)) => Ok(InstanceId::new(key)),
        (None, None, None) => Err("it has no `instance_id`".to_owned()),
    }
}

/// Multi-SWE-bench names a pull request of a repository.
fn multi_swe_bench(map: &Map<String, Value>) -> Option<String> {
    let org = map.get("org")?.as_str()?;
    let repo = map.get("repo")?.as_str()?;
    let number = match map.get("number")? {
        Value::Number(number) => number.to_string(),
        Value::String(number) => number.clone(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    Some(format!("{org}__{repo}-{number}"))
}

fn text(map: &Map<String, Value>, field: &str) -> Result<Option<String>, String> {
    match map.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(format!("`{field}` is {}, not text", kind(other))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
