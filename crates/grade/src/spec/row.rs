//! What rows say about their grading in fields of their own.

use std::collections::BTreeMap;

use schema::grading::TestStatus;
use schema::instance::{AnswerKey, Instance};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::SpecError;
use crate::parse::r2e_gym_name;
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
        Ok((r2e_gym_name(name).into_owned(), status))
    });
    read.collect::<Result<_, _>>().map(Some)
}

pub(super) fn bad(field: &'static str, problem: &str) -> SpecError {
    SpecError::Field {
        field,
        problem: problem.to_owned(),
    }
}
