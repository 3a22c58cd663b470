//! What rows say about their grading in fields of their own.

use std::collections::BTreeMap;

use schema::grading::TestStatus;
use schema::instance::{AnswerKey, Instance};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::SpecError;
use crate::directives::quoted;
use crate::parse::r2e_gym_names;
use crate::rules::Shape;

/// The shape of a row whose tests are run in a way of their own.
pub(super) fn shape(instance: &Instance, answer: &AnswerKey) -> Option<Shape> {
    let has = |name: &str| answer.extra.get(name).is_some_and(|value| !value.is_null());
    if has("number") && (has("resolved_issues") || has("fixed_tests")) {
        Some(Shape::MultiSweBench)
    } else if has("expected_output_json") {
        Some(Shape::R2eGym)
    } else if instance.repo.starts_with("swesmith/") {
        Some(Shape::SweSmith)
    } else {
        None
    }
}

/// Multi-SWE-bench: the class of a row that is not its repository's, where the row names one. Those of its first release name none.
pub(super) fn multi_swe_class(
    instance: &Instance,
    answer: &AnswerKey,
) -> Result<Option<String>, SpecError> {
    if shape(instance, answer) != Some(Shape::MultiSweBench) {
        return Ok(None);
    }
    let owner = instance.repo.split('/').next().unwrap_or_default();
    if let Some(interval) = text(answer, "number_interval")? {
        return Ok(Some(format!("{owner}/{interval}")));
    }
    let tag = text(answer, "tag")?;
    Ok(tag.map(|tag| format!("{} {tag}", instance.repo)))
}

/// Whether a row is of SWE-bench Pro: how its tests are run is in scripts of its own, and nothing else knows it.
pub(super) fn is_of_pro(instance: &Instance, answer: &AnswerKey) -> bool {
    instance.id.as_str().starts_with("instance_") && answer.extra.contains_key("interface")
}

/// A field that is text; blank and null count as absent.
pub(super) fn text<'a>(
    answer: &'a AnswerKey,
    field: &'static str,
) -> Result<Option<&'a str>, SpecError> {
    match answer.extra.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim()).filter(|text| !text.is_empty())),
        Some(_) => Err(bad(field, "must be text")),
    }
}

/// A field that is one command or a list of commands; null, blank and empty count as absent.
pub(super) fn commands(
    fields: &Map<String, Value>,
    name: &str,
    field: &'static str,
) -> Result<Vec<String>, SpecError> {
    let text = |value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        _ => Err(bad(field, "must be commands")),
    };
    let commands = match fields.get(name) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items.iter().map(text).collect::<Result<_, _>>()?,
        Some(one) => vec![text(one)?],
    };
    Ok(commands
        .into_iter()
        .filter(|command| !command.trim().is_empty())
        .collect())
}

/// Commands that export the variables of a member that is an object of texts and numbers; null counts as absent.
pub(super) fn variables(
    fields: &Map<String, Value>,
    name: &str,
    field: &'static str,
) -> Result<Vec<String>, SpecError> {
    let wrong = || bad(field, "must have an object of texts as `env_vars`");
    let members = match fields.get(name) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(members)) => members,
        Some(_) => return Err(wrong()),
    };
    let is_name = |name: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit())
    };
    let export = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                return Err(wrong());
            }
        };
        if name.is_empty() || !is_name(name) {
            return Err(wrong());
        }
        Ok(format!("export {name}={}", quoted(&value)))
    };
    members.iter().map(export).collect()
}

/// A field that is an object; null counts as absent.
pub(super) fn object<'a>(
    answer: &'a AnswerKey,
    field: &'static str,
) -> Result<Option<&'a Map<String, Value>>, SpecError> {
    match answer.extra.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(members)) => Ok(Some(members)),
        Some(_) => Err(bad(field, "must be an object")),
    }
}

/// R2E-Gym: what each test must do, failures included, by the names that its parser gives.
pub(super) fn whole_map(
    answer: &AnswerKey,
) -> Result<Option<BTreeMap<String, TestStatus>>, SpecError> {
    const FIELD: &str = "expected_output_json";
    let Some(expected) = object(answer, FIELD)? else {
        return Ok(None);
    };
    let read = expected.iter().map(|(name, status)| {
        let status = TestStatus::deserialize(status)
            .map_err(|_| bad(FIELD, &format!("has no known result for `{name}`")))?;
        Ok((&**name, status))
    });
    let expected: Vec<_> = read.collect::<Result<_, SpecError>>()?;
    Ok(Some(r2e_gym_names(expected.into_iter())))
}

pub(super) fn bad(field: &'static str, problem: &str) -> SpecError {
    SpecError::Field {
        field,
        problem: problem.to_owned(),
    }
}
